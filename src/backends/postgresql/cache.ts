// The cache contract in a table of PostgreSQL.
import type { CacheBackend } from '../../contracts/cache.ts';
import { cacheStatements, SqlCache, type SqlCacheOptions } from '../sql/cache.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { cacheComponent } from './schema.ts';
import { openTable } from './table.ts';
import { keyOfText } from './text-key.ts';

export interface PostgresCacheOptions extends SqlCacheOptions {
  readonly pool: ConnectionPool;
}

/** Opens a cache on the connections of the pool. */
export function openPostgresCache({ pool, ...options }: PostgresCacheOptions): CacheBackend {
  const table = openTable(pool, {
    component: cacheComponent,
    backend: 'cache',
    contents: 'cache',
    statements: cacheStatements('coffer_cache', 'FOR UPDATE SKIP LOCKED'),
    slow: ['purge', 'flushFrom', 'flushBetween'],
  });
  return new SqlCache(table, options, keyOfText);
}
