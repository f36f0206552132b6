// Walks over everything that a store holds, a page at a time, so that the memory used does not grow with it.
import type { Memberships, ObjectEntries, PermissionReader, WalkPage } from '../../contracts/permission.ts';
import type { ListSummary, Page, StorageReader } from '../../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { SortKey } from '../../core/query/ast.ts';
import { lastModifiedField } from '../../core/query/fields.ts';
import { fingerprintList } from '../secret-fingerprints.ts';

/** Lists, entries, objects or users read at once. */
export const pageSize = 1000;
/** Of objects as large as those before, no more are read at once than have this many characters of JSON. */
const pageCharacters = 4_000_000;
const firstPageSize = 50;

/** The one order that every backend has an index for. */
const byTime: readonly SortKey[] = [{ field: lastModifiedField, direction: 'ascending' }];

/** All lists of data, parents before what lies below them. The list that tells of secrets is none of them. */
export async function* walkLists(reader: StorageReader): AsyncGenerator<ListSummary> {
  let after: ListKey | undefined;
  for (;;) {
    const lists = await reader.lists(after, pageSize);
    for (const list of lists) if (list.kind !== fingerprintList.kind) yield list;
    after = lists.at(-1);
    if (after === undefined || lists.length < pageSize) return;
  }
}

/** Clock and horizon of a list. */
export async function readState(
  reader: StorageReader,
  { kind, parent }: ListKey,
): Promise<Pick<Page, 'timestamp' | 'horizon'>> {
  const { timestamp, horizon } = await reader.listAll({ kind, parent }, { filters: [], sort: byTime, limit: 1 });
  return { timestamp, horizon };
}

/**
 * All objects and tombstones of a list, or those with some ids, in the order of their timestamps, in pages whose size
 * fits what they hold.
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

/** The same, page by page, none of them empty. The next page is asked for while one is looked at. */
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
      sort: byTime,
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
    // Whoever stops in the middle never waits for it.
    next?.catch(() => undefined);
    yield entries;
  }
}

/** How many objects to read, should they be as large as those before. */
function limitAfter(entries: readonly StoredEntry[]): number {
  let characters = 0;
  for (const entry of entries) characters += sizeOf(entry);
  return Math.max(1, Math.min(pageSize, Math.floor((pageCharacters / characters) * entries.length)));
}

/** Pages of all objects that have access-control entries. */
export async function* walkPermissions(reader: PermissionReader): AsyncGenerator<readonly ObjectEntries[]> {
  yield* walkPages((from) => reader.entries(from, pageSize));
}

/** Pages of all users who were given principals. */
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

/** How much of a page an entry takes. */
export function sizeOf(entry: StoredEntry): number {
  return entry.id.length + 20 + (isTombstone(entry) ? 0 : entry.text.length);
}

/** What stands at one place on both sides; one of them is `undefined` when only the other side has it. */
export type Pair<T, U> = readonly [T, U] | readonly [T, undefined] | readonly [undefined, U];

/** Goes through two ordered walks side by side. */
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

/** The order of `walkEntries`. */
export function compareTimes(a: StoredEntry, b: StoredEntry): number {
  return a.lastModified - b.lastModified;
}
