// Rebuilds counters that may be wrong: after quotas were enabled, or after a service without quotas wrote objects.
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
import { uriBelow, type ObjectUri } from '../../core/objects/uris.ts';
import { walk } from '../../engine/walk.ts';
import {
  add,
  bucketCounter,
  collectionCounter,
  counterLock,
  counterList,
  formatUsage,
  noUsage,
  parseUsage,
  subtract,
  type Usage,
} from './counters.ts';
import { sizeOf } from './size.ts';

/** Stored and actual usage of one bucket or collection. */
export interface CounterCheck {
  /** URI of the bucket or collection. */
  readonly uri: ObjectUri;
  readonly stored: Usage | undefined;
  readonly counted: Usage;
}

/** Returns whether the stored usage differs from the actual usage. */
export function isOutdated({ stored, counted }: CounterCheck): boolean {
  if (stored === undefined) return true;
  const { collections, records, size } = subtract(stored, counted);
  return collections !== 0 || records !== 0 || size !== 0;
}

/**
 * Counts a bucket and its collections, page by page.
 *
 * @param onCounted receives the number of objects counted since the last call
 * @returns an empty list when the bucket does not exist
 */
export async function checkBucket(
  storage: StorageReader,
  bucketId: string,
  onCounted: (objects: number) => void = () => undefined,
): Promise<readonly CounterCheck[]> {
  const uri = uriBelow('', 'buckets', bucketId);
  const bucket = await storage.get({ kind: 'bucket', parent: '' }, bucketId);
  if (bucket === undefined) return [];
  let total = add(noUsage, { size: sizeOf(bucket) });
  for await (const groups of walk(storage, { kind: 'group', parent: uri }, { filters: [] }, undefined)) {
    total = add(total, { size: groups.reduce((sum, group) => sum + sizeOf(group), 0) });
    onCounted(groups.length);
  }
  const found: CounterCheck[] = [];
  for await (const collections of walk(storage, { kind: 'collection', parent: uri }, { filters: [] }, undefined)) {
    for (const collection of collections) {
      const ownUri = uriBelow(uri, 'collections', collection.id);
      let own = add(noUsage, { size: sizeOf(collection) });
      for await (const records of walk(storage, { kind: 'record', parent: ownUri }, { filters: [] }, undefined)) {
        const size = records.reduce((sum, record) => sum + sizeOf(record), 0);
        own = add(own, { records: records.length, size });
        onCounted(records.length);
      }
      total = add(total, { ...own, collections: 1 });
      found.push({ uri: ownUri, stored: await readUsage(storage, ownUri, collectionCounter), counted: own });
    }
    onCounted(collections.length);
  }
  return [{ uri, stored: await readUsage(storage, uri, bucketCounter), counted: total }, ...found];
}

/**
 * Counts a bucket and corrects its counters. Its locks block all writes to the bucket meanwhile.
 *
 * @returns the counters that were wrong
 */
export async function rebuildBucket(
  storage: StorageWriter,
  bucketId: string,
  onCounted?: (objects: number) => void,
): Promise<readonly CounterCheck[]> {
  const uri = uriBelow('', 'buckets', bucketId);
  // Every change in the bucket needs this lock before its commit.
  await storage.lock(counterLock(uri));
  await storage.lock(counterList(uri));
  const wrong = (await checkBucket(storage, bucketId, onCounted)).filter(isOutdated);
  for (const { uri: counted, counted: usage } of wrong) {
    const id = counted === uri ? bucketCounter : collectionCounter;
    await storage.update(counterList(counted), id, formatUsage(id, usage));
  }
  return wrong;
}

/** Subtracts a collection from the counter of its bucket. Call it before deleting a collection without an event. */
export async function subtractCollection(
  storage: StorageWriter,
  bucketId: string,
  collectionId: string,
): Promise<void> {
  const uri = uriBelow('', 'buckets', bucketId);
  const list = counterList(uri);
  await storage.lock(counterLock(uri));
  const { object } = await storage.lock(list, bucketCounter);
  if (object === undefined) return;
  const lost = (await readUsage(storage, uriBelow(uri, 'collections', collectionId), collectionCounter)) ?? noUsage;
  const left = subtract(parseUsage(object), { ...lost, collections: 1 });
  await storage.update(list, bucketCounter, formatUsage(bucketCounter, left));
}

async function readUsage(storage: StorageReader, uri: ObjectUri, id: string): Promise<Usage | undefined> {
  const counter = await storage.get(counterList(uri), id);
  return counter === undefined ? undefined : parseUsage(counter);
}
