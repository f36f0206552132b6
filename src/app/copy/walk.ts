// Walks over everything that a store holds, a page at a time, so that the memory used does not grow with it.
import type { Memberships, ObjectEntries, PermissionReader, WalkPage } from '../../contracts/permission.ts';
import type { ListState, StorageReader } from '../../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { SortKey } from '../../core/query/ast.ts';
import { lastModifiedField } from '../../core/query/fields.ts';

/** Lists, entries, objects or users read at once. */
export const pageSize = 500;
/** Of objects as large as those before, no more are read at once than have this many characters of JSON. */
const pageCharacters = 4_000_000;
const firstPageSize = 50;

/** The one order that every backend has an index for. */
const byTime: readonly SortKey[] = [{ field: lastModifiedField, direction: 'ascending' }];

/** All lists, parents before what lies below them. */
export async function* walkLists(reader: StorageReader): AsyncGenerator<ListState> {
  let after: ListKey | undefined;
  for (;;) {
    const lists = await reader.lists(after, pageSize);
    yield* lists;
    after = lists.at(-1);
    if (after === undefined || lists.length < pageSize) return;
  }
}

/**
 * All objects and tombstones of a list, or those with some ids, in the order of their timestamps, in pages whose size
 * fits what they hold.
 *
 * @param since only those with later timestamps
 */
export async function* walkEntries(
  reader: StorageReader,
  { kind, parent }: ListKey,
  ids?: readonly string[],
  since?: number,
): AsyncGenerator<StoredEntry> {
  const list = { kind, parent };
  let limit = firstPageSize;
  let after: readonly [number] | undefined = since === undefined ? undefined : [since];
  for (;;) {
    const page = await reader.listAll(list, { filters: [], ids, includeDeleted: true, sort: byTime, after, limit });
    yield* page.entries;
    const last = page.entries.at(-1);
    if (last === undefined || !page.more) return;
    after = [last.lastModified];
    const characters = page.entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
    limit = Math.max(1, Math.min(pageSize, Math.floor((pageCharacters / characters) * page.entries.length)));
  }
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
export type Pair<T> = readonly [T, T] | readonly [T, undefined] | readonly [undefined, T];

/** Goes through two ordered walks side by side. */
export async function* walkPairs<T>(
  left: AsyncGenerator<T>,
  right: AsyncGenerator<T>,
  compare: (a: T, b: T) => number,
): AsyncGenerator<Pair<T>> {
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
