// Counts anew what buckets and collections hold, where the counters are not to be trusted: after quotas were switched
// on, or objects were written by a service without them.
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
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

/** A counter, what it says and what it should say. */
export interface CounterCheck {
  /** Of the bucket or collection. */
  readonly uri: string;
  readonly stored: Usage | undefined;
  readonly counted: Usage;
}

/** Whether a counter says something else than it should. */
export function isOutdated({ stored, counted }: CounterCheck): boolean {
  if (stored === undefined) return true;
  const { collections, records, size } = subtract(stored, counted);
  return collections !== 0 || records !== 0 || size !== 0;
}

/**
 * Counts a bucket and its collections, page by page.
 *
 * @param onCounted told how many more objects were counted
 * @returns noUsage when there is no such bucket
 */
export async function checkBucket(
  storage: StorageReader,
  bucketId: string,
  onCounted: (objects: number) => void = () => undefined,
): Promise<readonly CounterCheck[]> {
  const uri = `/buckets/${bucketId}`;
  const bucket = await storage.get({ kind: 'bucket', parent: '' }, bucketId);
  if (bucket === undefined) return [];
  let total = add(noUsage, { size: sizeOf(bucket) });
  for await (const groups of walk(storage, { kind: 'group', parent: uri }, { filters: [] })) {
    total = add(total, { size: groups.reduce((sum, group) => sum + sizeOf(group), 0) });
    onCounted(groups.length);
  }
  const found: CounterCheck[] = [];
  for await (const collections of walk(storage, { kind: 'collection', parent: uri }, { filters: [] })) {
    for (const collection of collections) {
      const ownUri = `${uri}/collections/${collection.id}`;
      let own = add(noUsage, { size: sizeOf(collection) });
      for await (const records of walk(storage, { kind: 'record', parent: ownUri }, { filters: [] })) {
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
 * Recounts a bucket and stores what it finds, while nobody else changes anything that is counted.
 *
 * @returns the counters that were wrong
 */
export async function rebuildBucket(
  storage: StorageWriter,
  bucketId: string,
  onCounted?: (objects: number) => void,
): Promise<readonly CounterCheck[]> {
  const uri = `/buckets/${bucketId}`;
  // Whoever changes something in the bucket needs this list before the end, so noUsage is committed meanwhile.
  await storage.lock(counterLock(uri));
  await storage.lock(counterList(uri));
  const wrong = (await checkBucket(storage, bucketId, onCounted)).filter(isOutdated);
  for (const { uri: counted, counted: usage } of wrong) {
    const id = counted === uri ? bucketCounter : collectionCounter;
    await storage.update(counterList(counted), id, formatUsage(id, usage));
  }
  return wrong;
}

/** Takes a collection off the counter of its bucket, for who deletes it without an event; to be called before. */
export async function subtractCollection(
  storage: StorageWriter,
  bucketId: string,
  collectionId: string,
): Promise<void> {
  const uri = `/buckets/${bucketId}`;
  const list = counterList(uri);
  await storage.lock(counterLock(uri));
  const { object } = await storage.lock(list, bucketCounter);
  if (object === undefined) return;
  const lost = (await readUsage(storage, `${uri}/collections/${collectionId}`, collectionCounter)) ?? noUsage;
  const left = subtract(parseUsage(object), { ...lost, collections: 1 });
  await storage.update(list, bucketCounter, formatUsage(bucketCounter, left));
}

async function readUsage(storage: StorageReader, uri: string, id: string): Promise<Usage | undefined> {
  const counter = await storage.get(counterList(uri), id);
  return counter === undefined ? undefined : parseUsage(counter);
}
