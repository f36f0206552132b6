// The limits that the settings put on buckets and collections. The most particular name wins; ids come from requests,
// so what was found is kept for a while.
import { LRUCache } from 'lru-cache';
import { setting } from '../../settings/definition.ts';
import { family, type SettingsFamily } from '../../settings/families.ts';
import { integer } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';

/** Limits on one bucket or collection; `undefined`: none. */
export interface Limits {
  readonly maxBytes: number | undefined;
  readonly maxItems: number | undefined;
  readonly maxBytesPerItem: number | undefined;
}

const section = 'Quotas';
const count = integer({ min: 0 });
const none = { default: undefined, section };

export const quotaSettings = {
  'quotas.bucket_max_bytes': setting<number | undefined>(
    count,
    'Total size of a bucket: its own attributes, groups, collections and records.',
    none,
  ),
  'quotas.bucket_max_items': setting<number | undefined>(count, 'Number of records in a bucket.', none),
  'quotas.bucket_max_bytes_per_item': setting<number | undefined>(
    count,
    'Size of one object in a bucket, the bucket itself included.',
    none,
  ),
  'quotas.collection_max_bytes': setting<number | undefined>(
    count,
    'Total size of a collection: its own attributes and its records.',
    none,
  ),
  'quotas.collection_max_items': setting<number | undefined>(count, 'Number of records in a collection.', none),
  'quotas.collection_max_bytes_per_item': setting<number | undefined>(
    count,
    'Size of one record, or of the collection itself; goes before that of the bucket.',
    none,
  ),
};

export const quotaFamilies: readonly SettingsFamily[] = [
  family({
    form: 'quotas.bucket_<bucket>_<limit>, quotas.collection_<bucket>_<limit>, quotas.collection_<bucket>_<collection>_<limit>',
    sentence:
      'The same limits (max_bytes, max_items, max_bytes_per_item) for one bucket, for the collections of one bucket, or for one collection.',
    pattern: /^quotas\.(?:bucket|collection)_.+_max_(?:bytes|items|bytes_per_item)$/,
    reader: count,
  }),
];

/** Buckets and collections whose limits are remembered. */
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

  /** @param names beginnings of names, the most particular first */
  #find(names: readonly string[]): Limits {
    const key = names[0]!;
    let limits = this.#known.get(key);
    if (limits === undefined) {
      const look = (limit: string): number | undefined => {
        for (const name of names) {
          const value = this.#settings.lookupWith(count, `${name}_${limit}`);
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
