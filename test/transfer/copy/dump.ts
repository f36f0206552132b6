// Everything in a store as plain values that can be compared, read without the help of digests.
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { walkEntries, walkLists, walkMemberships, walkPermissions } from '../../../src/maintenance/walk.ts';
import { StoredObject } from '../../../src/core/objects/stored.ts';
import { compareText } from '../../../src/core/query/compare.ts';

/** Lists with their entries, permissions, and memberships. */
export async function dumpStores({
  storage,
  permission,
}: Pick<OpenStores, 'storage' | 'permission'>): Promise<unknown> {
  const lists: unknown[] = [];
  for await (const list of walkLists(storage.reader)) {
    const plain: unknown[] = [];
    for await (const entry of walkEntries(storage.reader, list)) {
      plain.push([entry.id, entry.lastModified, entry instanceof StoredObject ? entry.text : null]);
    }
    lists.push([list, plain, await storage.reader.countAll(list, { filters: [] })]);
  }
  const entries: [string, unknown][] = [];
  for await (const page of walkPermissions(permission.reader)) {
    for (const { objectId, permissions } of page) {
      const named = Object.entries(permissions).map(([name, all]) => [name, sorted(all)] as const);
      entries.push([objectId, named.toSorted(byFirst)]);
    }
  }
  const users: [string, unknown][] = [];
  for await (const page of walkMemberships(permission.reader)) {
    for (const { userId, principals } of page) users.push([userId, sorted(principals)]);
  }
  return [lists, entries.toSorted(byFirst), users.toSorted(byFirst)];
}

const sorted = (texts: readonly string[]): readonly string[] => texts.toSorted(compareText);

function byFirst([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return compareText(a, b);
}
