// The cache contract in a SQLite file of its own, because cache writes are independent of the unit of work.
import type { CacheBackend } from '../../contracts/cache.ts';
import { cacheStatements, SqlCache, type SqlCacheOptions } from '../sql/cache.ts';
import { CompanionFile } from './companion-file.ts';
import { companionPath } from './database-path.ts';
import { cacheMigrations } from './schema.ts';

export interface SqliteCacheOptions extends SqlCacheOptions {
  /** The file of a database. The cache has a file next to it (`cachePathFor`), created with its folder when absent. */
  readonly path: string;
  /** Time for which an operation is retried while another process writes. */
  readonly busyTimeoutMs?: number;
  /** Maximum size of a file that is checked completely; default 0. */
  readonly maxCheckedBytes?: number;
}

/** Returns the file of the cache of a database: `coffer.sqlite3` → `coffer-cache.sqlite3`. */
export function cachePathFor(databasePath: string): string {
  return companionPath(databasePath, 'cache');
}

/**
 * Opens a cache file. Values survive restarts and crashes of the process; a power loss may take the last ones.
 *
 * @throws BackendUnavailable when the file cannot be opened or is damaged; Error when a newer version has migrated it
 */
export function openSqliteCache({
  path,
  busyTimeoutMs,
  maxCheckedBytes,
  ...options
}: SqliteCacheOptions): CacheBackend {
  const file = new CompanionFile({
    path: cachePathFor(path),
    migrations: cacheMigrations,
    backend: 'cache',
    busyTimeoutMs,
    maxCheckedBytes,
    statements: cacheStatements('cache'),
    loss: 'it holds nothing but the cache',
  });
  return new SqlCache(file, options);
}
