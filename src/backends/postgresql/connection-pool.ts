// The connections to one server, shared by all backends with the same URL. Units of work hold a connection for longer
// and may need a second one meanwhile (a read of committed state, the cache), so they never get the last one.
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { PoolState } from '../../contracts/observer.ts';
import { Connection, type Result, type SqlValue, type Statement } from './connection.ts';
import { isLostConnection, translateError, type BackendName } from './errors.ts';

export interface ConnectionOptions {
  /** `postgresql://user:password@host:port/database`, with the parameters that libpq knows. */
  readonly url: string;
  /** Connections kept open; default 25. */
  readonly size?: number | undefined;
  /** Further connections when all are busy, closed when idle; default 10. */
  readonly maxOverflow?: number | undefined;
  /** Callers that may wait for a connection before others are refused; -1, the default: any number. */
  readonly maxBacklog?: number | undefined;
  /** Age at which a connection is replaced; -1, the default: never. */
  readonly recycleSeconds?: number | undefined;
  /** How long to wait for a connection; default 30. */
  readonly timeoutSeconds?: number | undefined;
  /** How long one statement may take; default 30. */
  readonly statementTimeoutSeconds?: number | undefined;
  /** How long one statement may wait for a lock; default 10. */
  readonly lockTimeoutSeconds?: number | undefined;
  /** Whether a pooler such as PgBouncer in transaction mode stands between. */
  readonly isPooled?: boolean | undefined;
}

/** How long a server may be silent, at most, beyond the time that it allows a statement itself. */
const maxGraceMs = 5000;
const idleTimeoutMs = 30_000;
const keepAliveMs = 10_000;
/** A process that hangs must not keep its locks for ever. */
const idleInTransactionMs = 60_000;

/** Statements that share a connection, at most. */
const maxShared = 16;

type Waiting = { readonly admit: () => void };

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
  readonly #waiting = new Set<Waiting>();
  /** When each connection was made, by the monotonic clock. */
  readonly #births = new WeakMap<PoolClient, number>();
  /** Connections made before are not used any more: the server, or the network, may have forgotten them. */
  #trustedSince = 0;
  #shared: Shared | undefined;
  #units = 0;
  #users = 0;

  constructor(options: ConnectionOptions) {
    const { size = 25, maxOverflow = 10, maxBacklog = -1, timeoutSeconds = 30 } = options;
    this.#options = options;
    // One for a unit of work and one for what it needs beside it.
    const max = Math.max(2, size + maxOverflow);
    this.#maxUnits = max - 1;
    this.#maxBacklog = maxBacklog;
    this.#timeoutMs = timeoutSeconds * 1000;
    this.place = placeOf(options.url);
    this.#pool = new Pool(configure(options, max, Math.min(size, max)));
    // An idle connection broke, and is gone from the pool already.
    this.#pool.on('error', () => {});
    this.#pool.on('connect', (client) => {
      this.#births.set(client, performance.now());
      // A connection may also break between two owners, and what nobody listens to ends the process.
      client.on('error', () => {});
    });
  }

  /** Counts another user of the pool, which closes when the last one lets go. */
  share(): this {
    this.#users++;
    return this;
  }

  /** Ends the use of the pool. */
  async leave(): Promise<void> {
    this.#users--;
    if (this.#users === 0 && !this.#pool.ending) await this.#pool.end();
  }

  /** How the connections are used at the moment. */
  get state(): PoolState {
    const { totalCount: open, idleCount: idle, waitingCount } = this.#pool;
    return { limit: this.#maxUnits + 1, open, idle, waiting: waitingCount + this.#waiting.size };
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

  /** How long one statement may wait for a lock. */
  get lockMs(): number {
    return timeouts(this.#options).lockMs;
  }

  /** What a transaction has to say first, where the session cannot say it once for all. */
  get opening(): Statement | undefined {
    if (this.#options.isPooled !== true) return undefined;
    const { statementMs, lockMs } = timeouts(this.#options);
    return {
      text: `SELECT set_config('statement_timeout', '${statementMs}', true), set_config('lock_timeout', '${lockMs}', true),
        set_config('idle_in_transaction_session_timeout', '${idleInTransactionMs}', true)`,
    };
  }

  /**
   * A connection for a unit of work.
   *
   * @throws BackendUnavailable
   */
  async takeForUnit(): Promise<Connection> {
    await this.#admitUnit();
    try {
      return await this.#take('storage', () => this.#leaveUnit());
    } catch (error) {
      this.#leaveUnit();
      throw error;
    }
  }

  /**
   * Runs one statement outside any unit of work. It is run again on another connection when its own turns out to be
   * broken, so it has to be one that may run twice.
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

  /** Quick statements that come in one turn of the event loop go over one connection, one behind the other. */
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
    // Those who wanted it were told if it could not be had; the first release is the only one.
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

  /** After a silence of the network each old connection would have to be found out by waiting for it in vain. */
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
    const waiting = this.#pool.waitingCount + this.#waiting.size;
    const isFull = this.#pool.totalCount >= this.#maxUnits + 1;
    if (isFull && waiting >= this.#maxBacklog) {
      throw new BackendUnavailable(backend, 'all PostgreSQL connections are busy, and enough callers wait for one');
    }
  }

  async #admitUnit(): Promise<void> {
    if (this.#units < this.#maxUnits) {
      this.#units++;
      return;
    }
    if (this.#maxBacklog >= 0 && this.#waiting.size + this.#pool.waitingCount >= this.#maxBacklog) {
      throw new BackendUnavailable('storage', 'all PostgreSQL connections are busy, and enough callers wait for one');
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(new BackendUnavailable('storage', 'no PostgreSQL connection became free in time'));
      }, this.#timeoutMs);
      const waiting = {
        admit: (): void => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting.add(waiting);
    });
  }

  /** Hands the place of a unit to the one that waits longest. */
  #leaveUnit(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#units--;
    else {
      this.#waiting.delete(next);
      next.admit();
    }
  }
}

/** Returns where the driver connects to: the URL may leave it to parameters and to the environment. */
function placeOf(url: string): string {
  const { host, port } = new Client({ connectionString: url });
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function timeouts(options: ConnectionOptions): { readonly statementMs: number; readonly lockMs: number } {
  const { statementTimeoutSeconds = 30, lockTimeoutSeconds = 10 } = options;
  return { statementMs: Math.ceil(statementTimeoutSeconds * 1000), lockMs: Math.ceil(lockTimeoutSeconds * 1000) };
}

function configure(options: ConnectionOptions, max: number, min: number): PoolConfig {
  const { url, recycleSeconds = -1, timeoutSeconds = 30, isPooled = false } = options;
  const { statementMs, lockMs } = timeouts(options);
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
