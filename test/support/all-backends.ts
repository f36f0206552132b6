// Opens an empty store of each backend in this process, for comparisons of their results.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { findRedisAddress } from '../../src/backends/redis/address.ts';
import { openRedisDatabase, type RedisDatabaseOptions } from '../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../src/backends/redis/permission.ts';
import { createRedisStorage } from '../../src/backends/redis/storage.ts';
import { openSqliteDatabase } from '../../src/backends/sqlite/database.ts';
import { createSqlitePermission } from '../../src/backends/sqlite/permission.ts';
import { createSqliteStorage } from '../../src/backends/sqlite/storage.ts';
import type { Database } from '../../src/contracts/database.ts';
import type { OpenStores } from '../../src/contracts/open-backends.ts';
import { createTestClock } from '../../src/testing/index.ts';
import { migrateDatabase } from './postgresql-setup.ts';
import { createDatabase, openPostgres } from './postgresql.ts';
import { openTestServer } from './redis.ts';

export type Opened = Pick<OpenStores, 'storage' | 'permission'> & { readonly database: Database };

export interface OpenBackends {
  readonly opened: readonly Opened[];
  close(): Promise<void>;
}

/** The backend of a planted fault, which is looked for without other servers: with that of PostgreSQL, or with none. */
const planted = process.env['COFFER_PROVE_BACKEND'];

/** @param name prefix of keys on Redis */
export async function openAllBackends(name: string): Promise<OpenBackends> {
  const clock = createTestClock(1000);
  const folder = await mkdtemp(join(tmpdir(), 'coffer-'));
  const memory = createMemoryDatabase({ clock });
  // With the cache of small lists and without.
  const sqlites = [{}, { cacheBytes: 0 }].map((options, number) =>
    openSqliteDatabase({ path: join(folder, `coffer${number}.sqlite3`), clock, synchronous: 'OFF', ...options }),
  );
  const opened: Opened[] = [
    { database: memory, storage: createMemoryStorage(memory), permission: createMemoryPermission(memory) },
    ...sqlites.map((sqlite) => ({
      database: sqlite,
      storage: createSqliteStorage(sqlite),
      permission: createSqlitePermission(sqlite),
    })),
  ];
  const redisServer = planted === undefined ? await openTestServer() : undefined;
  if (planted === undefined || planted === 'postgresql') {
    // With the cache of small lists and without, each on a database of its own.
    for (const cacheBytes of [undefined, 0]) {
      const url = await createDatabase();
      await migrateDatabase(url);
      opened.push(openPostgres(clock, { url }, cacheBytes));
    }
  }
  if (redisServer !== undefined) {
    for (const cacheBytes of [undefined, 0]) {
      const prefix = `${name}-${process.pid}-${cacheBytes}:`;
      opened.push(await openRedis(redisServer.url, { clock, prefix, cacheBytes }));
    }
  }
  for (const { database } of opened) await database.initializeSchema({ dryRun: false });
  return {
    opened,
    async close() {
      for (const { database } of opened) await database.close();
      await rm(folder, { recursive: true });
      await redisServer?.close();
    },
  };
}

/** Opens storage and permission backends on a server. */
export async function openRedis(url: string, options: Omit<RedisDatabaseOptions, 'address'>): Promise<Opened> {
  const database = await openRedisDatabase({ address: findRedisAddress(url)!, ...options });
  return { database, storage: createRedisStorage(database), permission: createRedisPermission(database) };
}
