// Reads of users with very many groups or shared objects: no request to the server, and no turn of the event loop, handles
// all of them.
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { openRedisDatabase, type RedisDatabase } from '../../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../../src/backends/redis/permission.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { PermissionBackend, PermissionWriter } from '../../../src/contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../../src/core/objects/uris.ts';
import { storedUserId, toPrincipal, type Principal } from '../../../src/core/permissions/principals.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { RedisProcess } from '../../support/redis.ts';

const many = 3500;
const user = storedUserId('account:user');
const self = toPrincipal('account:user');
const groups = Array.from({ length: many }, (_, n) => toPrincipal(`/buckets/b/groups/g${n}`));
const collection = storedUri('/buckets/b/collections/c');
const last = groups.at(-1)!;

let server: RedisProcess;
let outside: Redis;
let database: RedisDatabase;
let permission: PermissionBackend;

beforeAll(async () => {
  server = await RedisProcess.start();
  outside = new Redis(server.url);
  database = await openRedisDatabase({ address: findRedisAddress(server.url)!, clock: systemClock, prefix: 'test:' });
  permission = createRedisPermission(database);
}, 120_000);

afterAll(async () => {
  outside.disconnect();
  await database.close();
  await server.remove();
});

beforeEach(async () => {
  await outside.flushall();
});

async function write(work: (writer: PermissionWriter) => Promise<unknown>): Promise<void> {
  await inUnit(database, (transaction) => work(permission.writer(transaction)));
}

async function joinGroups(writer: PermissionWriter): Promise<void> {
  for (const group of groups) await writer.addUserPrincipal(self, group);
}

/** Returns the number of executions of a command during the work. */
async function countCalls(command: string, work: () => Promise<unknown>): Promise<number> {
  await outside.config('RESETSTAT');
  await work();
  const stats = await outside.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

const records = (principal: Principal): Promise<ReadonlyMap<ObjectUri, ReadonlySet<string>>> =>
  permission.reader.getAccessibleObjects([principal], {
    bound: [{ pattern: `${collection}/records/*`, permission: 'write' }],
    withChildren: false,
    memberOf: user,
  });

describe('the search for shared objects', () => {
  it('reads very many objects in several requests', async () => {
    const ids = Array.from({ length: many }, (_, n) => storedUri(`${collection}/records/r${n}`));
    await write((writer) => writer.addToAces(ids.map((objectId) => ({ objectId, permissions: { write: [self] } }))));
    const found = new Set<ObjectUri>();
    const search = async (): Promise<void> => {
      for (const id of (await records(self)).keys()) found.add(id);
    };
    expect(await countCalls('zrangebylex', search)).toBe(4);
    expect(found).toEqual(new Set(ids));
    expect(await countCalls('hmget', search)).toBe(4);
  });

  it('sends few requests at once for a user in very many groups', async () => {
    const record = storedUri(`${collection}/records/r`);
    await write(async (writer) => {
      await joinGroups(writer);
      await writer.addPrincipalToAce(record, 'write', last);
    });
    const progress = { isOver: false };
    const searching = records(self).finally(() => (progress.isOver = true));
    let waiting = 0;
    while (!progress.isOver) {
      waiting = Math.max(waiting, database.poolState().waiting);
      await setImmediate();
    }
    expect([...(await searching).keys()]).toEqual([record]);
    expect(waiting).toBeLessThan(250);
  });
});

describe('a permission check of a user in very many groups', () => {
  const check = (reader: Pick<PermissionBackend['reader'], 'checkPermission'>, permitted: string): Promise<boolean> =>
    reader.checkPermission([self], [{ objectId: collection, permission: permitted }], user);

  it('reads only the groups that the entries name', async () => {
    await write(async (writer) => {
      await joinGroups(writer);
      await writer.addPrincipalToAce(collection, 'read', last);
      await writer.addPrincipalToAce(collection, 'write', toPrincipal('/buckets/b/groups/other'));
    });
    expect(await check(permission.reader, 'read')).toBe(true);
    expect(await check(permission.reader, 'write')).toBe(false);
    // The set of all users is small, and is read as a whole.
    expect(await countCalls('smembers', () => check(permission.reader, 'read'))).toBe(1);
  });

  it('sees the changes of its unit of work', async () => {
    await write(joinGroups);
    await write(async (writer) => {
      expect(await check(writer, 'read')).toBe(false);
      await writer.addPrincipalToAce(collection, 'read', last);
      expect(await check(writer, 'read')).toBe(true);
      await writer.removeUserPrincipal(self, last);
      expect(await check(writer, 'read')).toBe(false);
    });
  });
});
