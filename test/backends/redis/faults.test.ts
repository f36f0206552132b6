// The server disappears, stops responding, is full, or becomes a replica: every call ends in bounded time with
// BackendUnavailable, nothing is half done, and the same objects work again when the server does.
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openRedisCache } from '../../../src/backends/redis/cache.ts';
import { openRedisDatabase, type RedisDatabase } from '../../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../../src/backends/redis/permission.ts';
import { createRedisStorage } from '../../../src/backends/redis/storage.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { findRedisAddress } from '../../../src/backends/redis/address.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { storedUserId } from '../../../src/core/permissions/principals.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { startTestService } from '../../../src/testing/index.ts';
import { databaseSettings } from '../../support/backends.ts';
import { openInspector, RedisProcess } from '../../support/redis.ts';
import type { ListKey, StorageBackend } from '../../../src/testing/contract/plain-contracts.ts';

const list: ListKey = { kind: 'record', parent: '/buckets/b/collections/c' };

let server: RedisProcess;
let database: RedisDatabase;
let storage: StorageBackend;

beforeEach(async () => {
  server = await RedisProcess.start(['--appendonly', 'yes', '--appendfsync', 'always']);
  database = await openRedisDatabase({ address: address(), clock: systemClock, timeoutSeconds: 1 });
  await database.initializeSchema({ dryRun: false });
  storage = createRedisStorage(database);
});

afterEach(async () => {
  await server.remove();
  await database.close();
});

function address(): NonNullable<ReturnType<typeof findRedisAddress>> {
  return findRedisAddress(server.url)!;
}

function create(id: string, text = '{}'): Promise<unknown> {
  return inUnit(database, (transaction) => storage.writer(transaction).create(list, id, text));
}

async function ids(): Promise<readonly string[]> {
  const sort = [{ field: { name: 'id', path: ['id'] }, direction: 'ascending' as const }];
  return (await storage.reader.listAll(list, { filters: [], sort, limit: 1000 })).entries.map(({ id }) => id);
}

/** Resolves once the backend responds again. */
async function healed(): Promise<void> {
  for (;;) {
    try {
      await storage.reader.get(list, 'x');
      return;
    } catch (error) {
      expect(error).toBeInstanceOf(BackendUnavailable);
    }
  }
}

/** Runs an inspector's commands on the server. */
async function outside(...commands: readonly (readonly string[])[]): Promise<void> {
  const redis = openInspector(server.url);
  for (const [name = '', ...args] of commands) await redis.call(name, args);
  redis.disconnect();
}

describe('a server that is gone', () => {
  it('fails reads, writes and lookups soon, and all of them work after it is back.', async () => {
    const permission = createRedisPermission(database);
    await create('a');
    await server.kill();
    await expect(storage.reader.get(list, 'a')).rejects.toBeInstanceOf(BackendUnavailable);
    await expect(create('b')).rejects.toBeInstanceOf(BackendUnavailable);
    await expect(permission.reader.getUserPrincipals(storedUserId('zoe'))).rejects.toBeInstanceOf(BackendUnavailable);
    await server.start();
    await healed();
    await create('c');
    expect(await ids()).toEqual(['a', 'c']);
  });

  it('fails the opening of a backend.', async () => {
    await server.kill();
    const opening = openRedisDatabase({ address: address(), clock: systemClock, timeoutSeconds: 1 });
    await expect(opening).rejects.toBeInstanceOf(BackendUnavailable);
    const cache = openRedisCache({ address: address(), clock: systemClock, timeoutSeconds: 1 });
    await expect(cache).rejects.toBeInstanceOf(BackendUnavailable);
  });

  it('keeps every write that was answered.', async () => {
    const answered: string[] = [];
    const writing = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; ; n++) {
        await create(`w${writer}-${n}`);
        answered.push(`w${writer}-${n}`);
        if (answered.length === 200) void server.kill();
      }
    });
    const outcomes = await Promise.allSettled(writing);
    for (const outcome of outcomes) {
      expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(BackendUnavailable);
    }
    await server.kill();
    await server.start();
    await healed();
    const stored = new Set(await ids());
    expect(answered.filter((id) => !stored.has(id))).toEqual([]);
    await create('after');
  });

  it('fails the units that are under way, and the next ones get their lists.', async () => {
    const transaction = await database.begin();
    const writer = storage.writer(transaction);
    await writer.lock(list, 'x');
    await server.kill();
    await server.start();
    await healed();
    await writer.create(list, 'x', '{}');
    await transaction.commit();
    expect(await ids()).toEqual(['x']);
  });
});

describe('a server that does not answer', () => {
  it('fails every call within the timeout and releases every list.', async () => {
    await create('a');
    await server.pause();
    const outcomes = await Promise.allSettled([storage.reader.get(list, 'a'), create('b'), create('c')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(outcomes[1]).toMatchObject({ reason: { isUndone: false } });
    for (const outcome of outcomes) {
      expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(BackendUnavailable);
    }
    server.resume();
    await healed();
    await create('d');
    expect(await ids()).toContain('d');
  });

  it('does not delay writers to one list one after another.', async () => {
    await create('a');
    await server.pause();
    // One timeout for the list and one for the command, for all of them. One after another they would take longer than the
    // test may.
    const outcomes = await Promise.allSettled(Array.from({ length: 24 }, (_, n) => create(`w${n}`)));
    for (const outcome of outcomes) {
      expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(BackendUnavailable);
    }
    server.resume();
    await healed();
    await Promise.all(Array.from({ length: 12 }, (_, n) => create(`after${n}`)));
  });
});

describe('a server that refuses', () => {
  it('writes nothing of a unit when its memory is full.', async () => {
    await create('a', '{"n":1}');
    await outside(['CONFIG', 'SET', 'maxmemory', '1']);
    const refused = inUnit(database, async (transaction) => {
      const writer = storage.writer(transaction);
      await writer.delete(list, 'a');
      await writer.create(list, 'b', '{}');
    });
    await expect(refused).rejects.toThrow('memory limit');
    await expect(refused).rejects.toMatchObject({ isUndone: true });
    expect(await ids()).toEqual(['a']);
    await outside(['CONFIG', 'SET', 'maxmemory', '0']);
    await create('c');
    expect(await ids()).toEqual(['a', 'c']);
  });

  it('writes nothing while it is a replica.', async () => {
    await create('a');
    await outside(['REPLICAOF', '127.0.0.1', '1']);
    const refused = create('b');
    await expect(refused).rejects.toBeInstanceOf(BackendUnavailable);
    await expect(refused).rejects.toMatchObject({ isUndone: true });
    await outside(['REPLICAOF', 'NO', 'ONE']);
    await healed();
    await create('c');
    expect(await ids()).toEqual(['a', 'c']);
  });

  it('works after it has lost its scripts.', async () => {
    await create('a');
    await outside(['SCRIPT', 'FLUSH']);
    await create('b');
    expect(await ids()).toEqual(['a', 'b']);
  });

  it('is refused when it may evict data.', async () => {
    await outside(['CONFIG', 'SET', 'maxmemory', '100mb'], ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru']);
    await expect(database.initializeSchema({ dryRun: false })).rejects.toThrow('noeviction');
  });

  it('makes the heartbeat fail when it may evict data since its policy was changed.', async () => {
    const service = await startTestService({ settings: databaseSettings('redis', server.url) });
    onTestFinished(() => service.close());
    expect((await service.request('GET', '/v1/__heartbeat__')).status).toBe(200);
    await outside(['CONFIG', 'SET', 'maxmemory', '100mb'], ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru']);
    const { status, body } = await service.request('GET', '/v1/__heartbeat__');
    expect([status, body]).toEqual([503, { storage: false, permission: false, cache: true }]);
  });

  it.each(['texts', 'timestamps', 'state'])(
    'reports a list whose %s were evicted as lost, and not as shorter.',
    async (part) => {
      await create('a');
      const [state, texts, timestamps] = database.keys.list({ ...list, parent: storedParent(list.parent) });
      await outside(['DEL', { state, texts, timestamps }[part]!]);
      const isLost = { isLasting: true, reason: 'the server has lost a part of the data' };
      for (const read of [
        () => ids(),
        () => storage.reader.get(list, 'a'),
        () => storage.reader.countAll(list, { filters: [] }),
        () => create('b'),
      ]) {
        await expect(read()).rejects.toMatchObject(isLost);
      }
    },
  );

  it('is refused when a newer version has written it.', async () => {
    await outside(['HSET', '{coffer:~0}schema', 'layout', '99']);
    await expect(database.initializeSchema({ dryRun: true })).rejects.toThrow('newer version');
  });
});
