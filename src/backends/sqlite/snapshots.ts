// Reads of durable state. Short reads run at once and share one snapshot until the event loop turns. Their cache has what
// that snapshot, or an earlier one with the same data, has returned. Long reads have connections of their own, whose
// snapshots last while other requests run. While a commit is being flushed to the disk, reads see the state before it.
import { FairTurns } from '../../base/fair-turns.ts';
import { runWithPauses, type Steps } from '../../base/steps.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { noRequester, type Requester } from '../../contracts/requester.ts';
import type { Connection } from './connection.ts';
import { translateError, type BackendName } from './errors.ts';
import type { Changes, ReadCache } from './read-cache.ts';

/**
 * Long reads at the same time; more wait for their turn, which parties share. Each has a connection of its own. Places of one
 * party and of one network are fewer, and a read that takes long makes room for others: `max_query_work` may take half a minute.
 */
const longReads = { atOnce: 3, ofParty: 2, ofGroup: 4, lateMs: 500, maxLate: 3 };

export interface SnapshotSources {
  /** Opens a read-only connection. */
  readonly open: () => Connection;
  /** Connection of the only writer of this process. */
  readonly writer: Pick<Connection, 'dataVersion'>;
  /** Cache of short reads. */
  readonly cache: ReadCache;
  /** Called with each driver error of a read. */
  readonly failed?: (error: unknown) => void;
}

export class Snapshots {
  readonly #open: () => Connection;
  readonly #writer: Pick<Connection, 'dataVersion'>;
  readonly #cache: ReadCache;
  readonly #failed: ((error: unknown) => void) | undefined;
  #short: Connection;
  /** Whether the shared snapshot could not be ended, so that its connection would continue to read outdated state. */
  #isStuck = false;
  /** Version of the data in the shared snapshot, which changes with every commit, including those of our own writer. */
  #seen: number | undefined;
  /** Version that the writer sees, which changes with commits of other connections. The snapshot of `#seen` has them all. */
  #foreign: number | undefined;
  readonly #free: Connection[] = [];
  readonly #turns = new FairTurns(longReads);
  #longReads = 0;
  /** Number of long reads that hold a snapshot. */
  #longSnapshots = 0;
  /** Whether long reads have to wait before they begin. */
  #areLongReadsBlocked = false;
  /** Called when the last of these snapshots has ended. */
  #drained: (() => void) | undefined;
  #closed = false;
  /** Ends the shared snapshot when the event loop turns. */
  #turnEnd: NodeJS.Immediate | undefined;
  #idle: (() => void) | undefined;
  /** Whether a commit is being flushed to the disk. */
  #isHeld = false;
  /** Long reads that wait for permission to begin. */
  readonly #held: (() => void)[] = [];
  #failure: BackendUnavailable | undefined;

  constructor({ open, writer, cache, failed }: SnapshotSources) {
    this.#open = open;
    this.#writer = writer;
    this.#cache = cache;
    this.#failed = failed;
    this.#short = open();
  }

  /** Runs an operation without interruption, in one snapshot and with the cache of it. */
  run<T>(backend: BackendName, operation: (connection: Connection, cache: ReadCache) => T): T {
    this.#requireUsable(backend);
    return this.#guard(backend, () => {
      this.#openSnapshot();
      this.#turnEnd ??= setImmediate(() => {
        this.#turnEnd = undefined;
        this.#refresh();
      });
      return operation(this.#short, this.#cache);
    });
  }

  /** Runs the operation; reports an error that it throws, and translates it. */
  #guard<T>(backend: BackendName, operation: () => T): T {
    try {
      return operation();
    } catch (error) {
      this.#failed?.(error);
      throw translateError(error, backend);
    }
  }

  /**
   * Runs all steps in one snapshot. A read that yields is long: it is started again on a connection of its own, without the
   * cache, since it has a snapshot of its own.
   */
  async read<T>(
    backend: BackendName,
    read: (connection: Connection, cache: ReadCache | undefined) => Steps<T>,
    requester: Requester = noRequester,
  ): Promise<T> {
    const first = this.run(backend, (connection, cache) => read(connection, cache).next());
    if (first.done === true) return first.value;
    return this.#readLong(backend, requester, (connection) => read(connection, undefined));
  }

  /** Hides later commits from reads until `release`. */
  hold(): void {
    this.#openSnapshot();
    this.#isHeld = true;
  }

  /** Lets later reads see all commits, and removes what they have changed from the cache. */
  release(changes: Changes): void {
    this.#cache.forget(changes);
    this.#letGo();
  }

  #letGo(): void {
    this.#isHeld = false;
    this.#refresh();
    for (const go of this.#held.splice(0)) go();
  }

  /** Refuses all later reads: the last commit may be lost, and must not be seen while its outcome is unknown. */
  fail(failure: BackendUnavailable): void {
    this.#failure = failure;
    this.#letGo();
  }

  #openSnapshot(): void {
    if (this.#isStuck) this.#replaceShort();
    if (!this.#short.inTransaction) this.#begin();
  }

  #replaceShort(): void {
    const successor = this.#open();
    closeQuietly(this.#short);
    this.#short = successor;
    this.#isStuck = false;
    // The cache belongs to the snapshot that could not be ended.
    this.#cache.forgetAll();
    this.#seen = undefined;
  }

  /** Opens the shared snapshot, and clears the cache unless the cache agrees with it. */
  #begin(): void {
    try {
      const version = this.#takeSnapshot();
      if (version === this.#seen) return;
      // The changes of our own writer since the last snapshot left the cache on release. The version that the writer sees
      // now counts the commits of other connections before this snapshot, and possibly some after it.
      const foreign = this.#writer.dataVersion;
      if (foreign === this.#foreign) {
        this.#seen = version;
        return;
      }
      this.#cache.forgetAll();
      // The snapshot has to include the later ones, because this version does not count them again.
      this.#short.run('COMMIT');
      this.#seen = this.#takeSnapshot();
      this.#foreign = foreign;
    } catch (error) {
      // Otherwise the next read would assume that the cache agrees with this snapshot.
      this.#isStuck = !endSnapshot(this.#short);
      throw error;
    }
  }

  /** Takes a snapshot by reading the version; BEGIN alone takes none. */
  #takeSnapshot(): number {
    this.#short.run('BEGIN');
    return this.#short.dataVersion;
  }

  #refresh(): void {
    if (!this.#isHeld && !this.#closed) this.#isStuck = !endSnapshot(this.#short);
  }

  #requireUsable(backend: BackendName): void {
    if (this.#closed) throw new BackendUnavailable(backend, 'the SQLite database is closed');
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Runs a task while no long read holds a snapshot: it waits for the present ones, and new ones wait for it. After the given
   * time new ones begin and the task runs in any case, since a present long read may itself wait for another read.
   */
  async betweenLongReads(patienceMs: number, task: () => Promise<void>): Promise<void> {
    this.#areLongReadsBlocked = true;
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    const timer = setTimeout(() => {
      this.#letLongReadsBegin();
      this.#drained?.();
    }, patienceMs);
    try {
      if (this.#longSnapshots > 0) await drained;
      await task();
    } finally {
      clearTimeout(timer);
      this.#drained = undefined;
      this.#letLongReadsBegin();
    }
  }

  #letLongReadsBegin(): void {
    this.#areLongReadsBlocked = false;
    for (const go of this.#held.splice(0)) go();
  }

  /** Refuses new reads, waits for the end of long reads and closes the connections. */
  async close(): Promise<void> {
    this.#letGo();
    this.#closed = true;
    if (this.#longReads > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    for (const connection of [this.#short, ...this.#free.splice(0)]) closeQuietly(connection);
  }

  async #readLong<T>(
    backend: BackendName,
    requester: Requester,
    read: (connection: Connection) => Steps<T>,
  ): Promise<T> {
    this.#longReads++;
    try {
      return await this.#turns.run(requester, async () => {
        const connection = this.#free.pop() ?? this.#guard(backend, this.#open);
        try {
          while (this.#isHeld || this.#areLongReadsBlocked) await this.#untilReleased();
          if (this.#failure !== undefined) throw this.#failure;
          return await this.#inSnapshot(backend, connection, read);
        } finally {
          if (connection.inTransaction) closeQuietly(connection);
          else this.#free.push(connection);
        }
      });
    } finally {
      this.#longReads--;
      if (this.#longReads === 0) this.#idle?.();
    }
  }

  async #inSnapshot<T>(
    backend: BackendName,
    connection: Connection,
    read: (connection: Connection) => Steps<T>,
  ): Promise<T> {
    this.#longSnapshots++;
    try {
      this.#guard(backend, () => connection.run('BEGIN'));
      return await runWithPauses(read(connection), 'normal', (step) => this.#guard(backend, step));
    } finally {
      endSnapshot(connection);
      this.#longSnapshots--;
      if (this.#longSnapshots === 0) this.#drained?.();
    }
  }

  #untilReleased(): Promise<void> {
    return new Promise((resolve) => {
      this.#held.push(resolve);
    });
  }
}

/**
 * Ends the snapshot of a read-only connection and returns whether it has ended. Never throws: after a read that failed, such as
 * one of a damaged page, COMMIT fails too, and the callers cannot handle that.
 */
function endSnapshot(connection: Connection): boolean {
  for (const sql of ['COMMIT', 'ROLLBACK']) {
    if (!connection.inTransaction) return true;
    try {
      connection.run(sql);
    } catch {
      // The failed read has reported its error.
    }
  }
  return !connection.inTransaction;
}

function closeQuietly(connection: Connection): void {
  try {
    connection.close();
  } catch {
    // The connection is no longer used.
  }
}
