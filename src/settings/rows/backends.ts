// Settings about where things are kept.
import { setting } from '../definition.ts';
import { choice, dottedChoiceOr, flag, integer, list, matching, optional, orNone, text } from '../readers.ts';

/** Backends that this version has, by kind. */
const backends = ['memory', 'sqlite', 'postgresql', 'redis'] as const;
const names = {
  isDeprecated: true,
  form: 'a package, or the path of a module',
  // Dotted names are those of modules of the reference server, which are no packages here.
  pattern: /^(?:(?:\.{0,2}\/|file:).+|(?:@[\w.-]+\/)?[\w-]+(?:\/[\w./-]+)?)$/,
  aliases: { 'kinto_redis.storage': 'redis', 'kinto_redis.permission': 'redis', 'kinto_redis.cache': 'redis' },
} as const;
const backend = dottedChoiceOr(backends, names);
const cacheBackend = dottedChoiceOr([...backends, 'memcached'] as const, names);

const databaseForm =
  'a file, sqlite:relative/file, sqlite:///absolute/file, postgresql://user:password@host:port/database, or redis://host:port/database';
const databaseUrl = text(databaseForm);

/** The three kinds of backend and what they take. */
export const backendSettings = {
  storage_backend: setting(orNone(backend), 'Where objects are kept; empty serves no objects at all.', {
    default: 'memory',
  }),
  permission_backend: setting(
    orNone(backend),
    'Where permissions are kept; empty leaves only resources that belong to one user.',
    {
      default: 'memory',
    },
  ),
  cache_backend: setting(cacheBackend, 'Where short-lived values are kept.', { default: 'memory' }),
  storage_url: setting(
    optional(databaseUrl),
    'File of the SQLite storage, data/coffer.sqlite3 unless set, or URL of a PostgreSQL database; or of a Redis server, redis://127.0.0.1:6379/0 unless set.',
    {
      default: undefined,
      isSecret: true,
    },
  ),
  permission_url: setting(
    optional(databaseUrl),
    'File of the SQLite permissions, data/coffer.sqlite3 unless set, or URL of a PostgreSQL database; or of a Redis server, redis://127.0.0.1:6379/0 unless set.',
    {
      default: undefined,
      isSecret: true,
    },
  ),
  cache_url: setting(
    optional(databaseUrl),
    'File of a SQLite database beside which the cache is kept, in a file of its own, data/coffer.sqlite3 unless set; or URL of a PostgreSQL database; or of a Redis server, redis://127.0.0.1:6379/0 unless set.',
    {
      default: undefined,
      isSecret: true,
    },
  ),
  cache_hosts: setting(
    list('servers as host:port, separated by spaces or commas'),
    'Memcached servers of the cache, 127.0.0.1:11211 unless set; each has a part of the keys. All processes must name the same ones.',
    { default: [] },
  ),
  cache_prefix: setting(text(), 'Text put before the key of everything in the cache.', { default: '' }),
  cache_max_size_bytes: setting(integer({ min: 1024 }), 'Bytes that the memory cache of one process may take.', {
    default: 524_288,
  }),
  security_state_backend: setting(
    choice('storage', 'memory'),
    'Place of the security state: failed logins, activation keys, temporary passwords, known addresses. `storage` is the database of the objects (with SQLite, a file beside it); `memory` is for read-only services on a standby, and loses the state with the process.',
    { default: 'storage' },
  ),
  security_state_max_entries: setting(
    integer({ min: 100 }),
    'Maximum number of live entries of security state per purpose. New entries beyond it are refused; live ones are never dropped. Purposes of which an account has a few entries at most are exempt.',
    { default: 100_000 },
  ),
  security_state_max_entries_per_requester: setting(
    integer({ min: 10 }),
    'Maximum number of live entries of security state per purpose that one network address may cause; IPv6 addresses count by their first 64 bits. Further requests that need one get 429.',
    { default: 1000 },
  ),
  redis_prefix: setting(
    matching(/^[^{}\s]+$/, 'a text without braces and blanks'),
    'Text before the names of all keys in Redis. Services that share a server need different ones.',
    { default: 'coffer:' },
  ),
  sqlite_memory_mb: setting(
    integer({ min: 0 }),
    'Megabytes, about, of what was read last from SQLite that are kept to answer the same again without asking it; 0: none. What changes is read again, whoever changes it.',
    { default: 32 },
  ),
  sqlite_allow_several_processes: setting(
    flag(),
    'Whether several processes may serve one SQLite file at the same time. When false, the second one does not start.',
    { default: false },
  ),
  sqlite_start_check_mb: setting(
    integer({ min: 0 }),
    'Maximum size in megabytes of a SQLite file of which all pages are checked for damage at each start; 0 means none. Of larger files the start checks the header and the schema, and `coffer check` everything.',
    { default: 64 },
  ),
  sqlite_synchronous: setting(
    choice('FULL', 'NORMAL', 'EXTRA', 'OFF'),
    'How hard SQLite makes sure that writes reach the disk. With FULL an answered write survives a power loss.',
    { default: 'FULL' },
  ),
};
