// The capability in the root view: which collections are signed, where their records go, and who reviews them. User
// interfaces need it.
import type { JsonObject } from '../../base/json.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { Capability, CurrentCapability } from '../../http/views/root.ts';
import type { Settings } from '../../settings/settings.ts';
import type { MatchedCollections } from './matched.ts';
import { Routes, type Place, type Resource } from './routes.ts';
import { pluginUserId } from './service.ts';
import { collectionsWithOwnSettings, readFor, type signerSettings } from './settings.ts';

type Values = ValuesOf<typeof signerSettings>;

/** Returns the capability, which is made anew when another collection is known to match an expression. */
export function currentCapability(host: PluginHost, values: Values, matched: MatchedCollections): CurrentCapability {
  const { settings } = host;
  const isReviewed = values['signer.to_review_enabled'];
  const common = {
    description: 'Records are signed, so that clients know where they come from.',
    url: host.documentationUrl('signer'),
    version: settings.get('project_version'),
    plugin_user_id: pluginUserId,
    plugin_userid: pluginUserId,
    group_check_enabled: isReviewed,
    to_review_enabled: isReviewed,
    editors_group: values['signer.editors_group'],
    reviewers_group: values['signer.reviewers_group'],
  };
  let known: { readonly count: number; readonly capability: Capability } | undefined;
  return () => {
    const { count } = matched;
    if (known?.count !== count) {
      const resources = describeResources(settings, values, (bucket) => matched.of(bucket));
      known = { count, capability: { ...common, resources } };
    }
    return known.capability;
  };
}

/**
 * Returns the lines of `signer.resources`, each with what is said for it; collections with settings of their own come
 * first.
 *
 * @param matched collections of a bucket that regular expressions in names of settings match
 */
function describeResources(
  settings: Settings,
  values: Values,
  matched: (bucket: string) => readonly string[],
): readonly JsonObject[] {
  const resources = values['signer.resources'];
  const routes = new Routes(resources);
  const expanded = resources.flatMap((resource): readonly Resource[] => {
    const { bucket, collection } = resource.source;
    if (collection !== undefined) return [];
    const own = new Set([...collectionsWithOwnSettings(settings, bucket), ...matched(bucket)]);
    return Array.from(own, (name) => ({ bucket, collection: name })).flatMap((id) => {
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
