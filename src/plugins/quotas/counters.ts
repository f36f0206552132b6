// The counters as they are stored: one object for each bucket, and one for each collection, beside what they count.
import { formatJson, getKey } from '../../base/json.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';

/** What a bucket or a collection holds; of a collection the first number is always 0. */
export interface Usage {
  readonly collections: number;
  readonly records: number;
  /** Of everything, attributes of the bucket or collection itself included. */
  readonly size: number;
}

export const noUsage: Usage = { collections: 0, records: 0, size: 0 };

export const bucketCounter = 'bucket_info';
export const collectionCounter = 'collection_info';

/** Name of the kind that counters are stored as. */
export const counterKind = 'quota';

/** The list that holds the counter of a bucket or a collection. */
export function counterList(uri: string): ListKey {
  return { kind: counterKind, parent: uri };
}

/**
 * A list that holds noUsage and is locked before the counters of a bucket. Units of work wait for lists in the order of
 * their parents; that of the bucket's own counter comes early, so they would get in each other's way there.
 */
export function counterLock(bucketUri: string): ListKey {
  return { kind: counterKind, parent: `${bucketUri}/quota` };
}

/** Usage as text of a counter. */
export function formatUsage(id: string, { collections, records, size }: Usage): string {
  const counted = { record_count: records, storage_size: size };
  return formatJson(id === bucketCounter ? { collection_count: collections, ...counted } : counted);
}

/** Usage of a counter; noUsage has been counted where there is none. */
export function parseUsage(counter: StoredObject | undefined): Usage {
  if (counter === undefined) return noUsage;
  const read = (name: string): number => {
    const value = getKey(counter.attributes, name);
    return typeof value === 'number' ? value : 0;
  };
  return { collections: read('collection_count'), records: read('record_count'), size: read('storage_size') };
}

export function add(a: Usage, b: Partial<Usage>): Usage {
  const { collections = 0, records = 0, size = 0 } = b;
  return { collections: a.collections + collections, records: a.records + records, size: a.size + size };
}

export function subtract(a: Usage, b: Usage): Usage {
  return { collections: a.collections - b.collections, records: a.records - b.records, size: a.size - b.size };
}
