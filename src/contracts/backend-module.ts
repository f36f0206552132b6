// External backends: the exports of a module that `storage_backend`, `permission_backend` or `cache_backend` names.
import type { Clock } from '../base/clock.ts';
import type { CacheBackend } from './cache.ts';
import type { Database } from './database.ts';
import type { PermissionBackend } from './permission.ts';
import type { SecurityState, SecurityStateLimits } from './security-state.ts';
import type { StorageBackend } from './storage.ts';

export interface BackendContext {
  /** The kind of backend to open. One database serves storage and permissions when both settings name the same place. */
  readonly kind: 'storage' | 'permission' | 'cache';
  /** The setting `storage_url`, `permission_url` or `cache_url`. */
  readonly url: string | undefined;
  /** The text of any other setting by its name, or `undefined`. */
  readonly setting: (name: string) => string | undefined;
  /** Clock for timestamps and expiry. */
  readonly clock: Clock;
}

export interface DatabaseContext extends BackendContext {
  /**
   * Opens a built-in backend (`memory`, `sqlite`, `postgresql`, `redis`) with the settings of this kind, for modules that wrap
   * one. The module closes it.
   */
  readonly openBuiltIn: (name: string) => Promise<Required<BackendParts>>;
}

export interface CacheContext extends BackendContext {
  /** As in `DatabaseContext`. */
  readonly openBuiltIn: (name: string) => Promise<CacheBackend>;
}

/** A database and its backends, which share transactions. */
export interface BackendParts {
  readonly database: Database;
  readonly storage?: () => StorageBackend;
  readonly permission?: () => PermissionBackend;
  /**
   * Creates the store of security state of this database; called at most once. Absent: the service keeps that state in memory,
   * where it is lost with the process and not shared between processes.
   */
  readonly securityState?: (limits: SecurityStateLimits) => SecurityState;
}

/** Exports of the module, all optional. */
export interface BackendModule {
  /**
   * Opens storage, permission, or both.
   *
   * @throws Error when it fails; the service then does not start
   */
  readonly openDatabase?: (context: DatabaseContext) => BackendParts | Promise<BackendParts>;
  /** Opens a cache, with the same errors. */
  readonly openCache?: (context: CacheContext) => CacheBackend | Promise<CacheBackend>;
}
