// Opens the configured backends. The only place that knows which backends there are; drivers are loaded when asked for.
import type { Clock } from '../base/clock.ts';
import type { BackendContext, BackendParts, CacheContext, DatabaseContext } from '../contracts/backend-module.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { Database } from '../contracts/database.ts';
import type { SecurityState, SecurityStateLimits } from '../contracts/security-state.ts';
import { noPermissionBackend } from '../engine/no-permission-backend.ts';
import type { Stores } from '../engine/unit-of-work.ts';
import { findSqliteFile } from '../settings/sqlite-file.ts';
import type { Settings } from '../settings/settings.ts';
import { openModule } from './backend-modules.ts';
import { openMemcachedCache } from './memcached.ts';
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
  readonly securityState: SecurityState;
}

const bytesPerMegabyte = 1_048_576;

const builtIn = ['memory', 'sqlite', 'postgresql', 'redis'] as const;
type BuiltIn = (typeof builtIn)[number];

/** Short-lived values may be kept where objects must not. */
const builtInCaches = [...builtIn, 'memcached'] as const;
type BuiltInCache = (typeof builtInCaches)[number];

function isBuiltInCache(name: string): name is BuiltInCache {
  return builtInCaches.some((known) => known === name);
}

function isBuiltIn(name: string): name is BuiltIn {
  return builtIn.some((known) => known === name);
}

/** Backends of one database share it, and with it their transactions. */
export class BackendOpener {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #postgresql: PostgresqlOpener;
  readonly #isServing: boolean;
  readonly #opened = new Map<string, Promise<BackendParts>>();

  /** @param options.isServing whether requests will be served from them, which only one process may do where that is the rule */
  constructor(settings: Settings, clock: Clock, { isServing = false }: { readonly isServing?: boolean } = {}) {
    this.#settings = settings;
    this.#clock = clock;
    this.#isServing = isServing;
    this.#postgresql = new PostgresqlOpener(settings, clock);
  }

  open(name: string, kind: 'storage' | 'permission'): Promise<BackendParts> {
    const key = isBuiltIn(name) ? this.#placeOf(name, kind) : `${name} ${this.#settings.get(`${kind}_url`) ?? ''}`;
    let database = this.#opened.get(key);
    if (database === undefined) {
      database = isBuiltIn(name) ? this.#open(name, kind) : this.#openModule(name, kind);
      this.#opened.set(key, database);
    }
    return database;
  }

  #openModule(name: string, kind: 'storage' | 'permission'): Promise<BackendParts> {
    const module = { setting: `${kind}_backend`, name, exported: 'openDatabase' } as const;
    return openModule(module, (open) => open(this.databaseContext(kind)));
  }

  databaseContext(kind: 'storage' | 'permission'): DatabaseContext {
    return { ...this.#contextOf(kind), openBuiltIn: async (name) => this.#open(requireBuiltIn(name), kind) };
  }

  cacheContext(): CacheContext {
    return { ...this.#contextOf('cache'), openBuiltIn: async (name) => this.#openCache(requireBuiltInCache(name)) };
  }

  #contextOf(kind: BackendContext['kind']): BackendContext {
    const settings = this.#settings;
    return { kind, url: settings.get(`${kind}_url`), setting: (key) => settings.lookup(key), clock: this.#clock };
  }

  #open(name: BuiltIn, kind: 'storage' | 'permission'): Promise<OpenDatabase> {
    switch (name) {
      case 'memory':
        return openMemory(this.#clock);
      case 'sqlite':
        return this.#openSqlite(sqlitePath(this.#settings.get(`${kind}_url`)));
      case 'postgresql':
        return this.#postgresql.openDatabase(kind);
      case 'redis':
        return openRedis(kind, this.#settings, this.#clock);
    }
  }

  async #openSqlite(path: string): Promise<OpenDatabase> {
    const { openSqliteDatabase } = await import('../backends/sqlite/database.ts');
    const { createSqliteStorage } = await import('../backends/sqlite/storage.ts');
    const { createSqlitePermission } = await import('../backends/sqlite/permission.ts');
    const { openSqliteSecurityState } = await import('../backends/sqlite/security-state.ts');
    const { createMemorySecurityState } = await import('../backends/memory/security-state.ts');
    const { isWritable } = await import('../backends/sqlite/file-access.ts');
    const settings = this.#settings;
    const clock = this.#clock;
    const isReadonly = settings.get('readonly');
    const maxCheckedBytes = settings.get('sqlite_start_check_mb') * bytesPerMegabyte;
    const database = openSqliteDatabase({
      path,
      clock,
      synchronous: settings.get('sqlite_synchronous'),
      cacheBytes: settings.get('sqlite_memory_mb') * bytesPerMegabyte,
      maxCheckedBytes,
      isReadonly,
      isExclusive: this.#isServing && !isReadonly && !settings.get('sqlite_allow_several_processes'),
    });
    return {
      database,
      storage: () => createSqliteStorage(database),
      permission: () => createSqlitePermission(database),
      // A disk that cannot be written holds no counters: they last as long as the process then.
      securityState: (limits) =>
        isReadonly && !isWritable(path)
          ? createMemorySecurityState({ ...limits, clock })
          : openSqliteSecurityState({ ...limits, path, clock, maxCheckedBytes }),
    };
  }

  /** What tells one database from another. */
  #placeOf(name: BuiltIn, kind: 'storage' | 'permission'): string {
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

  openCache(name: string): Promise<CacheBackend> {
    if (isBuiltInCache(name)) return this.#openCache(name);
    const module = { setting: 'cache_backend', name, exported: 'openCache' } as const;
    return openModule(module, (open) => open(this.cacheContext()));
  }

  #openCache(name: BuiltInCache): Promise<CacheBackend> {
    if (name === 'memory') return openMemoryCache(this.#settings, this.#clock);
    if (name === 'postgresql') return this.#postgresql.openCache();
    if (name === 'redis') return openRedisCache(this.#settings, this.#clock);
    if (name === 'memcached') return openMemcachedCache(this.#settings, this.#clock);
    return openSqliteCache(sqlitePath(this.#settings.get('cache_url')), this.#settings, this.#clock);
  }

  /** Opens the store of security state, in the database of the storage unless the settings say otherwise. */
  async openSecurityState(): Promise<SecurityState> {
    const name = this.#settings.get('storage_backend');
    const limits = securityStateLimits(this.#settings);
    const isInStorage = this.#settings.get('security_state_backend') === 'storage' && name !== undefined;
    const ofStorage = isInStorage ? (await this.open(name, 'storage')).securityState?.(limits) : undefined;
    return ofStorage ?? openMemorySecurityState(this.#settings, this.#clock);
  }

  /** Those that could be opened. */
  async databases(): Promise<readonly Database[]> {
    const outcomes = await Promise.allSettled(this.#opened.values());
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.database] : []));
  }
}

/** A database of ours, which serves both. */
export type OpenDatabase = Required<BackendParts>;

function requireBuiltIn(name: string): BuiltIn {
  if (!isBuiltIn(name)) throw new Error(`there is no built-in backend ${name}; there are ${builtIn.join(', ')}.`);
  return name;
}

function requireBuiltInCache(name: string): BuiltInCache {
  if (!isBuiltInCache(name)) {
    throw new Error(`there is no built-in cache ${name}; there are ${builtInCaches.join(', ')}.`);
  }
  return name;
}

/** @throws Error when the module of a setting has another part only */
function requirePart<T>(part: (() => T) | undefined, setting: string, name: string): T {
  if (part === undefined) throw new Error(`${setting} names ${name}, whose openDatabase returns no such part.`);
  return part();
}

/**
 * Opens what the settings name.
 *
 * @param options.isServing as for `BackendOpener`
 * @throws Error when there is no storage, or a backend cannot be opened
 */
export async function openBackends(
  settings: Settings,
  clock: Clock,
  options: { readonly isServing?: boolean } = {},
): Promise<OpenBackends> {
  const opener = new BackendOpener(settings, clock, options);
  return closingOnFailure(opener, async () => {
    const stores = await openWith(opener, settings);
    const securityState = await opener.openSecurityState();
    const cache = await closingOnError(securityState, () => opener.openCache(settings.get('cache_backend')));
    return {
      ...stores,
      cache,
      securityState,
      async close() {
        await cache.close();
        await securityState.close();
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

/** Creates what security state needs where the settings keep it, so that a service can start there. */
export async function createSecurityState(settings: Settings, clock: Clock): Promise<void> {
  const opener = new BackendOpener(settings, clock);
  try {
    const state = await opener.openSecurityState();
    try {
      await state.initializeSchema({ dryRun: false });
    } finally {
      await state.close();
    }
  } finally {
    for (const database of await opener.databases()) await database.close();
  }
}

async function closingOnFailure<T>(opener: BackendOpener, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    for (const database of await opener.databases()) await database.close();
    throw error;
  }
}

async function closingOnError<T>(opened: Pick<SecurityState, 'close'>, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function openWith(opener: BackendOpener, settings: Settings): Promise<OpenStores> {
  const storageName = settings.get('storage_backend');
  if (storageName === undefined) throw new Error('storage_backend is empty: the service needs one to serve anything.');
  const ofStorage = await opener.open(storageName, 'storage');
  const storage = requirePart(ofStorage.storage, 'storage_backend', storageName);
  const permissionName = settings.get('permission_backend');
  const permission =
    permissionName === undefined
      ? noPermissionBackend(storage.database)
      : requirePart((await opener.open(permissionName, 'permission')).permission, 'permission_backend', permissionName);
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

/** What a service with these settings would open a module with, for tests of the module. */
export function backendContexts(
  settings: Settings,
  clock: Clock,
): { readonly database: DatabaseContext; readonly cache: CacheContext } {
  const opener = new BackendOpener(settings, clock);
  return { database: opener.databaseContext('storage'), cache: opener.cacheContext() };
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
  const { createMemorySecurityState } = await import('../backends/memory/security-state.ts');
  const database = createMemoryDatabase({ clock });
  return {
    database,
    storage: () => createMemoryStorage(database),
    permission: () => createMemoryPermission(database),
    securityState: (limits) => createMemorySecurityState({ ...limits, clock }),
  };
}

function securityStateLimits(settings: Settings): SecurityStateLimits {
  return {
    maxEntries: settings.get('security_state_max_entries'),
    maxEntriesPerRequester: settings.get('security_state_max_entries_per_requester'),
  };
}

export async function openMemorySecurityState(settings: Settings, clock: Clock): Promise<SecurityState> {
  const { createMemorySecurityState } = await import('../backends/memory/security-state.ts');
  return createMemorySecurityState({ ...securityStateLimits(settings), clock });
}

export async function openMemoryCache(settings: Settings, clock: Clock): Promise<CacheBackend> {
  const { createMemoryCache } = await import('../backends/memory/cache.ts');
  return createMemoryCache({
    clock,
    prefix: settings.get('cache_prefix'),
    maxSizeBytes: settings.get('cache_max_size_bytes'),
  });
}

async function openSqliteCache(path: string, settings: Settings, clock: Clock): Promise<CacheBackend> {
  const { openSqliteCache: open } = await import('../backends/sqlite/cache.ts');
  const maxCheckedBytes = settings.get('sqlite_start_check_mb') * bytesPerMegabyte;
  return open({ path, clock, prefix: settings.get('cache_prefix'), maxCheckedBytes });
}
