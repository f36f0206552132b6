// Opens the Redis backends as the settings say.
import type { Clock } from '../base/clock.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { RedisClientOptions } from './redis/client.ts';
import { findRedisAddress, redisIdentity, type RedisAddress } from '../settings/redis-url.ts';
import { redisPoolSizes } from '../settings/rows/redis-pools.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenDatabase } from '../contracts/backend-module.ts';

type BackendKind = 'storage' | 'permission' | 'cache';

/** The database for storage and permissions. */
export async function openRedis(
  kind: 'storage' | 'permission',
  settings: Settings,
  clock: Clock,
): Promise<OpenDatabase> {
  const { openRedisDatabase } = await import('./redis/database.ts');
  const { createRedisStorage } = await import('./redis/storage.ts');
  const { createRedisPermission } = await import('./redis/permission.ts');
  const { createRedisSecurityState } = await import('./redis/security-state.ts');
  const prefix = settings.get('redis_prefix');
  const database = await openRedisDatabase({ ...clientOptions(kind, settings), clock, prefix });
  return {
    database,
    storage: () => createRedisStorage(database),
    permission: () => createRedisPermission(database),
    securityState: (limits) => {
      const { client, keys } = database;
      return createRedisSecurityState({ ...limits, client, keys, clock });
    },
  };
}

export async function openRedisCache(settings: Settings, clock: Clock): Promise<CacheBackend> {
  const { openRedisCache: open } = await import('./redis/cache.ts');
  const [root, prefix] = [settings.get('redis_prefix'), settings.get('cache_prefix')];
  return open({ ...clientOptions('cache', settings), clock, root, prefix });
}

/** What tells one database from another. */
export function redisPlace(kind: BackendKind, settings: Settings): string {
  return `redis ${redisIdentity(redisAddress(kind, settings))}`;
}

function clientOptions(kind: BackendKind, settings: Settings): RedisClientOptions {
  const maxBacklog = settings.get(`${kind}_max_backlog`);
  return {
    address: redisAddress(kind, settings),
    timeoutSeconds: settings.get(`${kind}_pool_timeout`),
    poolSize: settings.read(redisPoolSizes)[`${kind}_pool_size`],
    maxBacklog: maxBacklog < 0 ? undefined : maxBacklog,
  };
}

/** The address that the setting names; settings were checked when they were loaded. */
function redisAddress(kind: BackendKind, settings: Settings): RedisAddress {
  const address = findRedisAddress(settings.get(`${kind}_url`));
  if (address === undefined) throw new Error(`${kind}_url: expected the address of a Redis server`);
  return address;
}
