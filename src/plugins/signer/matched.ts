// The collections that regular expressions in names of settings match: clients learn from the root view which sources
// need a review, and expressions mean nothing to them.
import type { ChangeEvent } from '../../engine/events/event.ts';
import type { Subscriber } from '../../engine/events/subscriber.ts';
import { DatabaseUnit } from '../../engine/database-unit.ts';
import type { PluginHost } from '../../http/plugin.ts';
import { readCollections } from './guards.ts';
import { isPattern, matchesPattern } from './patterns.ts';
import type { CollectionId, Resource } from './routes.ts';

/** Collections that the root view lists; those beyond are not listed. */
const maxListed = 1000;

export class MatchedCollections {
  readonly #host: PluginHost;
  readonly #patterns: readonly string[];
  /** Source buckets with their matching collections. */
  readonly #found: ReadonlyMap<string, Set<string>>;
  #count = 0;

  constructor(host: PluginHost, resources: readonly Resource[]) {
    this.#host = host;
    this.#patterns = host.settings.keys().filter(isPattern);
    const buckets = resources.filter(({ source }) => source.collection === undefined);
    this.#found = new Map(buckets.map(({ source }) => [source.bucket, new Set()]));
  }

  /** Number of collections that are known to match; it only grows. */
  get count(): number {
    return this.#count;
  }

  /** Returns the collections of a bucket that are known to match. */
  of(bucket: string): readonly string[] {
    return [...(this.#found.get(bucket) ?? [])];
  }

  /** Looks through the collections that are there. */
  async start(): Promise<void> {
    if (this.#patterns.length === 0) return;
    const unit = new DatabaseUnit(this.#host.stores, this.#host.logger);
    try {
      for (const bucket of this.#found.keys()) {
        for await (const collection of readCollections({ unit }, bucket)) this.#add({ bucket, collection });
      }
    } finally {
      await unit.abandon();
    }
  }

  /** Adds collections that this process creates; other processes learn of them at their next start. */
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
