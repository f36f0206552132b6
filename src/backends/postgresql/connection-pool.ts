// The connections to one server, shared by all backends with the same URL. A unit of work keeps its connection for longer
// and may need a second one meanwhile (a read of committed state, the cache), so units never get the last connection.
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { FairTurns, type Waiting } from '../../base/fair-turns.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { PoolState } from '../../contracts/observer.ts';
import { Connection, type Result, type SqlValue, type Statement } from './connection.ts';
import { isLostConnection, translateError, type BackendName } from './errors.ts';

export interface ConnectionOptions {
  /** `postgresql://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: string;
  /** Number of connections kept open; default 25. */
  readonly size?: number | undefined;
  /** Number of further connections when all are busy, closed when idle; default 10. */
  readonly maxOverflow?: number | undefined;
  /** Maximum number of callers that wait for a connection, before others are refused; -1, the default: unlimited. */
  readonly maxBacklog?: number | undefined;
  /** Age at which a connection is replaced; -1, the default: never. */
  readonly recycleSeconds?: number | undefined;
  /** Maximum time to wait for a connection; default 30. */
  readonly timeoutSeconds?: number | undefined;
  /** Maximum time of one statement; default 30. */
  readonly statementTimeoutSeconds?: number | undefined;
  /** Maximum time that one statement waits for a lock; default 10. */
  readonly lockTimeoutSeconds?: number | undefined;
  /** Whether a pooler such as PgBouncer in transaction mode is between service and server. */
  readonly isPooled?: boolean | undefined;
}

/** Maximum times of statements in milliseconds. */
export interface Timeouts {
  /** Of one statement. */
  readonly statementMs: number;
  /** Of its wait for a lock. */
  readonly lockMs: number;
}

/** Maximum time without a response beyond the statement timeout of the server. */
const maxGraceMs = 5000;
const idleTimeoutMs = 30_000;
const keepAliveMs = 10_000;
/** Limit of an idle transaction, so that a process that hangs does not keep its locks. */
const idleInTransactionMs = 60_000;

/** Part of the places of units of work that one party may have. */
const partOfParty = 3 / 4;
/** Maximum number of statements that share a connection. */
const maxShared = 16;

interface Shared {
  readonly connection: Promise<Connection>;
  users: number;
}

export class ConnectionPool {
  /** Host and port of the server, for messages. */
  readonly place: string;
  readonly #pool: Pool;
  readonly #options: ConnectionOptions;
  readonly #maxUnits: number;
  readonly #maxBacklog: number;
  readonly #timeoutMs: number;
  /** Places of units of work, which parties share. One party cannot have all. */
  readonly #units: FairTurns;
  /** Time at which each connection was opened, by the monotonic clock. */
  readonly #births = new WeakMap<PoolClient, number>();
  /** Connections opened earlier are not used any more: the server or the network may have dropped them. */
  #trustedSince = 0;
  #shared: Shared | undefined;
  #users = 0;

  constructor(options: ConnectionOptions) {
    const { size = 25, maxOverflow = 10, maxBacklog = -1, timeoutSeconds = 30 } = options;
    this.#options = options;
    // One for a unit of work, and one for its reads of committed state.
    const max = Math.max(2, size + maxOverflow);
    this.#maxUnits = max - 1;
    this.#units = new FairTurns({
      atOnce: this.#maxUnits,
      ofParty: Math.max(1, Math.floor(this.#maxUnits * partOfParty)),
    });
    this.#maxBacklog = maxBacklog;
    this.#timeoutMs = timeoutSeconds * 1000;
    this.place = placeOf(options.url);
    this.#pool = new Pool(configure(options, max, Math.min(size, max)));
    // An idle connection broke. The pool has removed it already.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => {
      this.#births.set(client, performance.now());
      // A connection may also break while no backend uses it. Without a listener the error would end the process.
      client.on('error', () => {});
    });
  }

  /** Counts another user of the pool, which is closed when the last one leaves. */
  share(): this {
    this.#users++;
    return this;
  }

  /** Ends the use of the pool. */
  async leave(): Promise<void> {
    this.#users--;
    if (this.#users === 0 && !this.#pool.ending) await this.#pool.end();
  }

  /** Returns the current use of the connections. */
  get state(): PoolState {
    const { totalCount: open, idleCount: idle, waitingCount } = this.#pool;
    return { limit: this.#maxUnits + 1, open, idle, waiting: waitingCount + this.#units.waiting };
  }

  /** Whether a pooler such as PgBouncer in transaction mode stands between, where no session is kept. */
  get isPooled(): boolean {
    return this.#options.isPooled === true;
  }

  /**
   * Creates a connection of its own, with the options of the pool, that does not count as one of it. It is not connected yet.
   *
   * @param name name under which the server lists it
   * @param timeoutMs how long connecting and each statement may take
   */
  createClient(name: string, timeoutMs: number): Client {
    return new Client({
      ...configure(this.#options, 1, 1),
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
      fallback_application_name: name,
    });
  }

  /** Maximum times of statements. */
  get timeouts(): Timeouts {
    return timeoutsOf(this.#options);
  }

  /** First statement of each transaction, where a pooler keeps no settings in the session. */
  get opening(): Statement | undefined {
    if (this.#options.isPooled !== true) return undefined;
    const { statementMs, lockMs } = this.timeouts;
    return {
      text: `SELECT set_config('statement_timeout', '${statementMs}', true), set_config('lock_timeout', '${lockMs}', true),
        set_config('idle_in_transaction_session_timeout', '${idleInTransactionMs}', true)`,
    };
  }

  /**
   * Takes a connection for a unit of work.
   *
   * @param party party of the requester, as in `BeginOptions`
   * @throws BackendUnavailable
   */
  async takeForUnit(party?: string): Promise<Connection> {
    const leave = await this.#admitUnit(party);
    try {
      return await this.#take('storage', leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Runs one statement outside any unit of work. When its connection turns out to be broken, the statement runs again on
   * another one, so it must be safe to run twice.
   *
   * @throws BackendUnavailable
   */
  async run(backend: BackendName, statement: Statement, values: readonly SqlValue[]): Promise<Result> {
    try {
      return await this.#runOnce(backend, statement, values);
    } catch (error) {
      if (!isLostConnection(error)) throw translateError(error, backend, this.place);
    }
    try {
      return await this.#runOnce(backend, statement, values);
    } catch (error) {
      throw translateError(error, backend, this.place);
    }
  }

  async #runOnce(backend: BackendName, statement: Statement, values: readonly SqlValue[]): Promise<Result> {
    if (statement.isQuick === true) return this.#runShared(backend, statement, values);
    const connection = await this.#take(backend);
    try {
      return await connection.run(statement, values);
    } finally {
      connection.release();
    }
  }

  /** Sends the quick statements of one turn of the event loop over one connection, one after another. */
  async #runShared(backend: BackendName, statement: Statement, values: readonly SqlValue[]): Promise<Result> {
    this.#shared ??= this.#openShared(backend);
    const shared = this.#shared;
    shared.users++;
    if (shared.users === maxShared) this.#shared = undefined;
    try {
      const connection = await shared.connection;
      return await connection.run(statement, values);
    } finally {
      shared.users--;
      this.#closeIfUnused(shared);
    }
  }

  #openShared(backend: BackendName): Shared {
    const shared = { connection: this.#take(backend), users: 0 };
    setImmediate(() => {
      if (this.#shared === shared) this.#shared = undefined;
      this.#closeIfUnused(shared);
    });
    return shared;
  }

  #closeIfUnused(shared: Shared): void {
    if (shared.users > 0 || this.#shared === shared) return;
    // The callers have received the error of a failed connection. Only the first release has an effect.
    shared.connection.then((connection) => connection.release()).catch(() => {});
  }

  async #take(backend: BackendName, onRelease = (): void => {}): Promise<Connection> {
    this.#requireRoomToWait(backend);
    try {
      const client = await this.#connect();
      const silent = (): void => void (this.#trustedSince = performance.now());
      return new Connection(client, this.place, this.#options.isPooled !== true, { released: onRelease, silent });
    } catch (error) {
      throw translateError(error, backend, this.place);
    }
  }

  /** Takes a connection. After a silence of the network it discards old ones, each of which would time out first. */
  async #connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if ((this.#births.get(client) ?? 0) >= this.#trustedSince) return client;
      client.connection.stream.destroy();
      client.release(true);
    }
  }

  #requireRoomToWait(backend: BackendName): void {
    if (this.#maxBacklog < 0 || this.#pool.idleCount > 0) return;
    const waiting = this.#pool.waitingCount + this.#units.waiting;
    const isFull = this.#pool.totalCount >= this.#maxUnits + 1;
    if (isFull && waiting >= this.#maxBacklog) {
      throw new BackendUnavailable(backend, 'all PostgreSQL connections are busy, and too many callers wait for one');
    }
  }

  /** Waits for the place of a unit; returns what gives it back. */
  #admitUnit(party: string | undefined): Promise<() => void> {
    if (
      this.#maxBacklog >= 0 &&
      this.#units.isFull &&
      this.#units.waiting + this.#pool.waitingCount >= this.#maxBacklog
    ) {
      throw new BackendUnavailable('storage', 'all PostgreSQL connections are busy, and too many callers wait for one');
    }
    const whenGone: Waiting['whenGone'] = (abandon) => {
      const timer = setTimeout(
        () => abandon(new BackendUnavailable('storage', 'no PostgreSQL connection became free in time'), true),
        this.#timeoutMs,
      );
      return () => clearTimeout(timer);
    };
    return this.#units.enter({ party, whenGone });
  }
}

/** Returns host and port of the server. The URL may leave them to parameters and to the environment. */
function placeOf(url: string): string {
  const { host, port } = new Client({ connectionString: url });
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function timeoutsOf(options: ConnectionOptions): Timeouts {
  const { statementTimeoutSeconds = 30, lockTimeoutSeconds = 10 } = options;
  return { statementMs: Math.ceil(statementTimeoutSeconds * 1000), lockMs: Math.ceil(lockTimeoutSeconds * 1000) };
}

function configure(options: ConnectionOptions, max: number, min: number): PoolConfig {
  const { url, recycleSeconds = -1, timeoutSeconds = 30, isPooled = false } = options;
  const { statementMs, lockMs } = timeoutsOf(options);
  return {
    connectionString: url,
    max,
    min,
    idleTimeoutMillis: idleTimeoutMs,
    connectionTimeoutMillis: timeoutSeconds * 1000,
    ...(recycleSeconds > 0 ? { maxLifetimeSeconds: recycleSeconds } : {}),
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    query_timeout: statementMs + Math.min(maxGraceMs, statementMs),
    // Poolers refuse parameters that they do not know.
    ...(isPooled
      ? {}
      : {
          statement_timeout: statementMs,
          lock_timeout: lockMs,
          idle_in_transaction_session_timeout: idleInTransactionMs,
          fallback_application_name: 'coffer',
        }),
  };
}
