// Backends: what a module has to export so that `storage_backend`, `permission_backend` or `cache_backend` can name it. The
// built-in backends export the same, and besides it what the settings and commands need to know of them.
import type { Clock } from '../base/clock.ts';
import type { BackendKind } from '../settings/backend-description.ts';
import type { BackendSettings } from '../settings/backend-settings.ts';
import type { Settings } from '../settings/settings.ts';
import type { CacheBackend } from './cache.ts';
import type { Database } from './database.ts';
import type { PermissionBackend } from './permission.ts';
import type { SecurityState, SecurityStateLimits } from './security-state.ts';
import type { StorageBackend } from './storage.ts';

export interface BackendContext {
  /** The setting that the backend is opened for. One that both of the first two name with the same place is opened once. */
  readonly kind: BackendKind;
  /** The setting `storage_url`, `permission_url` or `cache_url`. */
  readonly url: string | undefined;
  /** All settings of the service. `settings.read` reads a table of the backend's own. */
  readonly settings: Settings;
  /** Returns the text of any setting by its name, or `undefined`. */
  readonly setting: (name: string) => string | undefined;
  /** Clock for timestamps and expiry. */
  readonly clock: Clock;
  /** Whether the process serves requests from the backend. Commands of operators do not. */
  readonly isServing: boolean;
}

export interface DatabaseContext extends BackendContext {
  /**
   * Opens a built-in backend (`memory`, `sqlite`, `postgresql`, `redis`) with the settings of this kind, for a module that
   * wraps one. The module closes it.
   */
  readonly openBuiltIn: (name: string) => Promise<OpenDatabase>;
}

export interface CacheContext extends BackendContext {
  /** Opens a built-in cache, as in `DatabaseContext`. */
  readonly openBuiltIn: (name: string) => Promise<CacheBackend>;
}

/** A database and the backends that it can serve. Those of one database share its transactions. */
export interface BackendParts {
  readonly database: Database;
  readonly storage?: () => StorageBackend;
  readonly permission?: () => PermissionBackend;
  /**
   * Opens the security state of this database; called at most once. `undefined`, or absent: the database cannot keep it. The
   * service then keeps it in memory, where it is lost with the process and not shared between processes.
   */
  readonly securityState?: (limits: SecurityStateLimits) => SecurityState | undefined;
  /** Opens a cache that shares the connections of this database. Absent: `openCache` of the module opens one of its own. */
  readonly cache?: () => CacheBackend;
}

/** A database that serves objects, permissions and security state, as the built-in ones do. */
export type OpenDatabase = BackendParts & Required<Omit<BackendParts, 'cache'>>;

/** What the module exports. One of the two functions is enough. */
export interface BackendModule {
  /**
   * Opens storage, permission, or both.
   *
   * @throws Error when it fails; the service then does not start
   */
  readonly openDatabase?: (context: DatabaseContext) => BackendParts | Promise<BackendParts>;
  /** Opens a cache, as `openDatabase` does. */
  readonly openCache?: (context: CacheContext) => CacheBackend | Promise<CacheBackend>;
}

/** A backend of this version: a value that its folder exports, with all that the service knows of it. */
export interface BuiltInBackend extends BackendModule, BackendSettings {
  readonly openDatabase?: (context: BackendContext) => Promise<OpenDatabase>;
  readonly openCache?: (context: BackendContext) => Promise<CacheBackend>;
  /** Returns the files that hold the data, whether they exist or not. Absent: it has no files. */
  readonly findFiles?: (settings: Settings, kind: BackendKind) => Promise<readonly string[]>;
}
