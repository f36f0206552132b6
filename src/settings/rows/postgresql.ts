// Settings of the PostgreSQL backends: the connections of each kind, of which Redis uses two, and how they are used.
import { setting, type Setting } from '../definition.ts';
import { duration, flag, integer } from '../readers.ts';

const poolRows = {
  pool_size: setting(
    integer({ min: 1, max: 10_000 }),
    'Connections kept open to PostgreSQL. With Redis: commands that one process may have under way at the same time, 50 unless set; they share one connection, pipelined.',
    { default: 25 },
  ),
  max_overflow: setting(
    integer({ min: 0, max: 10_000 }),
    'Further connections to PostgreSQL when all are busy, closed when they have been idle for a while.',
    { default: 5 },
  ),
  max_backlog: setting(
    integer({ min: -1 }),
    'Callers that may wait for a connection to PostgreSQL, or commands for their place in the pool of Redis, before others are refused with 503; -1: any number. As many commands may wait for a lost connection to Redis to come back; -1: 1000.',
    { default: -1 },
  ),
  pool_recycle: setting(
    integer({ min: -1 }),
    'Age in seconds at which a connection to PostgreSQL is replaced by a new one; -1: never.',
    { default: -1 },
  ),
  pool_timeout: setting(
    duration({ min: 0.001, max: 3600 }),
    'How long to wait for a connection to PostgreSQL, or for a place in the pool of Redis, before the request is refused with 503. With Redis and memcached also how long a command may take; with Redis also how long writers to one list wait for each other.',
    { default: 30 },
  ),
};

type PoolRows<Kind extends string> = {
  readonly [Key in keyof typeof poolRows as `${Kind}_${Key}`]: (typeof poolRows)[Key];
};

/** The rows of one kind of backend. Kinds with the same URL share the connections of the first. */
function poolSettings<const Kind extends string>(kind: Kind): PoolRows<Kind> {
  const rows = Object.entries<Setting<number>>(poolRows).map(([key, row]) => {
    const aliases = key === 'max_overflow' ? [`${kind}_maxoverflow`] : [];
    const sentence = `${row.sentence} PostgreSQL backends with the same URL share connections, by the settings of the first of storage, permission and cache.`;
    return [`${kind}_${key}`, { ...row, sentence, aliases }];
  });
  return Object.fromEntries(rows) as PoolRows<Kind>;
}

/** Connections to PostgreSQL. */
export const postgresqlSettings = {
  ...poolSettings('storage'),
  ...poolSettings('permission'),
  ...poolSettings('cache'),
  postgresql_statement_timeout_seconds: setting(
    duration({ min: 0.01, max: 3600 }),
    'How long PostgreSQL may work on one statement. A server that does not answer at all is given up 5 seconds later, or after twice the time if that is less.',
    { default: 30 },
  ),
  postgresql_lock_timeout_seconds: setting(
    duration({ min: 0.01, max: 3600 }),
    'How long a request may wait for others that write to the same list.',
    { default: 10 },
  ),
  postgresql_long_reads: setting(
    integer({ min: 0 }),
    'How many reads of one process may go through long lists at the same time, because they filter or sort them by an attribute, or because an object names very many principals; others of that kind wait for their turn. Each may keep several processors of the server busy. 0: any number.',
    { default: 1 },
  ),
  postgresql_transaction_pooling: setting(
    flag(),
    'Whether a pooler such as PgBouncer in transaction mode stands before PostgreSQL. Then nothing is kept in a session: no prepared statements, and timeouts are told with each transaction.',
    { default: false },
  ),
};
