// Reads everything in a store, a page at a time, so that memory does not grow with the store.
import type { Memberships, ObjectEntries, PermissionReader, WalkPage } from '../contracts/permission.ts';
import type { ListSummary, Page, StorageReader } from '../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../core/objects/stored.ts';
import { stateKind } from '../engine/index-states.ts';
import { oldestFirst } from '../engine/walk.ts';
import { fingerprintList } from './secret-fingerprints.ts';

/** Number of lists, objects or users in a page. */
export const pageSize = 1000;
/** Maximum characters of JSON in a page, estimated by the objects before. */
const pageCharacters = 4_000_000;
const firstPageSize = 50;

/** Kinds of lists that a store keeps about itself: fingerprints of secrets, and the states of its indexes. */
const ownKinds: readonly string[] = [fingerprintList.kind, stateKind];

/** Yields all lists of data, parents first. Those that a store keeps about itself are left out. */
export async function* walkLists(reader: StorageReader): AsyncGenerator<ListSummary> {
  let after: ListKey | undefined;
  for (;;) {
    const lists = await reader.lists(after, pageSize);
    for (const list of lists) if (!ownKinds.includes(list.kind)) yield list;
    after = lists.at(-1);
    if (after === undefined || lists.length < pageSize) return;
  }
}

/** Reads the clock and the horizon of a list. */
export async function readState(
  reader: StorageReader,
  { kind, parent }: ListKey,
): Promise<Pick<Page, 'timestamp' | 'horizon'>> {
  const { timestamp, horizon } = await reader.listAll({ kind, parent }, { filters: [], sort: oldestFirst, limit: 1 });
  return { timestamp, horizon };
}

/**
 * Yields all objects and tombstones of a list, or those with some ids, in the order of their timestamps.
 *
 * @param since only those with later timestamps
 */
export async function* walkEntries(
  reader: StorageReader,
  list: ListKey,
  ids?: readonly string[],
  since?: number,
): AsyncGenerator<StoredEntry> {
  for await (const page of walkEntryPages(reader, list, ids, since)) yield* page;
}

/**
 * Yields the entries of `walkEntries` in pages that are not empty, of a size that fits their objects. The next page is read
 * while the caller handles one.
 */
export async function* walkEntryPages(
  reader: StorageReader,
  { kind, parent }: ListKey,
  ids?: readonly string[],
  since?: number,
): AsyncGenerator<readonly StoredEntry[]> {
  const list = { kind, parent };
  const read = (after: readonly [number] | undefined, limit: number): Promise<Page> =>
    reader.listAll(list, {
      filters: [],
      ids,
      includeDeleted: true,
      sort: oldestFirst,
      after,
      limit,
      maxBytes: pageCharacters,
    });
  let next: Promise<Page> | undefined = read(since === undefined ? undefined : [since], firstPageSize);
  while (next !== undefined) {
    const { entries, more }: Page = await next;
    const last = entries.at(-1);
    if (last === undefined) return;
    const limit = limitAfter(entries);
    next = more ? read([last.lastModified], limit) : undefined;
    // A caller that stops early never awaits it.
    next?.catch(() => undefined);
    yield entries;
  }
}

/** Returns the number of objects to read, if they are as large as the previous ones. */
function limitAfter(entries: readonly StoredEntry[]): number {
  let characters = 0;
  for (const entry of entries) characters += sizeOf(entry);
  return Math.max(1, Math.min(pageSize, Math.floor((pageCharacters / characters) * entries.length)));
}

/** Yields pages of all objects that have permission entries. */
export async function* walkPermissions(reader: PermissionReader): AsyncGenerator<readonly ObjectEntries[]> {
  yield* walkPages((from) => reader.entries(from, pageSize));
}

/** Yields pages of all users that have further principals. */
export async function* walkMemberships(reader: PermissionReader): AsyncGenerator<readonly Memberships[]> {
  yield* walkPages((from) => reader.memberships(from, pageSize));
}

async function* walkPages<T>(read: (from: string | undefined) => Promise<WalkPage<T>>): AsyncGenerator<readonly T[]> {
  let from: string | undefined;
  do {
    const { found, next } = await read(from);
    if (found.length > 0) yield found;
    from = next;
  } while (from !== undefined);
}

/** Estimates the number of characters of an entry in a page. */
export function sizeOf(entry: StoredEntry): number {
  return entry.id.length + 20 + (isTombstone(entry) ? 0 : entry.text.length);
}

/** The items of both sides at one place; `undefined` where a side has none. */
export type Pair<T, U> = readonly [T, U] | readonly [T, undefined] | readonly [undefined, U];

/** Pairs the results of two ordered walks. */
export async function* walkPairs<T, U>(
  left: AsyncGenerator<T>,
  right: AsyncGenerator<U>,
  compare: (a: T, b: U) => number,
): AsyncGenerator<Pair<T, U>> {
  let [one, other] = await Promise.all([left.next(), right.next()]);
  for (;;) {
    if (one.done === true && other.done === true) return;
    const order = one.done === true ? 1 : other.done === true ? -1 : compare(one.value, other.value);
    if (order === 0) {
      yield [one.value, other.value];
      [one, other] = await Promise.all([left.next(), right.next()]);
    } else if (order < 0) {
      yield [one.value, undefined];
      one = await left.next();
    } else {
      yield [undefined, other.value];
      other = await right.next();
    }
  }
}

/** Compares entries in the order of `walkEntries`. */
export function compareTimes(a: StoredEntry, b: StoredEntry): number {
  return a.lastModified - b.lastModified;
}
