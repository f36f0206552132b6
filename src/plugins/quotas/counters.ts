// Stored counters: one object for each bucket and each collection, next to what they count.
import { formatJson, getKey } from '../../base/json.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import { listFolder, type ObjectUri } from '../../core/objects/uris.ts';

/** Usage of a bucket or a collection. `collections` of a collection is always 0. */
export interface Usage {
  readonly collections: number;
  readonly records: number;
  /** Size of all objects, including the bucket or collection itself. */
  readonly size: number;
}

export const noUsage: Usage = { collections: 0, records: 0, size: 0 };

export const bucketCounter = 'bucket_info';
export const collectionCounter = 'collection_info';

/** Kind under which counters are stored. */
export const counterKind = 'quota';

/** Returns the list of the counter of a bucket or a collection. */
export function counterList(uri: ObjectUri): ListKey {
  return { kind: counterKind, parent: uri };
}

/**
 * Returns an empty list that is locked before the counters of a bucket. Units of work lock lists in the order of their
 * parents. The list of the bucket counter comes early in that order, so they would block each other there.
 */
export function counterLock(bucketUri: ObjectUri): ListKey {
  return { kind: counterKind, parent: listFolder(`${bucketUri}/quota`) };
}

/** Formats usage as the text of a counter. */
export function formatUsage(id: string, { collections, records, size }: Usage): string {
  const counted = { record_count: records, storage_size: size };
  return formatJson(id === bucketCounter ? { collection_count: collections, ...counted } : counted);
}

/** Returns the usage in a counter, and no usage if it does not exist. */
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
