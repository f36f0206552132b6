// The counters as they are stored: one object for each bucket, and one for each collection, beside what they count.
import { formatJson, getKey } from '../../base/json.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';

/** What a bucket or a collection holds; of a collection the first number is always 0. */
export interface Amounts {
  readonly collections: number;
  readonly records: number;
  /** Of everything, attributes of the bucket or collection itself included. */
  readonly size: number;
}

export const nothing: Amounts = { collections: 0, records: 0, size: 0 };

export const bucketCounter = 'bucket_info';
export const collectionCounter = 'collection_info';

/** Name of the kind that counters are stored as. */
export const counterKind = 'quota';

/** The list that holds the counter of a bucket or a collection. */
export function counterList(uri: string): ListKey {
  return { kind: counterKind, parent: uri };
}

/**
 * A list that holds nothing and is locked before the counters of a bucket. Units of work wait for lists in the order of
 * their parents; that of the bucket's own counter comes early, so they would get in each other's way there.
 */
export function counterGate(bucketUri: string): ListKey {
  return { kind: counterKind, parent: `${bucketUri}/quota` };
}

/** Amounts as text of a counter. */
export function formatAmounts(id: string, { collections, records, size }: Amounts): string {
  const counted = { record_count: records, storage_size: size };
  return formatJson(id === bucketCounter ? { collection_count: collections, ...counted } : counted);
}

/** Amounts of a counter; nothing has been counted where there is none. */
export function parseAmounts(counter: StoredObject | undefined): Amounts {
  if (counter === undefined) return nothing;
  const read = (name: string): number => {
    const value = getKey(counter.attributes, name);
    return typeof value === 'number' ? value : 0;
  };
  return { collections: read('collection_count'), records: read('record_count'), size: read('storage_size') };
}

export function add(a: Amounts, b: Partial<Amounts>): Amounts {
  const { collections = 0, records = 0, size = 0 } = b;
  return { collections: a.collections + collections, records: a.records + records, size: a.size + size };
}

export function subtract(a: Amounts, b: Amounts): Amounts {
  return { collections: a.collections - b.collections, records: a.records - b.records, size: a.size - b.size };
}
