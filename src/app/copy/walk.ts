// Walks over everything that a store holds, a page at a time, so that the memory used does not grow with it.
import type { Memberships, ObjectEntries, PermissionReader } from '../../contracts/permission.ts';
import type { ListState, StorageReader } from '../../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { SortKey } from '../../core/query/ast.ts';
import { compareText } from '../../core/query/compare.ts';
import { idField } from '../../core/query/fields.ts';

/** Lists, entries, objects or users read at once. */
export const pageSize = 500;
/** Of objects as large as those before, no more are read at once than have this many characters of JSON. */
const pageCharacters = 4_000_000;
const firstPageSize = 50;

const byId: readonly SortKey[] = [{ field: idField, direction: 'ascending' }];

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

/** All objects and tombstones of a list in the order of their ids, in pages whose size fits what they hold. */
export async function* walkEntries(reader: StorageReader, list: ListKey): AsyncGenerator<StoredEntry> {
  let limit = firstPageSize;
  let after: readonly [string] | undefined;
  for (;;) {
    const page = await reader.listAll(list, { filters: [], includeDeleted: true, sort: byId, after, limit });
    yield* page.entries;
    const last = page.entries.at(-1);
    if (last === undefined || !page.more) return;
    after = [last.id];
    const characters = page.entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
    limit = Math.max(1, Math.min(pageSize, Math.floor((pageCharacters / characters) * page.entries.length)));
  }
}

/** Pages of all objects that have access-control entries. */
export async function* walkPermissions(reader: PermissionReader): AsyncGenerator<readonly ObjectEntries[]> {
  let after: string | undefined;
  for (;;) {
    const page = await reader.entries(after, pageSize);
    if (page.length > 0) yield page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.objectId;
  }
}

/** Pages of all users who were given principals. */
export async function* walkMemberships(reader: PermissionReader): AsyncGenerator<readonly Memberships[]> {
  let after: string | undefined;
  for (;;) {
    const page = await reader.memberships(after, pageSize);
    if (page.length > 0) yield page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.userId;
  }
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

/** The order of `walkLists`. */
export function compareLists(a: ListKey, b: ListKey): number {
  return compareText(a.parent, b.parent) || compareText(a.kind, b.kind);
}

/** The order of `walkEntries`. */
export function compareIds(a: StoredEntry, b: StoredEntry): number {
  return compareText(a.id, b.id);
}
