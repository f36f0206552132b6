// Drives every backend with one random history and compares all results, including timestamps. A difference means that one
// of them is wrong, or that the contract is ambiguous.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { openRedisDatabase } from '../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../src/backends/redis/permission.ts';
import { createRedisStorage } from '../../src/backends/redis/storage.ts';
import { openSqliteDatabase } from '../../src/backends/sqlite/database.ts';
import { createSqlitePermission } from '../../src/backends/sqlite/permission.ts';
import { createSqliteStorage } from '../../src/backends/sqlite/storage.ts';
import { findRedisAddress } from '../../src/backends/redis/address.ts';
import { migrateDatabase } from '../support/postgresql-setup.ts';
import { createDatabase, openPostgres } from '../support/postgresql.ts';
import { RedisCluster } from '../support/redis-cluster.ts';
import { openTestServer } from '../support/redis.ts';
import { createTestClock, type TransactionContext } from '../../src/testing/index.ts';
import { anyHistory } from './history.ts';
import { advanceClock, requireSame, runStep } from './run-history.ts';
import { Comparisons } from '../support/comparisons.ts';
import { sized } from '../support/extent.ts';

type Backends = Omit<TransactionContext, 'clock'>;

/** Number of histories; `COFFER_DIFFERENTIAL_RUNS` for a long run, of which some 6 take a second. */
const runs = sized('COFFER_DIFFERENTIAL_RUNS', 50, 100);
const seconds = Math.max(90, runs);

const comparisons = new Comparisons();
const start = 1000;
const clock = createTestClock(start);
const opened: Backends[] = [];
let folder: string;
let redisServer: Awaited<ReturnType<typeof openTestServer>>;
let redisCluster: RedisCluster;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coffer-'));
  const memory = createMemoryDatabase({ clock });
  const sqlite = openSqliteDatabase({ path: join(folder, 'coffer.sqlite3'), clock, synchronous: 'OFF' });
  redisServer = await openTestServer();
  redisCluster = await RedisCluster.start();
  opened.push(
    { database: memory, storage: createMemoryStorage(memory), permission: createMemoryPermission(memory) },
    { database: sqlite, storage: createSqliteStorage(sqlite), permission: createSqlitePermission(sqlite) },
    await openEmptyPostgres(),
    await openEmptyPostgres(0),
    await openRedis(redisServer.url),
    await openRedis(redisCluster.url),
  );
  for (const { database } of opened) await database.initializeSchema({ dryRun: false });
}, 120_000);

afterAll(async () => {
  for (const { database } of opened) await database.close();
  await rm(folder, { recursive: true });
  await redisServer.close();
  await redisCluster.remove();
});

/** @param cacheBytes size of the cache of small lists */
async function openEmptyPostgres(cacheBytes?: number): Promise<Backends> {
  const url = await createDatabase();
  await migrateDatabase(url);
  return openPostgres(clock, { url }, cacheBytes);
}

async function openRedis(url: string): Promise<Backends> {
  const address = findRedisAddress(url)!;
  const database = await openRedisDatabase({ address, clock, prefix: `differential-${process.pid}:` });
  return { database, storage: createRedisStorage(database), permission: createRedisPermission(database) };
}

/** Empties a store, so that each history starts from nothing. */
async function clear({ database, storage, permission }: Backends): Promise<void> {
  const transaction = await database.begin();
  await storage.writer(transaction).flush();
  await permission.writer(transaction).flush();
  await transaction.commit();
}

describe('all backends', () => {
  // Proves S-022.
  it('return the same results for the same history', { timeout: (seconds + 30) * 1000 }, async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory(start), async (steps) => {
        clock.set(start);
        for (const backends of opened) await clear(backends);
        for (const step of steps) {
          advanceClock(clock, step);
          requireSame(await Promise.all(opened.map((backends) => runStep(backends, step))), comparisons);
        }
      }),
      // A failing history is shown as short as it has become, before the test times out.
      { numRuns: runs, plugins: [fc.interruptAfterTimeLimit(seconds * 1000, { failOnInterrupt: true })] },
    );
    comparisons.print('All backends');
  });
});
