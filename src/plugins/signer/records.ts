// The records of whole collections, read in the order of their ids: their canonical text, and how those of one collection
// differ from those of another. Memory holds one page of a list, and the result.
import { runFromNow, type Steps } from '../../base/steps.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { entryInSteps, isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
import { compareText } from '../../core/query/compare.ts';
import { byId, walk } from '../../engine/walk.ts';
import { formatCanonicalInSteps } from './canonical-json.ts';

/** Yields the live objects of a list by their ids. */
async function* readById(storage: StorageReader, list: ListKey): AsyncGenerator<StoredObject, undefined> {
  for await (const entries of walk(storage, list, { filters: [] }, byId)) {
    for (const entry of entries) if (!isTombstone(entry)) yield entry;
  }
  return undefined;
}

/**
 * The text that is signed for a list: its live objects by id, and its clock as text.
 *
 * @param timestamp of the list
 */
export async function formatSignedText(storage: StorageReader, list: ListKey, timestamp: number): Promise<string> {
  const records: string[] = [];
  for await (const object of readById(storage, list)) {
    const formatting = runFromNow(formatRecord(object), 'urgent');
    records.push(typeof formatting === 'string' ? formatting : await formatting);
  }
  return `{"data":[${records.join(',')}],"last_modified":"${timestamp}"}`;
}

function* formatRecord(object: StoredObject): Steps<string> {
  return yield* formatCanonicalInSteps(yield* entryInSteps(object));
}

/** Ids of the live objects. */
export async function readIds(storage: StorageReader, list: ListKey): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of readById(storage, list)) ids.push(id);
  return ids;
}

/** What has to happen to one list so that it holds what another one holds. */
export interface Difference {
  /** Objects of the other list that are missing here, or are not the same here. */
  readonly put: readonly StoredObject[];
  /** Ids of those that the other list does not have. */
  readonly removed: readonly string[];
}

/** How many objects differ. */
export function countDifferences({ put, removed }: Difference): number {
  return put.length + removed.length;
}

/** Length of the objects that differ, as JSON. */
export function countBytes({ put }: Difference): number {
  return put.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

/**
 * Compares two lists.
 *
 * @param isTouched whether an object of the other list counts as different, although it holds the same, because it was
 *   written later
 */
export async function compareLists(
  storage: StorageReader,
  { from, to, isTouched = () => false }: ListPair,
): Promise<Difference> {
  const [theirs, ours] = [readById(storage, from), readById(storage, to)];
  const put: StoredObject[] = [];
  const removed: string[] = [];
  let [there, here] = [await next(theirs), await next(ours)];
  while (there !== undefined || here !== undefined) {
    const order = there === undefined ? 1 : here === undefined ? -1 : compareText(there.id, here.id);
    if (order < 0) put.push(there!);
    else if (order > 0) removed.push(here!.id);
    else if (isTouched(there!, here!) || !(await isSame(there!, here!))) put.push(there!);
    if (order <= 0) there = await next(theirs);
    if (order >= 0) here = await next(ours);
  }
  return { put, removed };
}

export interface ListPair {
  readonly from: ListKey;
  readonly to: ListKey;
  readonly isTouched?: (from: StoredObject, to: StoredObject) => boolean;
}

async function next(objects: AsyncGenerator<StoredObject, undefined>): Promise<StoredObject | undefined> {
  return (await objects.next()).value;
}

/** Texts differ for values that do not, where another program has written them. */
function isSame(a: StoredObject, b: StoredObject): boolean | Promise<boolean> {
  return a.text === b.text || runFromNow(equalTexts(a, b), 'urgent');
}

function* equalTexts(a: StoredObject, b: StoredObject): Steps<boolean> {
  const text = yield* formatCanonicalInSteps(yield* a.read());
  return text === (yield* formatCanonicalInSteps(yield* b.read()));
}
