// Backends from outside: what a module exports whose name is the value of `storage_backend`, `permission_backend` or
// `cache_backend`.
import type { Clock } from '../base/clock.ts';
import type { CacheBackend } from './cache.ts';
import type { Database } from './database.ts';
import type { PermissionBackend } from './permission.ts';
import type { SecurityState, SecurityStateLimits } from './security-state.ts';
import type { StorageBackend } from './storage.ts';

export interface BackendContext {
  /** For which of the settings the module is opened; for both of the first two when they name the same place. */
  readonly kind: 'storage' | 'permission' | 'cache';
  /** The setting `storage_url`, `permission_url` or `cache_url`. */
  readonly url: string | undefined;
  /** The text of any other setting by its name, or `undefined`. */
  readonly setting: (name: string) => string | undefined;
  /** The time, for timestamps and expiry. */
  readonly clock: Clock;
}

export interface DatabaseContext extends BackendContext {
  /**
   * Opens a built-in backend (`memory`, `sqlite`, `postgresql`, `redis`) with the settings of this kind, for modules that
   * stand in front of one. Who opens it closes it.
   */
  readonly openBuiltIn: (name: string) => Promise<OpenDatabase>;
}

export interface CacheContext extends BackendContext {
  /** As in `DatabaseContext`. */
  readonly openBuiltIn: (name: string) => Promise<CacheBackend>;
}

/** A database and the backends that it can serve; those of one database share their transactions. */
export interface BackendParts {
  readonly database: Database;
  readonly storage?: () => StorageBackend;
  readonly permission?: () => PermissionBackend;
  /**
   * The store of security state of this database, called at most once. Absent: the service keeps that state in memory, where
   * it is lost with the process and not shared between processes.
   */
  readonly securityState?: (limits: SecurityStateLimits) => SecurityState;
}

/** A database that serves everything but the cache, as the built-in ones do. */
export type OpenDatabase = Required<BackendParts>;

/** What the module exports, as far as it has it. */
export interface BackendModule {
  /**
   * Opens storage, permission, or both.
   *
   * @throws Error when it cannot; the service does not start then
   */
  readonly openDatabase?: (context: DatabaseContext) => BackendParts | Promise<BackendParts>;
  /** The same for a cache. */
  readonly openCache?: (context: CacheContext) => CacheBackend | Promise<CacheBackend>;
}
