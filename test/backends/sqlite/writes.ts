// Writes of every kind to a small database, and everything that reads return of it.
import fc from 'fast-check';
import { StoredObject, type ListKey } from '../../../src/core/objects/stored.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import type { PageQuery } from '../../../src/core/query/ast.ts';
import { idField, lastModifiedField } from '../../../src/core/query/fields.ts';
import type { TestDatabase } from './temporary.ts';
import type { PermissionWriter, StorageWriter } from '../../../src/testing/contract/plain-contracts.ts';

export const lists: readonly ListKey[] = [
  { kind: 'record', parent: storedUri('/buckets/b/collections/c') },
  { kind: 'record', parent: storedUri('/buckets/b/collections/d') },
];
export const ids = ['x', 'y'];
export const objectIds = ['/buckets/b', '/buckets/b/collections/c', '/buckets/b/collections/c/records/x'].map(
  storedUri,
);
const users = ['alice', 'bob', 'system.Authenticated'];
const principals = ['alice', '/buckets/b/groups/g', '/buckets/b/groups/h'];
const newestFirst = [{ field: lastModifiedField, direction: 'descending' as const }];

export const pages: readonly PageQuery[] = [
  { filters: [], sort: newestFirst, limit: 2 },
  { filters: [], sort: newestFirst, limit: 1 },
  { filters: [], sort: newestFirst, limit: 10, includeDeleted: true },
  { filters: [], sort: [{ field: lastModifiedField, direction: 'ascending' }], limit: 2, after: [1_600_000_000_000] },
  { filters: [{ field: lastModifiedField, operator: 'gt', value: 5 }], sort: newestFirst, limit: 2 },
  { filters: [], sort: newestFirst, limit: 2, ids: ['x'] },
  { filters: [], sort: [{ field: idField, direction: 'ascending' }], limit: 2 },
];

/** Returns everything that reads return. */
export async function observe({ storage, permission }: TestDatabase): Promise<unknown> {
  const ofLists = lists.map(async (list) => [
    await storage.reader.resourceTimestamp(list),
    await storage.reader.countAll(list, { filters: [], includeDeleted: true }),
    await Promise.all(ids.map((id) => storage.reader.get(list, id))),
    await Promise.all(pages.map((query) => storage.reader.listAll(list, query))),
    await Promise.all(pages.map((query) => storage.reader.listText(list, query))),
  ]);
  const ofObjects = objectIds.map(async (objectId) => [
    await permission.reader.getObjectPermissions(objectId),
    await permission.reader.checkPermission(['bob'], [{ objectId, permission: 'write' }], 'bob'),
    await permission.reader.checkPermission([], [{ objectId, permission: 'read' }], 'alice'),
    await permission.reader.checkPermission(['alice', 'zoe'], [{ objectId, permission: '__proto__' }]),
  ]);
  const ofUsers = users.map((user) => permission.reader.getUserPrincipals(user));
  return [await Promise.all(ofLists), await Promise.all(ofObjects), await Promise.all(ofUsers)];
}

/** The targets of a write; each kind of write uses those that it needs. */
interface About {
  readonly list: ListKey;
  readonly id: string;
  readonly query: PageQuery;
  readonly objectId: string;
  readonly permission: string;
  readonly user: string;
  readonly principal: string;
  /** Another one each time. */
  readonly n: number;
}

type WriteAbout = (about: About, storage: StorageWriter, permission: PermissionWriter) => Promise<unknown>;

const kinds: readonly WriteAbout[] = [
  ({ list, id, n }, storage) => storage.update(list, id, `{"n":${n}}`),
  ({ list, id, n }, storage) => storage.update(list, id, '{"old":1}', 1000 + (n % 500)),
  ({ list, id }, storage) => storage.delete(list, id),
  ({ list, id }, storage) => storage.delete(list, id, { keepTombstone: false }),
  ({ list, n }, storage) => storage.create(list, `new${n}`, '{}', undefined, { isFresh: true }),
  ({ list, n }, storage) => storage.createAll(list, [{ id: `many${n}`, text: '{"a":[]}' }]),
  ({ list, id }, storage) => storage.lock(list, id),
  ({ list }, storage) => storage.touch(list),
  ({ list, query }, storage) => storage.deleteAll(list, query),
  ({ list }, storage) => storage.deleteChildren(list.parent),
  (_, storage) => storage.deleteChildren('/buckets/b'),
  ({ list: { kind, parent } }, storage) => storage.purgeDeleted({ kind, parent }),
  ({ list }, storage) => storage.trimObjects(list, { filters: [] }, 1),
  async ({ list, id }, storage) => {
    const taken = (await storage.listAll(list, pages[0]!)).entries[0]?.lastModified ?? 77;
    const entries = [new StoredObject(id, taken, '{"r":1}')];
    await storage.restore(list, { clock: 5000, entries, gone: ids.filter((other) => other !== id) });
  },
  (_, storage) => storage.flush(),
  ({ user, principal }, _, permissions) => permissions.addUserPrincipal(user, principal),
  ({ user, principal }, _, permissions) => permissions.removeUserPrincipal(user, principal),
  ({ principal }, _, permissions) => permissions.removePrincipal(principal),
  (_, __, permissions) => permissions.removePrincipalsBelow('/buckets/b/groups/'),
  ({ objectId, permission, principal }, _, permissions) =>
    permissions.addPrincipalToAce(objectId, permission, principal),
  ({ objectId, permission, principal }, _, permissions) =>
    permissions.removePrincipalFromAce(objectId, permission, principal),
  ({ principal }, _, permissions) => permissions.removePrincipalFromAces(principal),
  ({ objectId, principal }, _, permissions) =>
    permissions.addToAces([{ objectId, permissions: { read: [principal] } }]),
  ({ objectId, principal }, _, permissions) =>
    permissions.replaceObjectPermissions(objectId, { write: [principal], read: [] }),
  ({ objectId }, _, permissions) => permissions.deleteObjectPermissions([objectId]),
  ({ objectId }, _, permissions) => permissions.deletePermissionsBelow(objectId),
  (_, __, permissions) => permissions.flush(),
];

let count = 0;
const anyAbout: fc.Arbitrary<About> = fc.record({
  list: fc.constantFrom(...lists),
  id: fc.constantFrom(...ids),
  query: fc.constantFrom(...pages),
  objectId: fc.constantFrom(...objectIds),
  permission: fc.constantFrom('read', 'write', '__proto__'),
  user: fc.constantFrom(...users),
  principal: fc.constantFrom(...principals),
  n: fc.constant(undefined).map(() => count++),
});

export type Write = (storage: StorageWriter, permission: PermissionWriter) => Promise<unknown>;

/** One of each kind of write, with any targets. */
export const kindsOfWrites: readonly fc.Arbitrary<Write>[] = kinds.map((kind) =>
  anyAbout.map(
    (about): Write =>
      (storage, permission) =>
        kind(about, storage, permission),
  ),
);

/** A write of any kind. */
export const anyWrite: fc.Arbitrary<Write> = fc.oneof(...kindsOfWrites);

/** Some data of every kind, for any write to change. */
export async function fill(database: TestDatabase): Promise<void> {
  await database.unit(async (storage, permission) => {
    await storage.flush();
    await permission.flush();
    for (const l of lists) {
      for (const i of [...ids, 'gone']) await storage.create(l, i, '{}');
      await storage.delete(l, 'gone');
    }
    for (const o of objectIds) await permission.replaceObjectPermissions(o, { write: principals, read: ['bob'] });
    for (const u of users) for (const p of principals) await permission.addUserPrincipal(u, p);
  });
}
