// Cases about copies: walking over all access-control entries and all memberships.
import assert from 'node:assert/strict';
import type { PermissionReader } from '../../contracts/permission.ts';
import type { PermissionCase } from '../contract-case.ts';
import { permissionCase } from '../permission-probe.ts';

/** All objects in pages of a size, in the order of their ids, with sorted principals. */
async function allEntries(reader: PermissionReader, limit: number): Promise<readonly unknown[]> {
  const seen: [string, unknown][] = [];
  for (let after: string | undefined; ; after = seen.at(-1)![0]) {
    const page = await reader.entries(after, limit);
    assert.ok(page.length <= limit);
    for (const { objectId, permissions } of page) {
      const sorted = Object.entries(permissions).map(([name, principals]) => [name, principals.toSorted()] as const);
      seen.push([objectId, Object.fromEntries(sorted)]);
    }
    if (page.length < limit) return seen.toSorted(byFirst);
  }
}

/** All users in pages of a size, in the order of their ids, with sorted principals. */
async function allMemberships(reader: PermissionReader, limit: number): Promise<readonly unknown[]> {
  const seen: [string, readonly string[]][] = [];
  for (let after: string | undefined; ; after = seen.at(-1)![0]) {
    const page = await reader.memberships(after, limit);
    assert.ok(page.length <= limit);
    for (const { userId, principals } of page) seen.push([userId, principals.toSorted()]);
    if (page.length < limit) return seen.toSorted(byFirst);
  }
}

function byFirst([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Every size that matters when there are this many. */
function sizes(count: number): readonly number[] {
  return [1, 2, 3, count - 1, count, count + 1].filter((size) => size > 0);
}

const ids = ['', '/', '/a', '/a/', '/a/b', '/a/b/c', '/b', '/é', '/\uFFFD', '/\u{1F600}', '__proto__', 'a%', 'a_'];

/** Pages over everything. */
export const pagingCases: readonly PermissionCase[] = [
  permissionCase('an empty store has neither entries nor memberships', async ({ reader }) => {
    assert.deepEqual(await reader.entries(undefined, 5), []);
    assert.deepEqual(await reader.memberships(undefined, 5), []);
  }),
  permissionCase('pages of any size visit each object with entries once', async ({ write, reader }) => {
    await write(async (writer) => {
      for (const id of ids) await writer.replaceObjectPermissions(id, { read: ['zoe', 'tom'], [id]: [id] });
    });
    const expected = ids.map((id) => [id, { read: ['tom', 'zoe'], [id]: [id] }] as [string, unknown]).toSorted(byFirst);
    for (const size of sizes(ids.length)) assert.deepEqual(await allEntries(reader, size), expected);
  }),
  permissionCase('objects without entries are no part of the pages', async ({ write, reader }) => {
    await write(async (writer) => {
      for (const id of ['/a/1', '/b/1', '/c/1', '/c/2', '/d/1', '/e/e/1']) {
        await writer.addPrincipalToAce(id, 'read', 'zoe');
      }
      await writer.removePrincipalFromAce('/a/1', 'read', 'zoe');
      await writer.deleteObjectPermissions(['/b/1', '/c/1']);
      await writer.deletePermissionsBelow('/e');
    });
    const expected = ['/c/2', '/d/1'].map((id) => [id, { read: ['zoe'] }]);
    for (const size of [1, 2, 3]) assert.deepEqual(await allEntries(reader, size), expected);
  }),
  permissionCase('a page of objects goes on after one that has lost its entries', async ({ write, reader }) => {
    await write(async (writer) => {
      for (const id of ['/a/1', '/a/2', '/b/1', '/b/2']) await writer.addPrincipalToAce(id, 'read', 'zoe');
    });
    const [first, second] = await reader.entries(undefined, 2);
    await write((writer) => writer.deleteObjectPermissions([first!.objectId, second!.objectId]));
    assert.deepEqual(await reader.entries(second!.objectId, 5), await reader.entries(undefined, 5));
    assert.equal((await reader.entries(undefined, 5)).length, 2);
  }),
  permissionCase('pages of any size visit each user once, with long ids whole', async ({ write, reader }) => {
    const long = ['x'.repeat(3000), `${'x'.repeat(2999)}y`];
    const users = [...ids.filter((id) => id !== ''), 'system.Authenticated', ...long];
    await write(async (writer) => {
      for (const user of users) {
        await writer.addUserPrincipal(user, '/buckets/a/groups/b');
        await writer.addUserPrincipal(user, 'c');
      }
      await writer.addUserPrincipal('gone', 'd');
      await writer.removeUserPrincipal('gone', 'd');
    });
    const expected = users.map((user) => [user, ['/buckets/a/groups/b', 'c']] as [string, unknown]).toSorted(byFirst);
    for (const size of sizes(users.length)) assert.deepEqual(await allMemberships(reader, size), expected);
  }),
  permissionCase('a unit of work sees its own writes in the pages', async ({ write }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
      await writer.addUserPrincipal('zoe', 'g');
      assert.deepEqual(await writer.entries(undefined, 5), [{ objectId: '/a', permissions: { read: ['zoe'] } }]);
      assert.deepEqual(await writer.memberships(undefined, 5), [{ userId: 'zoe', principals: ['g'] }]);
    });
  }),
];
