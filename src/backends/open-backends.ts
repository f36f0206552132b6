// Opens the backends that the settings name: those of the list, and modules from packages and files.
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import type {
  BackendContext,
  BackendModule,
  BackendParts,
  BuiltInBackend,
  CacheContext,
  DatabaseContext,
} from '../contracts/backend-module.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { Database } from '../contracts/database.ts';
import { BackendUnavailable } from '../contracts/errors.ts';
import type { OpenBackends, OpenStores } from '../contracts/open-backends.ts';
import type { SecurityState, SecurityStateLimits } from '../contracts/security-state.ts';
import { noPermissionBackend } from '../engine/no-permission-backend.ts';
import { loadModule } from '../loader/modules.ts';
import { namesOf, type BackendKind } from '../settings/backend-description.ts';
import { findBackend } from '../settings/backend-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { builtInBackends } from './built-in-backends.ts';
import { memory } from './memory/index.ts';

export interface OpenOptions {
  /** Whether requests will be served from the backends. Of some databases only one process at a time may do that. */
  readonly isServing?: boolean;
}

/** Opens backends, each place once: backends of one database share it, and with it their transactions. */
export class BackendOpener {
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #isServing: boolean;
  readonly #opened = new Map<string, Promise<BackendParts>>();

  constructor(settings: Settings, clock: Clock, { isServing = false }: OpenOptions = {}) {
    this.#settings = settings;
    this.#clock = clock;
    this.#isServing = isServing;
  }

  /**
   * Opens the database of storage or permissions.
   *
   * @param name the backend that the settings name for it
   * @throws Error when it cannot be opened
   */
  open(name: string, kind: 'storage' | 'permission'): Promise<BackendParts> {
    const key = this.#keyOf(name, kind);
    let database = this.#opened.get(key);
    if (database === undefined) {
      database = isBuiltIn(name)
        ? this.databaseContext(kind).openBuiltIn(name)
        : openModule({ setting: `${kind}_backend`, name, exported: 'openDatabase' }, (open) =>
            open(this.databaseContext(kind)),
          );
      this.#opened.set(key, database);
    }
    return database;
  }

  /** Returns what a module of storage or permissions is opened with. */
  databaseContext(kind: 'storage' | 'permission'): DatabaseContext {
    const context = this.#contextOf(kind);
    return { ...context, openBuiltIn: async (name) => requireOpener(name, 'openDatabase')(context) };
  }

  /** Returns what a module of a cache is opened with. */
  cacheContext(): CacheContext {
    const context = this.#contextOf('cache');
    return { ...context, openBuiltIn: async (name) => requireOpener(name, 'openCache')(context) };
  }

  #contextOf(kind: BackendKind): BackendContext {
    const settings = this.#settings;
    const setting = (key: string): string | undefined => settings.lookup(key);
    return {
      kind,
      url: settings.get(`${kind}_url`),
      settings,
      setting,
      clock: this.#clock,
      isServing: this.#isServing,
    };
  }

  #keyOf(name: string, kind: BackendKind): string {
    const place = findBackend(this.#settings, builtInBackends, kind)?.readPlace(this.#settings, kind);
    return place?.key ?? `${name} ${this.#settings.get(`${kind}_url`) ?? ''}`;
  }

  /** Opens a cache, with the connections of a database of the same place that shares them. */
  async openCache(name: string): Promise<CacheBackend> {
    if (!isBuiltIn(name)) {
      const module = { setting: 'cache_backend', name, exported: 'openCache' } as const;
      return openModule(module, (open) => open(this.cacheContext()));
    }
    const shared = await this.#opened.get(this.#keyOf(name, 'cache'))?.catch(() => undefined);
    return shared?.cache?.() ?? this.cacheContext().openBuiltIn(name);
  }

  /** Opens the security state: in the database of the storage, unless the settings or the database keep it in memory. */
  async openSecurityState(): Promise<SecurityState> {
    const settings = this.#settings;
    const name = settings.get('storage_backend');
    const limits = limitsOf(settings);
    const isInStorage = settings.get('security_state_backend') === 'storage' && name !== undefined;
    const ofStorage = isInStorage ? (await this.open(name, 'storage')).securityState?.(limits) : undefined;
    if (ofStorage !== undefined) return ofStorage;
    const { createMemorySecurityState } = await import('./memory/security-state.ts');
    return createMemorySecurityState({ ...limits, clock: this.#clock });
  }

  /** Returns the databases that could be opened. */
  async databases(): Promise<readonly Database[]> {
    const outcomes = await Promise.allSettled(this.#opened.values());
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.database] : []));
  }

  /** Runs a step, and closes the databases that are open when it fails. */
  async closingOnFailure<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      for (const database of await this.databases()) await database.close();
      throw error;
    }
  }
}

function isBuiltIn(name: string): boolean {
  return builtInBackends.some((backend) => backend.name === name);
}

/** @throws Error when no built-in backend of that name can be opened so */
function requireOpener<K extends 'openDatabase' | 'openCache'>(
  name: string,
  exported: K,
): NonNullable<BuiltInBackend[K]> {
  const open = builtInBackends.find((backend) => backend.name === name)?.[exported];
  if (open !== undefined) return open;
  const [what, kind] = exported === 'openCache' ? (['cache', 'cache'] as const) : (['backend', 'storage'] as const);
  throw new Error(`no built-in ${what} is called ${name}; built in are ${namesOf(builtInBackends, kind).join(', ')}.`);
}

/**
 * Opens a backend from outside.
 *
 * @param module the module, the setting that names it, and the function that it has to export
 * @param open calls the function
 * @throws Error naming the setting and what is wrong with its module
 */
async function openModule<K extends keyof BackendModule, T extends object>(
  { setting, name, exported }: { readonly setting: string; readonly name: string; readonly exported: K },
  open: (factory: NonNullable<BackendModule[K]>) => T | Promise<T>,
): Promise<T> {
  try {
    const module: BackendModule = await loadModule(name);
    const factory = module[exported];
    if (typeof factory !== 'function') throw new Error(`the module exports no function ${exported}.`);
    const opened: T | undefined = await open(factory);
    if (typeof opened !== 'object') throw new Error(`${exported} of the module returned nothing.`);
    return opened;
  } catch (error) {
    // The start waits for one that cannot be reached yet, as for the built-in ones.
    if (error instanceof BackendUnavailable) throw error;
    const known = namesOf(builtInBackends, exported === 'openCache' ? 'cache' : 'storage').join(', ');
    throw new Error(`${setting} names ${name}, and built in are ${known}: ${messageOf(error)}`, { cause: error });
  }
}

/** @throws Error when the module of a setting has another part only */
function requirePart<T>(part: (() => T) | undefined, setting: string, name: string): T {
  if (part === undefined) throw new Error(`${setting} names ${name}, whose openDatabase does not return one.`);
  return part();
}

/**
 * Opens the backends that the settings name.
 *
 * @throws Error when the settings name no storage, or a backend cannot be opened
 */
export async function openBackends(settings: Settings, clock: Clock, options: OpenOptions = {}): Promise<OpenBackends> {
  const opener = new BackendOpener(settings, clock, options);
  return opener.closingOnFailure(async () => {
    const stores = await openStoresWith(opener, settings);
    const securityState = await opener.openSecurityState();
    let cache: CacheBackend;
    try {
      cache = await opener.openCache(settings.get('cache_backend'));
    } catch (error) {
      await securityState.close();
      throw error;
    }
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
 * @throws Error when the settings name no storage, or a backend cannot be opened
 */
export async function openStores(settings: Settings, clock: Clock): Promise<OpenStores> {
  const opener = new BackendOpener(settings, clock);
  return opener.closingOnFailure(() => openStoresWith(opener, settings));
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

async function openStoresWith(opener: BackendOpener, settings: Settings): Promise<OpenStores> {
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

/** Opens empty backends in memory with any settings, to test the assembly of a service. */
export async function openInMemory(settings: Settings, clock: Clock): Promise<OpenBackends> {
  const opener = new BackendOpener(settings, clock);
  const { createMemoryCache } = await import('./memory/cache.ts');
  const { createMemorySecurityState } = await import('./memory/security-state.ts');
  const { database, storage, permission } = await opener.databaseContext('storage').openBuiltIn(memory.name);
  const hasPermissions = settings.get('permission_backend') !== undefined;
  return {
    storage: storage(),
    permission: hasPermissions ? permission() : noPermissionBackend(database),
    cache: createMemoryCache({ clock }),
    securityState: createMemorySecurityState({ ...limitsOf(settings), clock }),
    databases: [database],
    hasPermissions,
    close: () => database.close(),
  };
}

function limitsOf(settings: Settings): SecurityStateLimits {
  return {
    maxEntries: settings.get('security_state_max_entries'),
    maxEntriesPerRequester: settings.get('security_state_max_entries_per_requester'),
  };
}
