// Open backends, as code that works on data receives them.
import type { CacheBackend } from './cache.ts';
import type { Database } from './database.ts';
import type { PermissionBackend } from './permission.ts';
import type { SecurityState } from './security-state.ts';
import type { StorageBackend } from './storage.ts';

/** Storage and permissions without a cache. */
export interface OpenStores {
  readonly storage: StorageBackend;
  readonly permission: PermissionBackend;
  readonly databases: readonly Database[];
  /** Whether a permission backend is configured. Without one only user resources can be served. */
  readonly hasPermissions: boolean;
  close(): Promise<void>;
}

export interface OpenBackends extends OpenStores {
  readonly cache: CacheBackend;
  readonly securityState: SecurityState;
}
