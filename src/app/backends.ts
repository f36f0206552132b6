// Opens the configured backends. The only place that knows which backends there are; drivers are loaded when asked for.
import type { Clock } from '../base/clock.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { Database } from '../contracts/database.ts';
import type { PermissionBackend } from '../contracts/permission.ts';
import type { StorageBackend } from '../contracts/storage.ts';
import { noPermissionBackend } from '../engine/no-permission-backend.ts';
import type { Stores } from '../engine/session.ts';
import { findRedisAddress, redisIdentity, type RedisAddress } from '../settings/redis-url.ts';
import { findSqliteFile } from '../settings/sqlite-file.ts';
import type { Settings } from '../settings/settings.ts';

export interface OpenBackends extends Stores {
  readonly cache: CacheBackend;
  readonly databases: readonly Database[];
  /** Whether a permission backend is configured; without one only user resources can be served. */
  readonly hasPermissions: boolean;
  close(): Promise<void>;
}

type BackendName = 'memory' | 'sqlite' | 'redis';
type BackendKind = 'storage' | 'permission' | 'cache';

/** Backends of one database share it, and with it their transactions. */
class BackendOpener {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #opened = new Map<string, Promise<OpenDatabase>>();

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  open(name: BackendName, kind: BackendKind): Promise<OpenDatabase> {
    const url = this.#settings.get(`${kind}_url`);
    const key = `${name} ${identityOf(name, url)}`;
    let database = this.#opened.get(key);
    if (database === undefined) {
      database = this.#openDatabase(name, kind, url);
      this.#opened.set(key, database);
    }
    return database;
  }

  openCache(name: BackendName): Promise<CacheBackend> {
    if (name === 'memory') return openMemoryCache(this.#settings, this.#clock);
    const url = this.#settings.get('cache_url');
    if (name === 'redis') return openRedisCache(redisAddress(url), this.#settings, this.#clock);
    const path = sqlitePath(url);
    const isDatabase = url === undefined || this.#opened.has(`sqlite ${path}`);
    return openSqliteCache(path, isDatabase, this.#settings, this.#clock);
  }

  async databases(): Promise<readonly Database[]> {
    return (await Promise.all(this.#opened.values())).map(({ database }) => database);
  }

  #openDatabase(name: BackendName, kind: BackendKind, url: string | undefined): Promise<OpenDatabase> {
    switch (name) {
      case 'memory':
        return openMemory(this.#clock);
      case 'sqlite':
        return openSqlite(sqlitePath(url), this.#settings, this.#clock);
      case 'redis':
        return openRedis(redisAddress(url), this.#settings.get(`${kind}_pool_timeout`), this.#settings, this.#clock);
    }
  }
}

interface OpenDatabase {
  readonly database: Database;
  readonly storage: () => StorageBackend;
  readonly permission: () => PermissionBackend;
}

/**
 * Opens what the settings name.
 *
 * @throws Error when there is no storage, or a backend cannot be opened
 */
export async function openBackends(settings: Settings, clock: Clock): Promise<OpenBackends> {
  const opener = new BackendOpener(settings, clock);
  try {
    return await openAll(opener, settings);
  } catch (error) {
    for (const database of await opener.databases().catch(() => [])) await database.close();
    throw error;
  }
}

async function openAll(opener: BackendOpener, settings: Settings): Promise<OpenBackends> {
  const storageName = settings.get('storage_backend');
  if (storageName === undefined) throw new Error('storage_backend is empty: the service needs one to serve anything.');
  const storage = (await opener.open(storageName, 'storage')).storage();
  const permissionName = settings.get('permission_backend');
  const permission =
    permissionName === undefined
      ? noPermissionBackend(storage.database)
      : (await opener.open(permissionName, 'permission')).permission();
  const cache = await opener.openCache(settings.get('cache_backend'));
  const databases = await opener.databases();
  return {
    storage,
    permission,
    cache,
    databases,
    hasPermissions: permissionName !== undefined,
    async close() {
      await cache.close();
      for (const database of databases) await database.close();
    },
  };
}

/** What two backends of one name have in common when they share a database. */
function identityOf(name: BackendName, url: string | undefined): string {
  switch (name) {
    case 'memory':
      return '';
    case 'sqlite':
      return sqlitePath(url);
    case 'redis':
      return redisIdentity(redisAddress(url));
  }
}

/** The server that a setting such as `storage_url` names; settings were checked when they were loaded. */
function redisAddress(url: string | undefined): RedisAddress {
  const address = findRedisAddress(url);
  if (address === undefined) throw new Error('expected the address of a Redis server');
  return address;
}

/** The file that a setting such as `storage_url` names; settings were checked when they were loaded. */
function sqlitePath(url: string | undefined): string {
  const file = findSqliteFile(url);
  if (file === undefined) throw new Error('expected the name of a SQLite file');
  return file;
}

async function openMemory(clock: Clock): Promise<OpenDatabase> {
  const { createMemoryDatabase } = await import('../backends/memory/database.ts');
  const { createMemoryStorage } = await import('../backends/memory/storage.ts');
  const { createMemoryPermission } = await import('../backends/memory/permission.ts');
  const database = createMemoryDatabase({ clock });
  return {
    database,
    storage: () => createMemoryStorage(database),
    permission: () => createMemoryPermission(database),
  };
}

async function openMemoryCache(settings: Settings, clock: Clock): Promise<CacheBackend> {
  const { createMemoryCache } = await import('../backends/memory/cache.ts');
  return createMemoryCache({
    clock,
    prefix: settings.get('cache_prefix'),
    maxSizeBytes: settings.get('cache_max_size_bytes'),
  });
}

async function openSqlite(path: string, settings: Settings, clock: Clock): Promise<OpenDatabase> {
  const { openSqliteDatabase } = await import('../backends/sqlite/database.ts');
  const { createSqliteStorage } = await import('../backends/sqlite/storage.ts');
  const { createSqlitePermission } = await import('../backends/sqlite/permission.ts');
  const database = openSqliteDatabase({ path, clock, synchronous: settings.get('sqlite_synchronous') });
  return {
    database,
    storage: () => createSqliteStorage(database),
    permission: () => createSqlitePermission(database),
  };
}

/** The cache has a file of its own; when its setting names that of a database, or nothing, it is the one beside it. */
async function openSqliteCache(
  path: string,
  isDatabase: boolean,
  settings: Settings,
  clock: Clock,
): Promise<CacheBackend> {
  const sqlite = await import('../backends/sqlite/cache.ts');
  return sqlite.openSqliteCache({
    path: isDatabase ? sqlite.cachePathFor(path) : path,
    clock,
    prefix: settings.get('cache_prefix'),
  });
}

async function openRedis(
  address: RedisAddress,
  timeoutSeconds: number,
  settings: Settings,
  clock: Clock,
): Promise<OpenDatabase> {
  const { openRedisDatabase } = await import('../backends/redis/database.ts');
  const { createRedisStorage } = await import('../backends/redis/storage.ts');
  const { createRedisPermission } = await import('../backends/redis/permission.ts');
  const database = await openRedisDatabase({ address, clock, timeoutSeconds, prefix: settings.get('redis_prefix') });
  return {
    database,
    storage: () => createRedisStorage(database),
    permission: () => createRedisPermission(database),
  };
}

async function openRedisCache(address: RedisAddress, settings: Settings, clock: Clock): Promise<CacheBackend> {
  const redis = await import('../backends/redis/cache.ts');
  return redis.openRedisCache({
    address,
    clock,
    timeoutSeconds: settings.get('cache_pool_timeout'),
    root: settings.get('redis_prefix'),
    prefix: settings.get('cache_prefix'),
  });
}
