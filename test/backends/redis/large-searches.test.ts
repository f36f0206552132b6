// Reads of users with very many groups or shared objects: no request to the server, and no turn of the event loop, handles
// all of them.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RedisPermissionTest } from '../../support/redis-permission.ts';
import type { PermissionBackend, PermissionWriter } from '../../../src/testing/contract/plain-contracts.ts';

const many = 3500;
const user = 'account:user';
const groups = Array.from({ length: many }, (_, n) => `/buckets/b/groups/g${n}`);
const collection = '/buckets/b/collections/c';
const last = groups.at(-1)!;

const redis = new RedisPermissionTest('test:');

async function joinGroups(writer: PermissionWriter): Promise<void> {
  for (const group of groups) await writer.addUserPrincipal(user, group);
}

const records = (principal: string): Promise<ReadonlyMap<string, ReadonlySet<string>>> =>
  redis.permission.reader.getAccessibleObjects([principal], {
    bound: [{ pattern: `${collection}/records/*`, permission: 'write' }],
    withChildren: false,
    memberOf: user,
  });

describe('the search for shared objects', () => {
  it('reads very many objects in several requests', async () => {
    const ids = Array.from({ length: many }, (_, n) => `${collection}/records/r${n}`);
    await redis.write((writer) =>
      writer.addToAces(ids.map((objectId) => ({ objectId, permissions: { write: [user] } }))),
    );
    const found = new Set<string>();
    const search = async (): Promise<void> => {
      for (const id of (await records(user)).keys()) found.add(id);
    };
    expect(await redis.countCalls(['zrangebylex'], search)).toEqual([4]);
    expect(found).toEqual(new Set(ids));
    expect(await redis.countCalls(['hmget'], search)).toEqual([4]);
  });

  it('sends few requests at once for a user in very many groups', async () => {
    const record = `${collection}/records/r`;
    await redis.write(async (writer) => {
      await joinGroups(writer);
      await writer.addPrincipalToAce(record, 'write', last);
    });
    const progress = { isOver: false };
    const searching = records(user).finally(() => (progress.isOver = true));
    let waiting = 0;
    while (!progress.isOver) {
      waiting = Math.max(waiting, redis.database.poolState().waiting);
      await setImmediate();
    }
    expect([...(await searching).keys()]).toEqual([record]);
    expect(waiting).toBeLessThan(250);
  });
});

describe('a permission check of a user in very many groups', () => {
  const check = (reader: Pick<PermissionBackend['reader'], 'checkPermission'>, permitted: string): Promise<boolean> =>
    reader.checkPermission([user], [{ objectId: collection, permission: permitted }], user);

  it('reads only the groups that the entries name', async () => {
    await redis.write(async (writer) => {
      await joinGroups(writer);
      await writer.addPrincipalToAce(collection, 'read', last);
      await writer.addPrincipalToAce(collection, 'write', '/buckets/b/groups/other');
    });
    expect(await check(redis.permission.reader, 'read')).toBe(true);
    expect(await check(redis.permission.reader, 'write')).toBe(false);
    // The set of all users is small, and is read as a whole.
    expect(await redis.countCalls(['smembers'], () => check(redis.permission.reader, 'read'))).toEqual([1]);
  });

  it('sees the changes of its unit of work', async () => {
    await redis.write(joinGroups);
    await redis.write(async (writer) => {
      expect(await check(writer, 'read')).toBe(false);
      await writer.addPrincipalToAce(collection, 'read', last);
      expect(await check(writer, 'read')).toBe(true);
      await writer.removeUserPrincipal(user, last);
      expect(await check(writer, 'read')).toBe(false);
    });
  });
});
