// The Redis backend: its description, settings and openers. The driver is loaded when a database is opened.
import type { BuiltInBackend } from '../../contracts/backend-module.ts';
import { type BackendKind } from '../../settings/backend-description.ts';
import { refuseUrl } from '../../settings/backend-settings.ts';
import { setting } from '../../settings/definition.ts';
import { integer, matching } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import { defaultRedisUrl, findRedisAddress, formatRedisPlace, redisUrlForm, redisIdentity } from './address.ts';
import type { RedisAddress } from './address.ts';
import type { RedisClientOptions } from './client.ts';

const bytesPerMegabyte = 1_048_576;

const settings = {
  redis_prefix: setting(
    matching(/^[^{}\s]+$/, 'a text without braces and blanks'),
    'Text before the names of all keys in Redis. Services that share a server need different ones.',
    { default: 'coffer:' },
  ),
  redis_memory_mb: setting(
    integer({ min: 0 }),
    'Approximate megabytes of small lists that the process caches for filters and sorting; 0 means none. Each read asks Redis whether they have changed.',
    { default: 32 },
  ),
};

const poolSize = setting(
  integer({ min: 1, max: 10_000 }),
  'Maximum number of commands under way on Redis from one process.',
  { default: 50 },
);

/** Settings of the core with another default: a connection to PostgreSQL costs its server much more than a command here. */
const poolSizes = { storage_pool_size: poolSize, permission_pool_size: poolSize, cache_pool_size: poolSize };

/** Keeps everything in a Redis server or cluster, for any number of processes. */
export const redis: BuiltInBackend = {
  name: 'redis',
  otherNames: ['kinto_redis.storage', 'kinto_redis.permission', 'kinto_redis.cache'],
  title: 'Redis',
  kinds: ['storage', 'permission', 'cache'],
  url: {
    forms: 'redis://host:port/database',
    ownForms: 'redis://:password@host:port/database, redis+cluster://host:port,host:port',
    names: () => `the URL of a server, ${defaultRedisUrl} unless set`,
    example: defaultRedisUrl,
    isOwn: (url) => url !== '' && findRedisAddress(url) !== undefined,
  },
  settings,

  readPlace(all, kind) {
    const address = readAddress(all, kind);
    return {
      key: `redis ${redisIdentity(address)}`,
      text: `${formatRedisPlace(address)}, keys ${all.read(settings).redis_prefix}*`,
    };
  },

  async openDatabase({ kind, settings: all, clock }) {
    const { openRedisDatabase } = await import('./database.ts');
    const { createRedisStorage } = await import('./storage.ts');
    const { createRedisPermission } = await import('./permission.ts');
    const { createRedisSecurityState } = await import('./security-state.ts');
    const { redis_prefix: prefix, redis_memory_mb: megabytes } = all.read(settings);
    const cacheBytes = megabytes * bytesPerMegabyte;
    const database = await openRedisDatabase({ ...clientOptions(all, kind), clock, prefix, cacheBytes });
    const { client, keys } = database;
    return {
      database,
      storage: () => createRedisStorage(database),
      permission: () => createRedisPermission(database),
      securityState: (limits) => createRedisSecurityState({ ...limits, client, keys, clock }),
    };
  },

  async openCache({ kind, settings: all, clock }) {
    const { openRedisCache } = await import('./cache.ts');
    const [root, prefix] = [all.read(settings).redis_prefix, all.get('cache_prefix')];
    return openRedisCache({ ...clientOptions(all, kind), clock, root, prefix });
  },
};

function readAddress(all: Settings, kind: BackendKind): RedisAddress {
  return findRedisAddress(all.get(`${kind}_url`)) ?? refuseUrl(kind, redisUrlForm);
}

function clientOptions(all: Settings, kind: BackendKind): RedisClientOptions {
  const maxBacklog = all.get(`${kind}_max_backlog`);
  return {
    address: readAddress(all, kind),
    timeoutSeconds: all.get(`${kind}_pool_timeout`),
    poolSize: all.read(poolSizes)[`${kind}_pool_size`],
    maxBacklog: maxBacklog < 0 ? undefined : maxBacklog,
  };
}
