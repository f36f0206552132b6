// Walks over all permissions: pages stay small with any size of a parent or a group, and empty registrations are skipped.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRedisDatabase, type RedisDatabase } from '../../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../../src/backends/redis/permission.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { WalkPage } from '../../../src/contracts/permission.ts';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { openTestServer } from '../../support/redis.ts';
import type { PermissionBackend, PermissionWriter } from '../../../src/testing/contract/plain-contracts.ts';

let server: Awaited<ReturnType<typeof openTestServer>>;
let database: RedisDatabase;
let permission: PermissionBackend;

beforeAll(async () => {
  server = await openTestServer();
  const prefix = `test-${randomUUID()}:`;
  database = await openRedisDatabase({ address: findRedisAddress(server.url)!, clock: systemClock, prefix });
  permission = createRedisPermission(database);
}, 120_000);

afterAll(async () => {
  await database.close();
  await server.close();
});

async function write(work: (writer: PermissionWriter) => Promise<unknown>): Promise<void> {
  await inUnit(database, (transaction) => work(permission.writer(transaction)));
}

async function pages<T>(read: (from: string | undefined) => Promise<WalkPage<T>>): Promise<readonly (readonly T[])[]> {
  const seen: (readonly T[])[] = [];
  let from: string | undefined;
  do {
    const { found, next } = await read(from);
    seen.push(found);
    from = next;
  } while (from !== undefined);
  return seen;
}

it('a walk reads large parents and groups in parts, and small ones together.', async () => {
  const many = Array.from({ length: 6000 }, (_, n) => `n${n}`);
  await write(async (writer) => {
    for (const name of many) {
      await writer.addPrincipalToAce(`/buckets/large/collections/${name}`, 'read', 'zoe');
      await writer.addUserPrincipal(name, '/buckets/large/groups/g');
      if (name.endsWith('7')) await writer.addUserPrincipal(name, '/buckets/a/groups/h');
    }
    for (let n = 0; n < 300; n++) await writer.addPrincipalToAce(`/buckets/small${n}/groups/g`, 'read', 'tom');
    // Registered, and empty again.
    for (let n = 0; n < 300; n++) await writer.addPrincipalToAce(`/buckets/gone${n}/groups/g`, 'read', 'tom');
    for (let n = 0; n < 300; n++) await writer.deleteObjectPermissions([`/buckets/gone${n}/groups/g`]);
    await writer.addUserPrincipal('gone', '/buckets/gone/groups/g');
    await writer.removeUserPrincipal('gone', '/buckets/gone/groups/g');
  });
  const objects = await pages((from) => permission.reader.entries(from, 500));
  const ids = objects.flat().map(({ objectId }) => objectId);
  expect(ids).toHaveLength(6300);
  expect(new Set(ids).size).toBe(6300);
  // A cursor returns whole chains of a hash, so slightly more than requested.
  expect(Math.max(...objects.map((page) => page.length))).toBeLessThan(700);
  expect(objects.length).toBeLessThan(60);

  const members = await pages((from) => permission.reader.memberships(from, 500));
  const users = members.flat().map(({ userId }) => userId);
  expect(users.toSorted()).toEqual(many.toSorted());
  expect(
    members
      .flat()
      .find(({ userId }) => userId === 'n7')
      ?.principals.toSorted(),
  ).toEqual(['/buckets/a/groups/h', '/buckets/large/groups/g']);
  expect(Math.max(...members.map((page) => page.length))).toBeLessThan(700);
});
