// Opens the configured backends. The only place that knows which backends there are; drivers are loaded when asked for.
import type { Clock } from '../base/clock.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { Database } from '../contracts/database.ts';
import type { PermissionBackend } from '../contracts/permission.ts';
import type { StorageBackend } from '../contracts/storage.ts';
import { noPermissionBackend } from '../engine/no-permission-backend.ts';
import type { Stores } from '../engine/session.ts';
import { findSqliteFile } from '../settings/sqlite-file.ts';
import type { Settings } from '../settings/settings.ts';
import { PostgresqlOpener, postgresqlUrl } from './postgresql.ts';
import { openRedis, openRedisCache, redisPlace } from './redis.ts';

/** Storage and permissions without a cache. */
export interface OpenStores extends Stores {
  readonly databases: readonly Database[];
  /** Whether a permission backend is configured; without one only user resources can be served. */
  readonly hasPermissions: boolean;
  close(): Promise<void>;
}

export interface OpenBackends extends OpenStores {
  readonly cache: CacheBackend;
}

export type BackendName = 'memory' | 'sqlite' | 'postgresql' | 'redis';

/** Backends of one database share it, and with it their transactions. */
export class BackendOpener {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #postgresql: PostgresqlOpener;
  readonly #opened = new Map<string, Promise<OpenDatabase>>();

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#postgresql = new PostgresqlOpener(settings, clock);
  }

  open(name: BackendName, kind: 'storage' | 'permission'): Promise<OpenDatabase> {
    const key = this.#placeOf(name, kind);
    let database = this.#opened.get(key);
    if (database === undefined) {
      database = this.#open(name, kind);
      this.#opened.set(key, database);
    }
    return database;
  }

  #open(name: BackendName, kind: 'storage' | 'permission'): Promise<OpenDatabase> {
    switch (name) {
      case 'memory':
        return openMemory(this.#clock);
      case 'sqlite':
        return openSqlite(sqlitePath(this.#settings.get(`${kind}_url`)), this.#settings, this.#clock);
      case 'postgresql':
        return this.#postgresql.openDatabase(kind);
      case 'redis':
        return openRedis(kind, this.#settings, this.#clock);
    }
  }

  /** What tells one database from another. */
  #placeOf(name: BackendName, kind: 'storage' | 'permission'): string {
    switch (name) {
      case 'memory':
        return name;
      case 'sqlite':
        return `sqlite ${sqlitePath(this.#settings.get(`${kind}_url`))}`;
      case 'postgresql':
        return postgresqlUrl(this.#settings, kind);
      case 'redis':
        return redisPlace(kind, this.#settings);
    }
  }

  openCache(name: BackendName): Promise<CacheBackend> {
    if (name === 'memory') return openMemoryCache(this.#settings, this.#clock);
    if (name === 'postgresql') return this.#postgresql.openCache();
    if (name === 'redis') return openRedisCache(this.#settings, this.#clock);
    return openSqliteCache(sqlitePath(this.#settings.get('cache_url')), this.#settings, this.#clock);
  }

  /** Those that could be opened. */
  async databases(): Promise<readonly Database[]> {
    const outcomes = await Promise.allSettled(this.#opened.values());
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.database] : []));
  }
}

/** A database and the backends that it can serve. */
export interface OpenDatabase {
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
  return closingOnFailure(opener, async () => {
    const stores = await openWith(opener, settings);
    const cache = await opener.openCache(settings.get('cache_backend'));
    return {
      ...stores,
      cache,
      async close() {
        await cache.close();
        await stores.close();
      },
    };
  });
}

/**
 * Opens storage and permissions alone.
 *
 * @throws Error when there is no storage, or a backend cannot be opened
 */
export async function openStores(settings: Settings, clock: Clock): Promise<OpenStores> {
  const opener = new BackendOpener(settings, clock);
  return closingOnFailure(opener, () => openWith(opener, settings));
}

async function closingOnFailure<T>(opener: BackendOpener, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    for (const database of await opener.databases()) await database.close();
    throw error;
  }
}

async function openWith(opener: BackendOpener, settings: Settings): Promise<OpenStores> {
  const storageName = settings.get('storage_backend');
  if (storageName === undefined) throw new Error('storage_backend is empty: the service needs one to serve anything.');
  const storage = (await opener.open(storageName, 'storage')).storage();
  const permissionName = settings.get('permission_backend');
  const permission =
    permissionName === undefined
      ? noPermissionBackend(storage.database)
      : (await opener.open(permissionName, 'permission')).permission();
  const databases = await opener.databases();
  return {
    storage,
    permission,
    databases,
    hasPermissions: permissionName !== undefined,
    async close() {
      for (const database of databases) await database.close();
    },
  };
}

/** The file that a setting such as `storage_url` names; settings were checked when they were loaded. */
function sqlitePath(url: string | undefined): string {
  const file = findSqliteFile(url);
  if (file === undefined) throw new Error('expected the name of a SQLite file');
  return file;
}

export async function openMemory(clock: Clock): Promise<OpenDatabase> {
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

export async function openMemoryCache(settings: Settings, clock: Clock): Promise<CacheBackend> {
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

async function openSqliteCache(path: string, settings: Settings, clock: Clock): Promise<CacheBackend> {
  const { openSqliteCache: open } = await import('../backends/sqlite/cache.ts');
  return open({ path, clock, prefix: settings.get('cache_prefix') });
}
