// Records of whole collections, read in the order of their ids: the text to sign, and the difference of two collections. Memory
// use is one page of each list, and the ids in a difference.
import { StepBudget } from '../../base/json-steps.ts';
import { pause, runFromNow, type Steps } from '../../base/steps.ts';
import type { RequireRoom, StorageReader } from '../../contracts/storage.ts';
import { charsOf, entryInSteps, isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
import { compareText } from '../../core/query/compare.ts';
import { byId, walk, walkIds } from '../../engine/walk.ts';
import { formatCanonicalInSteps } from './canonical-json.ts';

/** Where lists are read, and what reserves memory for their pages. */
export interface Source {
  readonly storage: StorageReader;
  readonly requireRoom: RequireRoom | undefined;
}

/** Yields the live objects of a list in the order of their ids, with pauses in which other requests run. */
async function* readById({ storage, requireRoom }: Source, list: ListKey): AsyncGenerator<StoredObject, undefined> {
  const budget = new StepBudget();
  for await (const entries of walk(storage, list, { filters: [] }, requireRoom, { sort: byId })) {
    for (const entry of entries) {
      if (isTombstone(entry)) continue;
      yield entry;
      if (budget.spendOnObject(charsOf(entry))) await pause('urgent');
    }
  }
  return undefined;
}

/** Yields the text to sign in pieces: the live objects of the list in the order of their ids, and its timestamp as a string. */
export async function* formatSignedText(source: Source, list: ListKey, timestamp: number): AsyncGenerator<string> {
  let before = '{"data":[';
  for await (const object of readById(source, list)) {
    const formatting = runFromNow(formatRecord(object), 'urgent');
    yield before + (typeof formatting === 'string' ? formatting : await formatting);
    before = ',';
  }
  yield `${before === ',' ? '' : before}],"last_modified":"${timestamp}"}`;
}

function* formatRecord(object: StoredObject): Steps<string> {
  return yield* formatCanonicalInSteps(yield* entryInSteps(object));
}

/** Returns the ids of the live objects. */
export async function readIds({ storage, requireRoom }: Source, list: ListKey): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const id of walkIds(storage, list, { filters: [] }, requireRoom, byId)) ids.push(id);
  return ids;
}

/** An object to copy. Its text is read again when it is copied: all of them may be too much for memory. */
export interface Copied {
  readonly id: string;
  readonly lastModified: number;
  /** Length of its JSON in bytes. */
  readonly bytes: number;
}

/** The writes that make one list equal to another. */
export interface Difference {
  /** Objects of the other list that are missing or different in this one. */
  readonly put: readonly Copied[];
  /** Ids of objects that only this list has. */
  readonly removed: readonly string[];
}

/** Returns the number of objects that differ. */
export function countDifferences({ put, removed }: Difference): number {
  return put.length + removed.length;
}

/** Returns the JSON length of the objects to put, in bytes. */
export function countBytes({ put }: Difference): number {
  return put.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Compares the contents of two lists. */
export async function compareLists(lists: Source, { from, to }: ListPair): Promise<Difference> {
  const [sources, targets] = [readById(lists, from), readById(lists, to)];
  const put: Copied[] = [];
  const removed: string[] = [];
  let [source, target] = [await next(sources), await next(targets)];
  while (source !== undefined || target !== undefined) {
    const order = source === undefined ? 1 : target === undefined ? -1 : compareText(source.id, target.id);
    if (order < 0) put.push(copied(source!));
    else if (order > 0) removed.push(target!.id);
    else if (!(await isSame(source!, target!))) put.push(copied(source!));
    if (order <= 0) source = await next(sources);
    if (order >= 0) target = await next(targets);
  }
  return { put, removed };
}

function copied({ id, lastModified, text }: StoredObject): Copied {
  return { id, lastModified, bytes: Buffer.byteLength(text) };
}

export interface ListPair {
  readonly from: ListKey;
  readonly to: ListKey;
}

async function next(objects: AsyncGenerator<StoredObject, undefined>): Promise<StoredObject | undefined> {
  return (await objects.next()).value;
}

/** Returns whether the content is equal. Equal values may have different texts if another program wrote them. */
function isSame(a: StoredObject, b: StoredObject): boolean | Promise<boolean> {
  return a.text === b.text || runFromNow(equalTexts(a, b), 'urgent');
}

function* equalTexts(a: StoredObject, b: StoredObject): Steps<boolean> {
  const text = yield* formatCanonicalInSteps(yield* a.read());
  return text === (yield* formatCanonicalInSteps(yield* b.read()));
}
