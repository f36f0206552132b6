// Readers in parallel to writers: the result of a check or a read fits one moment between its start and its end. Each write
// creates a numbered state from which all results about the object follow, so a result identifies its states.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { openRedisDatabase } from '../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../src/backends/redis/permission.ts';
import { openSqliteDatabase } from '../../src/backends/sqlite/database.ts';
import { createSqlitePermission } from '../../src/backends/sqlite/permission.ts';
import { systemClock } from '../../src/base/clock.ts';
import { TransactionConflict } from '../../src/contracts/errors.ts';
import { findRedisAddress } from '../../src/backends/redis/address.ts';
import { inUnit } from '../../src/testing/contract/unit-of-work.ts';
import { inExtent } from '../support/extent.ts';
import { migrateDatabase } from '../support/postgresql-setup.ts';
import { createDatabase, openPostgres } from '../support/postgresql.ts';
import { RedisCluster } from '../support/redis-cluster.ts';
import { openTestServer } from '../support/redis.ts';
import type { Database, PermissionBackend, PermissionWriter } from '../../src/testing/contract/plain-contracts.ts';

interface Opened {
  readonly database: Database;
  readonly permission: PermissionBackend;
}

/** One store, opened twice where processes may share it: once for the writer, once for the readers. */
type Open = () => Promise<readonly [writer: Opened, reader: Opened]>;

async function openOnRedis(url: string): Promise<readonly [Opened, Opened]> {
  const prefix = `concurrent-${process.pid}:`;
  const open = async (): Promise<Opened> => {
    const database = await openRedisDatabase({ address: findRedisAddress(url)!, clock: systemClock, prefix });
    return { database, permission: createRedisPermission(database) };
  };
  return [await open(), await open()];
}

const backends: Readonly<Record<string, Open>> = {
  memory: async () => {
    const database = createMemoryDatabase({ clock: systemClock });
    const opened = { database, permission: createMemoryPermission(database) };
    return [opened, opened];
  },
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const database = openSqliteDatabase({ path: join(folder, 'x.sqlite3'), clock: systemClock, synchronous: 'OFF' });
    await database.initializeSchema({ dryRun: false });
    const opened = { database, permission: createSqlitePermission(database) };
    return [opened, opened];
  },
  postgresql: async () => {
    const url = await createDatabase();
    await migrateDatabase(url);
    return [openPostgres(systemClock, { url }), openPostgres(systemClock, { url })];
  },
  redis: async () => {
    const server = await openTestServer();
    onTestFinished(() => server.close());
    return openOnRedis(server.url);
  },
  'a redis cluster': async () => {
    const cluster = await RedisCluster.start();
    onTestFinished(() => cluster.remove());
    return openOnRedis(cluster.url);
  },
};

const bucket = '/buckets/a';
const collection = `${bucket}/collections/c`;
const record = `${collection}/records/r`;
const lengths = [0, 1, 3, 200, 2500, 5000];
/** Interval of states with a long entry. The states between follow each other faster. */
const longEvery = 8;
/** At least two rounds of all lengths. */
const rounds = inExtent<number>(2, 6) * longEvery * lengths.length;

/** All principals of a state contain its number. */
function principalsOf(state: number): readonly string[] {
  const length = state % longEvery === 0 ? lengths[(state / longEvery) % lengths.length]! : state % 4;
  return Array.from({ length }, (_, n) => `s${state}-${n}`);
}

/** The permission moves from the bucket to the record and back, and is never absent between two units. */
async function writeState(writer: PermissionWriter, state: number): Promise<void> {
  const [from, to] = state % 2 === 0 ? [record, bucket] : [bucket, record];
  await writer.addPrincipalToAce(to, 'write', 'ann');
  await writer.removePrincipalFromAce(from, 'write', 'ann');
  await writer.replaceObjectPermissions(collection, { read: [...principalsOf(state), `state-${state}`] });
  // Each state has a group: zoe is always in one of the two that have the permission.
  await writer.addUserPrincipal('zoe', `${bucket}/groups/g${state % 2}`);
  await writer.removeUserPrincipal('zoe', `${bucket}/groups/g${(state + 1) % 2}`);
  await writer.replaceObjectPermissions(bucket, { read: [`${bucket}/groups/g${state % 2}`] });
}

async function write({ database, permission }: Opened, state: number): Promise<void> {
  for (;;) {
    try {
      return await inUnit(database, (transaction) => writeState(permission.writer(transaction), state));
    } catch (error) {
      if (!(error instanceof TransactionConflict)) throw error;
    }
  }
}

// A cluster starts in many seconds, so only the complete run has one.
const names = inExtent(
  Object.keys(backends).filter((name) => name !== 'a redis cluster'),
  Object.keys(backends),
);

describe.each(names.map((name) => [name, backends[name]!] as const))('on %s', (_name, open) => {
  it('a reader sees entries as they were at one moment, however long', { timeout: 120_000 }, async () => {
    const [writing, reading] = await open();
    onTestFinished(async () => {
      await writing.database.close();
      if (reading !== writing) await reading.database.close();
    });
    const { reader } = reading.permission;
    const isAtomic = writing.database.abilities.atomicAcrossParents;
    let begun = 0;
    let written = 0;
    await write(writing, 0);
    const writer = (async () => {
      for (let state = 1; state <= rounds; state++) {
        begun = state;
        await write(writing, state);
        written = state;
      }
    })();
    const seen = new Set<number>();
    const look = async (): Promise<void> => {
      const least = written;
      const { read = [] } = await reader.getObjectPermissions(collection);
      const most = begun;
      const state = Number(read.find((each) => each.startsWith('state-'))?.slice('state-'.length));
      seen.add(state);
      expect(state).toBeGreaterThanOrEqual(least);
      expect(state).toBeLessThanOrEqual(most);
      expect(read.toSorted()).toEqual([...principalsOf(state), `state-${state}`].toSorted());
    };
    const check = async (): Promise<void> => {
      if (!isAtomic) return;
      const bound = [bucket, record].map((objectId) => ({ objectId, permission: 'write' }));
      const [isGranted, isMember] = await Promise.all([
        reader.checkPermission(['ann'], bound),
        reader.checkPermission(['zoe'], [{ objectId: bucket, permission: 'read' }], 'zoe'),
      ]);
      expect([isGranted, isMember]).toEqual([true, true]);
      const found = await reader.getObjectsPermissions([bucket, record], ['write']);
      expect(found.flatMap(({ write: all = [] }) => all)).toEqual(['ann']);
    };
    const readers = Array.from({ length: 4 }, async (_, n) => {
      while (written < rounds) {
        await (n % 2 === 0 ? look() : check());
        // Without waiting for a server, the writer would never continue.
        await nextTurn();
      }
    });
    await Promise.all([writer, ...readers]);
    await look();
    expect(seen).toContain(rounds);
  });
});
