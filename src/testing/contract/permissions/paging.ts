// Cases about copies: walks over all permission entries and all memberships.
import assert from 'node:assert/strict';
import type { WalkPage } from '../../../contracts/permission.ts';
import type { PermissionCase } from '../contract-case.ts';
import { permissionCase } from './permission-probe.ts';
import type { PermissionReader } from '../plain-contracts.ts';

/** Returns everything that a walk visits in pages of a size. */
async function walk<T>(read: (from: string | undefined) => Promise<WalkPage<T>>): Promise<readonly T[]> {
  const seen: T[] = [];
  for (let from: string | undefined; ;) {
    const { found, next } = await read(from);
    seen.push(...found);
    if (next === undefined) return seen;
    assert.notEqual(next, from);
    from = next;
  }
}

/** All objects in the order of their ids, with sorted principals. */
async function allEntries(reader: PermissionReader, limit: number): Promise<readonly unknown[]> {
  const seen = await walk((from) => reader.entries(from, limit));
  const plain = seen.map(({ objectId, permissions }) => {
    const sorted = Object.entries(permissions).map(([name, principals]) => [name, principals.toSorted()] as const);
    return [objectId, Object.fromEntries(sorted)] as const;
  });
  return plain.toSorted(byFirst);
}

/** All users in the order of their ids, with sorted principals. */
async function allMemberships(reader: PermissionReader, limit: number): Promise<readonly unknown[]> {
  const seen = await walk((from) => reader.memberships(from, limit));
  return seen.map(({ userId, principals }) => [userId, principals.toSorted()] as const).toSorted(byFirst);
}

function byFirst([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns every relevant page size for this number of items. */
function sizes(count: number): readonly number[] {
  return [1, 2, 3, count - 1, count, count + 1].filter((size) => size > 0);
}

const ids = ['', '/', '/a', '/a/', '/a/b', '/a/b/c', '/b', '/é', '/\uFFFD', '/\u{1F600}', '__proto__', 'a%', 'a_'];

/** Pages over everything. */
export const pagingCases: readonly PermissionCase[] = [
  permissionCase('an empty store has neither entries nor memberships', async ({ reader }) => {
    assert.deepEqual(await allEntries(reader, 5), []);
    assert.deepEqual(await allMemberships(reader, 5), []);
  }),
  permissionCase('pages of any size visit each object with entries once', async ({ write, reader }) => {
    await write(async (writer) => {
      for (const id of ids) await writer.replaceObjectPermissions(id, { read: ['zoe', 'tom'], [id]: [id] });
    });
    const expected = ids.map((id) => [id, { read: ['tom', 'zoe'], [id]: [id] }] as [string, unknown]).toSorted(byFirst);
    for (const size of sizes(ids.length)) assert.deepEqual(await allEntries(reader, size), expected);
  }),
  permissionCase('pages contain no objects without entries', async ({ write, reader }) => {
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
  permissionCase('a page of objects continues after one that has lost its entries', async ({ write, reader }) => {
    await write(async (writer) => {
      for (const id of ['/a/1', '/a/2', '/b/1', '/b/2']) await writer.addPrincipalToAce(id, 'read', 'zoe');
    });
    const { found, next } = await reader.entries(undefined, 2);
    await write((writer) => writer.deleteObjectPermissions(found.map(({ objectId }) => objectId)));
    const left = await walk((from) => reader.entries(from ?? next, 2));
    assert.deepEqual(left, await walk((from) => reader.entries(from, 2)));
    assert.equal(found.length + left.length, 4);
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
      for (const id of ['/a', '/b', '/c']) await writer.addPrincipalToAce(id, 'read', 'zoe');
      for (const user of ['tom', 'zoe']) await writer.addUserPrincipal(user, 'g');
    });
    await write(async (writer) => {
      await writer.addPrincipalToAce('/b', 'write', 'tom');
      await writer.deleteObjectPermissions(['/c']);
      await writer.addPrincipalToAce('/d', 'read', 'zoe');
      await writer.addUserPrincipal('ann', 'h');
      await writer.addUserPrincipal('zoe', 'h');
      await writer.removeUserPrincipal('tom', 'g');
      for (const size of [1, 2, 5]) {
        assert.deepEqual(await allEntries(writer, size), [
          ['/a', { read: ['zoe'] }],
          ['/b', { read: ['zoe'], write: ['tom'] }],
          ['/d', { read: ['zoe'] }],
        ]);
        assert.deepEqual(await allMemberships(writer, size), [
          ['ann', ['h']],
          ['zoe', ['g', 'h']],
        ]);
      }
    });
  }),
  permissionCase('a walk visits many objects of one parent, and many users of one group', async ({ write, reader }) => {
    const names = Array.from({ length: 1500 }, (_, n) => `n${n}`);
    await write(async (writer) => {
      for (const name of names) {
        await writer.addPrincipalToAce(`/a/b/c/${name}`, 'read', 'zoe');
        await writer.addUserPrincipal(name, 'g');
      }
    });
    const expected = names.toSorted();
    const entries = await walk((from) => reader.entries(from, 400));
    assert.deepEqual(entries.map(({ objectId }) => objectId.slice('/a/b/c/'.length)).toSorted(), expected);
    const users = await walk((from) => reader.memberships(from, 400));
    assert.deepEqual(users.map(({ userId }) => userId).toSorted(), expected);
  }),
];
