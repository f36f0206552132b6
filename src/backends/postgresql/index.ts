// The PostgreSQL backend: its description, settings and openers. The driver is loaded when a database is opened.
import type { BuiltInBackend } from '../../contracts/backend-module.ts';
import { type BackendKind } from '../../settings/backend-description.ts';
import { refuseUrl, withoutPasswords } from '../../settings/backend-settings.ts';
import { setting } from '../../settings/definition.ts';
import { duration, flag, integer } from '../../settings/readers.ts';
import type { Settings } from '../../settings/settings.ts';
import type { ConnectionPool } from './connection-pool.ts';

const bytesPerMegabyte = 1_048_576;
const urlForm = 'postgresql://user:password@host:port/database';

const settings = {
  postgresql_statement_timeout_seconds: setting(
    duration({ min: 0.01, max: 3600 }),
    'Maximum seconds that PostgreSQL may work on one statement. A server that does not answer at all is given up 5 seconds later, or after twice the time if that is less.',
    { default: 30 },
  ),
  postgresql_lock_timeout_seconds: setting(
    duration({ min: 0.01, max: 3600 }),
    'Maximum seconds that a request waits for others that write to the same list. Queries with filters or sorts of one request may take half of it together while the request holds locks.',
    { default: 10 },
  ),
  postgresql_long_reads: setting(
    integer({ min: 0 }),
    'Maximum number of long reads of one process at the same time; 0 means unlimited. Further ones wait, and users share the turns. Up to four reads that take longer than half a second make room for others, and one user has one more at the same time than there are turns. A read is long when it filters or sorts a long list by an attribute, when its page has long texts, or when an object names very many principals. Each may keep several processors of the server busy, or memory of the process.',
    { default: 1 },
  ),
  postgresql_memory_mb: setting(
    integer({ min: 0 }),
    'Approximate megabytes of small lists that the process caches for filters and sorting; 0 means none. Each read asks the database whether they have changed.',
    { default: 32 },
  ),
  postgresql_transaction_pooling: setting(
    flag(),
    'Whether a pooler such as PgBouncer in transaction mode stands before PostgreSQL. Then nothing is kept in a session: no statements are prepared, and each transaction sets its timeouts.',
    { default: false },
  ),
};

/** Keeps everything in a PostgreSQL database, for any number of processes. */
export const postgresql: BuiltInBackend = {
  name: 'postgresql',
  title: 'PostgreSQL',
  kinds: ['storage', 'permission', 'cache'],
  url: {
    forms: urlForm,
    ownForms: urlForm,
    names: () => 'the URL of a database',
    example: 'postgresql://coffer:password@localhost:5432/coffer',
    isOwn: (url) => findPostgresqlUrl(url) !== undefined,
  },
  settings,
  needsMigration: true,

  readPlace(all, kind) {
    const key = readUrl(all, kind);
    return { key, text: withoutPasswords(all.get(`${kind}_url`) ?? key) };
  },

  async openDatabase({ kind, settings: all, clock }) {
    const { openPostgresDatabase } = await import('./database.ts');
    const { createPostgresStorage } = await import('./storage.ts');
    const { createPostgresPermission } = await import('./permission.ts');
    const { openPostgresSecurityState } = await import('./security-state.ts');
    const { openPostgresCache } = await import('./cache.ts');
    const pool = await openPool(all, kind);
    const { postgresql_long_reads: longReads, postgresql_memory_mb: megabytes } = all.read(settings);
    const database = openPostgresDatabase({ pool, clock, longReads, cacheBytes: megabytes * bytesPerMegabyte });
    return {
      database,
      storage: () => createPostgresStorage(database),
      permission: () => createPostgresPermission(database),
      securityState: (limits) => openPostgresSecurityState({ ...limits, pool, clock }),
      cache: () => openPostgresCache({ pool, clock, prefix: all.get('cache_prefix') }),
    };
  },

  async openCache({ kind, settings: all, clock }) {
    const { openPostgresCache } = await import('./cache.ts');
    return openPostgresCache({ pool: await openPool(all, kind), clock, prefix: all.get('cache_prefix') });
  },
};

function readUrl(all: Settings, kind: BackendKind): string {
  return findPostgresqlUrl(all.get(`${kind}_url`)) ?? refuseUrl(kind, urlForm);
}

async function openPool(all: Settings, kind: BackendKind): Promise<ConnectionPool> {
  const { ConnectionPool } = await import('./connection-pool.ts');
  const own = all.read(settings);
  return new ConnectionPool({
    url: readUrl(all, kind),
    size: all.get(`${kind}_pool_size`),
    maxOverflow: all.get(`${kind}_max_overflow`),
    maxBacklog: all.get(`${kind}_max_backlog`),
    recycleSeconds: all.get(`${kind}_pool_recycle`),
    timeoutSeconds: all.get(`${kind}_pool_timeout`),
    statementTimeoutSeconds: own.postgresql_statement_timeout_seconds,
    lockTimeoutSeconds: own.postgresql_lock_timeout_seconds,
    isPooled: own.postgresql_transaction_pooling,
  });
}

/**
 * Returns the URL of `storage_url` and similar settings in the form of the driver. Accepts `postgresql://`, `postgres://`
 * and, from existing deployments, the name of a Python driver after `+`. `undefined` for other URLs.
 */
function findPostgresqlUrl(url: string | undefined): string | undefined {
  const match = /^postgres(?:ql)?(?:\+[a-z0-9]+)?:\/\/(.*)$/is.exec(url ?? '');
  if (match === null) return undefined;
  const normal = `postgresql://${match[1]}`;
  // A host is required before the path, or as a parameter such as `host`.
  return URL.canParse(normal) || /^postgresql:\/\/\/?[^/]*\?/.test(normal) ? normal : undefined;
}
