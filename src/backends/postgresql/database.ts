// A PostgreSQL database for the storage and permission backends. Any number of processes may share it: everything they must
// agree on is in its rows. What a process caches has a version, which each read asks for.
import type { Clock } from '../../base/clock.ts';
import { createSmallLists, type SmallLists } from '../../core/lists/small-lists.ts';
import type { BeginOptions, Database, ConditionalWrite, Transaction } from '../../contracts/database.ts';
import type { ChangeHints } from '../../contracts/change-hints.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { PoolState } from '../../contracts/observer.ts';
import type { Requester } from '../../contracts/requester.ts';
import { SharedHints } from '../hints/shared-hints.ts';
import { Background } from '../sql/background.ts';
import { accessUnit, CommittedAccess, type Access, type CommittedSources, type UnitAccess } from './access.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { ScanTarget } from './connection.ts';
import { readDialect, type Dialect } from './dialect.ts';
import type { BackendName } from './errors.ts';
import { QueryBatchers } from './query-batcher.ts';
import { ListQueue } from './list-queue.ts';
import { ListLocks } from './list-locks.ts';
import { ConditionalWrites } from './conditional-writes.ts';
import { LongReads } from './long-reads.ts';
import { NotifyTransport } from './notify-transport.ts';
import { initializeComponent } from './migrate.ts';
import { reapChunk } from './reaper.ts';
import { databaseComponent } from './schema.ts';
import { PostgresUnit } from './unit.ts';

export interface PostgresDatabaseOptions {
  readonly pool: ConnectionPool;
  readonly clock: Clock;
  /**
   * Maximum number of simultaneous reads that scan long lists, and of those that scan long entries; 0: unlimited. Default
   * 1.
   */
  readonly longReads?: number | undefined;
  /** Approximate size of the cache of small lists, in bytes; 0: none. Default 32 MB. */
  readonly cacheBytes?: number | undefined;
}

export interface PostgresDatabase extends Database {
  readonly clock: Clock;
  /** Returns access to committed state, outside any unit of work. */
  committed(backend: BackendName, requester?: Requester): Access;
  /** Returns access inside a transaction that this database opened. */
  within(transaction: Transaction, backend: BackendName): UnitAccess;
  /** Returns the lists that the transaction has locked. */
  listsOf(transaction: Transaction): ListLocks;
  /** Starts the reaper, after rows became unreachable. */
  wakeReaper(): void;
  /** Deletes at once what the reaper would delete in chunks. */
  reapAll(): Promise<void>;
}

/** Opens a database on the connections of the pool. Nothing is sent before its first use. */
export function openPostgresDatabase({
  pool,
  clock,
  longReads = 1,
  cacheBytes,
}: PostgresDatabaseOptions): PostgresDatabase {
  const ofKind = {
    list: new LongReads({ atOnce: longReads, longMs: 50 }),
    page: new LongReads({ atOnce: longReads, longMs: 50 }),
    longPage: new LongReads({ atOnce: longReads, longMs: 0 }),
    // Their results have hundreds of kilobytes. Several at a time would keep the service itself busy.
    entries: new LongReads({ atOnce: longReads, longMs: 10 }),
  };
  return new OpenDatabase(pool.share(), clock, ofKind, createSmallLists(cacheBytes));
}

/** Size of the tables with their indexes. The catalogue and the file system know it. */
const sizeQuery = `SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class
  WHERE relkind = 'r' AND relname LIKE 'coffer\\_%' AND pg_table_is_visible(oid)`;

type LongReadsByKind = Readonly<Record<ScanTarget['of'], LongReads>>;

class OpenDatabase implements PostgresDatabase {
  readonly name = 'postgresql';
  readonly isRemote = true;
  readonly abilities = { rollback: true, durable: true, atomicAcrossParents: true, textSearch: true };
  readonly needsMigration = true;
  readonly poolState = (): PoolState => this.#pool.state;
  readonly openHints?: (options: { readonly logger: Logger }) => ChangeHints;
  readonly clock: Clock;
  readonly #pool: ConnectionPool;
  readonly #reaper: Background;
  readonly #sources: CommittedSources;
  readonly #conditionalWrites: ConditionalWrites;
  readonly #queue = new ListQueue();
  readonly #units = new Map<PostgresUnit, ListLocks>();
  #dialect: Promise<Dialect> | undefined;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(pool: ConnectionPool, clock: Clock, longReads: LongReadsByKind, smallLists: SmallLists | undefined) {
    this.#pool = pool;
    this.clock = clock;
    const dialect = (): Promise<Dialect> => this.#readDialect();
    this.#sources = { pool, batchers: new QueryBatchers(pool), longReads, dialect, smallLists };
    this.#conditionalWrites = new ConditionalWrites(pool);
    this.#reaper = new Background(() => reapChunk(pool));
    if (!pool.isPooled) this.openHints = ({ logger }) => new SharedHints(new NotifyTransport(pool), logger);
  }

  async begin({ mayShare = false, party }: BeginOptions = {}): Promise<Transaction> {
    this.#requireOpen();
    const connection = await this.#pool.takeForUnit(party);
    const { opening, timeouts } = this.#pool;
    const onEnd = (): void => this.#forget(unit);
    const unit = new PostgresUnit({ connection, opening, queue: this.#queue, timeouts, mayShare, onEnd });
    this.#units.set(unit, new ListLocks(unit));
    return unit;
  }

  async writeConditionally(write: ConditionalWrite): Promise<number | undefined> {
    this.#requireOpen();
    return this.#conditionalWrites.write(write, this.clock.now());
  }

  committed(backend: BackendName, requester?: Requester): Access {
    return new CommittedAccess(this.#sources, backend, requester);
  }

  within(transaction: Transaction, backend: BackendName): UnitAccess {
    const unit = this.#requireUnit(transaction);
    const lists = this.listsOf(unit);
    return accessUnit(
      unit,
      () => this.#readDialect(),
      backend,
      () => lists.settleAll(),
    );
  }

  listsOf(transaction: Transaction): ListLocks {
    return this.#units.get(this.#requireUnit(transaction))!;
  }

  wakeReaper(): void {
    this.#reaper.wake();
  }

  async reapAll(): Promise<void> {
    while (await reapChunk(this.#pool));
  }

  async initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]> {
    this.#requireOpen();
    const steps = await initializeComponent(this.#pool, 'storage', databaseComponent, options);
    // An earlier process may have left pending deletions.
    if (!options.dryRun || steps.length === 0) this.#reaper.wake();
    return steps;
  }

  async refreshStatistics(): Promise<void> {
    const tables = ['lists', 'objects', 'tombstones', 'memberships', 'folders', 'entries'];
    const text = `ANALYZE ${tables.map((table) => `coffer_${table}`).join(', ')}`;
    await this.#pool.run('storage', { text }, []);
  }

  async readSizeBytes(): Promise<number> {
    const { rows } = await this.#pool.run('storage', { text: sizeQuery }, []);
    return Number(rows[0]?.[0] ?? 0);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    if (this.#units.size > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await this.#reaper.stop();
    await this.#pool.leave();
  }

  /** Reads the dialect once. A failure is not kept, so the next query reads it again. */
  #readDialect(): Promise<Dialect> {
    this.#dialect ??= readDialect((statement, values) => this.#pool.run('storage', statement, values)).catch(
      (error: unknown) => {
        this.#dialect = undefined;
        throw error;
      },
    );
    return this.#dialect;
  }

  #requireUnit(transaction: Transaction): PostgresUnit {
    if (transaction instanceof PostgresUnit && this.#units.has(transaction)) return transaction;
    throw new Error('the transaction belongs to another database, or has ended');
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new BackendUnavailable('storage', 'the PostgreSQL database is closed');
  }

  #forget(unit: PostgresUnit): void {
    this.#units.delete(unit);
    if (this.#units.size === 0) this.#idle?.();
  }
}
