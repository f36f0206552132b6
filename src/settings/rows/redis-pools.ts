// Sizes of pools as Redis backends read them. The settings are those of the table; only the default is another one than
// with PostgreSQL, where a connection costs the server much more.
import { setting } from '../definition.ts';
import { integer } from '../readers.ts';

const poolSize = setting(
  integer({ min: 1, max: 10_000 }),
  'Commands that one process may have under way on Redis at the same time.',
  { default: 50 },
);

/** Read with `Settings.read`, when the backend is Redis. */
export const redisPoolSizes = {
  storage_pool_size: poolSize,
  permission_pool_size: poolSize,
  cache_pool_size: poolSize,
};
