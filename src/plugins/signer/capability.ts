// The capability `signer` in the root view: signed collections, their destinations and their groups. User interfaces
// read it, and they cannot evaluate the regular expressions in setting names, so it lists the collections that match.
import type { JsonObject } from '../../base/json.ts';
import type { ChangeEvent } from '../../engine/events/event.ts';
import type { Subscriber } from '../../engine/events/subscriber.ts';
import { DatabaseUnit } from '../../engine/database-unit.ts';
import type { ValuesOf } from '../../settings/definition.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { Capability, CurrentCapability } from '../../http/views/root.ts';
import type { Settings } from '../../settings/settings.ts';
import { readCollections } from './guards.ts';
import { isPattern, matchesPattern } from './patterns.ts';
import { Routes, type CollectionId, type Place, type Resource } from './routes.ts';
import { pluginUserId } from './service.ts';
import { collectionsWithOwnSettings, readFor, type signerSettings } from './settings.ts';

type Values = ValuesOf<typeof signerSettings>;

/** Returns the capability. It is rebuilt when another collection matches a pattern in the settings. */
export function currentCapability(host: PluginHost, values: Values, matched: MatchedCollections): CurrentCapability {
  const { settings } = host;
  const common = {
    description: 'Signs the records of collections, so that clients can verify their origin.',
    url: host.documentationUrl('signer'),
    version: settings.get('project_version'),
    plugin_user_id: pluginUserId,
    plugin_userid: pluginUserId,
    group_check_enabled: true,
    to_review_enabled: values['signer.to_review_enabled'],
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
 * Returns the resources of `signer.resources` with their settings. Collections that have settings of their own come
 * first.
 *
 * @param matched returns the collections of a bucket that patterns in setting names match
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

/** Maximum number of matching collections in the root view. */
const maxListed = 1000;

/** The existing collections that patterns in setting names match. */
export class MatchedCollections {
  readonly #host: PluginHost;
  readonly #patterns: readonly string[];
  /** Matching collections by source bucket. */
  readonly #found: ReadonlyMap<string, Set<string>>;
  #count = 0;

  constructor(host: PluginHost, resources: readonly Resource[]) {
    this.#host = host;
    this.#patterns = host.settings.keys().filter(isPattern);
    const buckets = resources.filter(({ source }) => source.collection === undefined);
    this.#found = new Map(buckets.map(({ source }) => [source.bucket, new Set()]));
  }

  /** Number of matching collections. It never decreases. */
  get count(): number {
    return this.#count;
  }

  /** Returns the matching collections of a bucket. */
  of(bucket: string): readonly string[] {
    return [...(this.#found.get(bucket) ?? [])];
  }

  /** Reads the existing collections of the source buckets. */
  async start(): Promise<void> {
    if (this.#patterns.length === 0) return;
    const unit = new DatabaseUnit(this.#host.stores, this.#host.logger);
    try {
      for (const bucket of this.#found.keys()) {
        for await (const collection of readCollections({ unit, request: {} }, bucket))
          this.#add({ bucket, collection });
      }
    } finally {
      await unit.abandon();
    }
  }

  /** Subscribers that add collections created by this process. Other processes find them at their next start. */
  get subscribers(): readonly Subscriber[] {
    if (this.#patterns.length === 0) return [];
    const handle = (event: ChangeEvent): void => {
      for (const { ids } of event.changes) {
        this.#add({ bucket: ids['bucket_id'] ?? '', collection: ids['collection_id'] ?? '' });
      }
    };
    return [
      { name: 'signer-patterns', on: 'AfterResourceChanged', kinds: ['collection'], actions: ['create'], handle },
    ];
  }

  #add(id: CollectionId): void {
    const found = this.#found.get(id.bucket);
    if (found === undefined || found.has(id.collection) || this.#count >= maxListed) return;
    if (!this.#patterns.some((pattern) => matchesPattern(pattern, id))) return;
    found.add(id.collection);
    this.#count++;
  }
}
