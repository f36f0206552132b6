// Limits of buckets and collections in the settings. The most specific name applies. Ids come from requests, so the
// cache of limits is bounded.
import { LRUCache } from 'lru-cache';
import { inSection, setting, type Setting } from '../../settings/definition.ts';
import { family, type SettingsFamily } from '../../settings/families.ts';
import { integer } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';

/** Limits of one bucket or collection; `undefined` means unlimited. */
export interface Limits {
  readonly maxBytes: number | undefined;
  readonly maxItems: number | undefined;
  readonly maxBytesPerItem: number | undefined;
}

const count = integer({ min: 0 });

/** Returns the setting of a limit without a default. */
function limit(sentence: string): Setting<number | undefined> {
  return setting<number | undefined>(count, `${sentence} Not set means unlimited.`, { default: undefined });
}

export const quotaSettings = inSection('Quotas', {
  'quotas.bucket_max_bytes': limit(
    'Maximum total size of a bucket, in bytes: its own attributes, groups, collections and records.',
  ),
  'quotas.bucket_max_items': limit('Maximum number of records in a bucket.'),
  'quotas.bucket_max_bytes_per_item': limit(
    'Maximum size of one object in a bucket, or of the bucket itself, in bytes.',
  ),
  'quotas.collection_max_bytes': limit(
    'Maximum total size of a collection, in bytes: its own attributes and its records.',
  ),
  'quotas.collection_max_items': limit('Maximum number of records in a collection.'),
  'quotas.collection_max_bytes_per_item': setting<number | undefined>(
    count,
    'Maximum size of one record, or of the collection itself, in bytes. Not set means the limit of the bucket.',
    { default: undefined },
  ),
});

export const quotaFamilies: readonly SettingsFamily[] = [
  family({
    form: 'quotas.bucket_<bucket>_<limit>, quotas.collection_<bucket>_<limit>, quotas.collection_<bucket>_<collection>_<limit>',
    sentence:
      'Limits (max_bytes, max_items, max_bytes_per_item) of one bucket, of the collections in one bucket, or of one collection.',
    pattern: /^quotas\.(?:bucket|collection)_.+_max_(?:bytes|items|bytes_per_item)$/,
    reader: count,
  }),
];

/** Maximum number of cached limits. */
const maxCached = 1000;

export class QuotaLimits {
  readonly #settings: Settings;
  readonly #known = new LRUCache<string, Limits>({ max: maxCached });

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  ofBucket(bucketId: string): Limits {
    return this.#find([`quotas.bucket_${bucketId}`, 'quotas.bucket']);
  }

  ofCollection(bucketId: string, collectionId: string): Limits {
    const ofBucket = `quotas.collection_${bucketId}`;
    return this.#find([`${ofBucket}_${collectionId}`, ofBucket, 'quotas.collection']);
  }

  /** @param prefixes of setting names, most specific first */
  #find(prefixes: readonly string[]): Limits {
    // All prefixes: the first one can belong to two collections, `a_b` in `x` and `b` in `x_a`. Ids have no line breaks.
    const key = prefixes.join('\n');
    let limits = this.#known.get(key);
    if (limits === undefined) {
      const look = (name: string): number | undefined => {
        for (const prefix of prefixes) {
          const value = this.#settings.lookupWith(count, `${prefix}_${name}`);
          if (value !== undefined) return value;
        }
        return undefined;
      };
      limits = {
        maxBytes: look('max_bytes'),
        maxItems: look('max_items'),
        maxBytesPerItem: look('max_bytes_per_item'),
      };
      this.#known.set(key, limits);
    }
    return limits;
  }
}
