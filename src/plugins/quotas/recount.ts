// Counts anew what buckets and collections hold, where the counters are not to be trusted: after quotas were switched on,
// or objects were written by a service without them.
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
import { walk } from '../../engine/walk.ts';
import {
  add,
  bucketCounter,
  collectionCounter,
  counterGate,
  counterList,
  formatAmounts,
  nothing,
  parseAmounts,
  subtract,
  type Amounts,
} from './counters.ts';
import { sizeOf } from './size.ts';

/** A counter, what it says and what it should say. */
export interface Recount {
  /** Of the bucket or collection. */
  readonly uri: string;
  readonly stored: Amounts | undefined;
  readonly counted: Amounts;
}

/** Whether a counter says something else than it should. */
export function isWrong({ stored, counted }: Recount): boolean {
  if (stored === undefined) return true;
  const { collections, records, size } = subtract(stored, counted);
  return collections !== 0 || records !== 0 || size !== 0;
}

/**
 * Counts a bucket and its collections, page by page.
 *
 * @param onCounted told how many more objects were counted
 * @returns nothing when there is no such bucket
 */
export async function recountBucket(
  storage: StorageReader,
  bucketId: string,
  onCounted: (objects: number) => void = () => undefined,
): Promise<readonly Recount[]> {
  const uri = `/buckets/${bucketId}`;
  const bucket = await storage.get({ kind: 'bucket', parent: '' }, bucketId);
  if (bucket === undefined) return [];
  let total = add(nothing, { size: sizeOf(bucket) });
  for await (const groups of walk(storage, { kind: 'group', parent: uri }, { filters: [] })) {
    total = add(total, { size: groups.reduce((sum, group) => sum + sizeOf(group), 0) });
    onCounted(groups.length);
  }
  const found: Recount[] = [];
  for await (const collections of walk(storage, { kind: 'collection', parent: uri }, { filters: [] })) {
    for (const collection of collections) {
      const ownUri = `${uri}/collections/${collection.id}`;
      let own = add(nothing, { size: sizeOf(collection) });
      for await (const records of walk(storage, { kind: 'record', parent: ownUri }, { filters: [] })) {
        const size = records.reduce((sum, record) => sum + sizeOf(record), 0);
        own = add(own, { records: records.length, size });
        onCounted(records.length);
      }
      total = add(total, { ...own, collections: 1 });
      found.push({ uri: ownUri, stored: await readAmounts(storage, ownUri, collectionCounter), counted: own });
    }
    onCounted(collections.length);
  }
  return [{ uri, stored: await readAmounts(storage, uri, bucketCounter), counted: total }, ...found];
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
): Promise<readonly Recount[]> {
  const uri = `/buckets/${bucketId}`;
  // Whoever changes something in the bucket needs this list before the end, so nothing is committed meanwhile.
  await storage.lock(counterGate(uri));
  await storage.lock(counterList(uri));
  const wrong = (await recountBucket(storage, bucketId, onCounted)).filter(isWrong);
  for (const { uri: counted, counted: amounts } of wrong) {
    const id = counted === uri ? bucketCounter : collectionCounter;
    await storage.update(counterList(counted), id, formatAmounts(id, amounts));
  }
  return wrong;
}

/** Takes a collection off the counter of its bucket, for who deletes it without an event; to be called before. */
export async function uncountCollection(storage: StorageWriter, bucketId: string, collectionId: string): Promise<void> {
  const uri = `/buckets/${bucketId}`;
  const list = counterList(uri);
  await storage.lock(counterGate(uri));
  const { object } = await storage.lock(list, bucketCounter);
  if (object === undefined) return;
  const lost = (await readAmounts(storage, `${uri}/collections/${collectionId}`, collectionCounter)) ?? nothing;
  const left = subtract(parseAmounts(object), { ...lost, collections: 1 });
  await storage.update(list, bucketCounter, formatAmounts(bucketCounter, left));
}

async function readAmounts(storage: StorageReader, uri: string, id: string): Promise<Amounts | undefined> {
  const counter = await storage.get(counterList(uri), id);
  return counter === undefined ? undefined : parseAmounts(counter);
}
