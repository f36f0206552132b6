// What the root view tells of signing: which collections, where to, and who has which part, for those who show it to users.
import type { JsonObject } from '../../base/json.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { Settings } from '../../settings/settings.ts';
import { Routes, type Place, type Resource } from './routes.ts';
import { collectionsWithOwnSettings, readFor, type signerSettings } from './settings.ts';

type Values = ValuesOf<typeof signerSettings>;

/** The lines of `signer.resources`, each with what is said for it; collections with settings of their own come first. */
export function describeResources(settings: Settings, values: Values): readonly JsonObject[] {
  const resources = values['signer.resources'];
  const routes = new Routes(resources);
  const expanded = resources.flatMap((resource): readonly Resource[] => {
    const { bucket, collection } = resource.source;
    if (collection !== undefined) return [];
    const own = collectionsWithOwnSettings(settings, bucket).map((name) => ({ bucket, collection: name }));
    return own.flatMap((id) => {
      const isNamed = resources.some(({ source }) => source.bucket === bucket && source.collection === id.collection);
      const route = isNamed ? undefined : routes.from(id);
      return route === undefined ? [] : [route];
    });
  });
  return [...expanded, ...resources].map((resource) => describe(resource, settings, values));
}

function describe({ source, preview, destination }: Resource, settings: Settings, values: Values): JsonObject {
  return {
    source: describePlace(source),
    ...(preview === undefined ? {} : { preview: describePlace(preview) }),
    destination: describePlace(destination),
    to_review_enabled: readFor(settings, values, source, 'to_review_enabled'),
    editors_group: readFor(settings, values, source, 'editors_group'),
    reviewers_group: readFor(settings, values, source, 'reviewers_group'),
  };
}

function describePlace({ bucket, collection }: Place): JsonObject {
  return { bucket, collection: collection ?? null };
}
