// Reads of durable state. Short ones run at once and share a snapshot as long as the event loop does not turn, and what
// was remembered from it or from earlier ones that said the same; long ones get a connection of their own, whose snapshot
// stays while others are served. While a commit is on its way to the disk, reads see what was there before.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Connection } from './connection.ts';
import { translateError, type BackendName } from './errors.ts';
import type { Changes, ReadCache } from './read-cache.ts';
import { runWithPauses, type Steps } from '../../base/steps.ts';

/** Long reads that go on at the same time; more wait for their turn. */
const maxLongReads = 3;

export interface SnapshotSources {
  /** Opens a connection that reads. */
  readonly open: () => Connection;
  /** The connection of the only writer of this process. */
  readonly writer: Pick<Connection, 'dataVersion'>;
  /** What short reads remember. */
  readonly cache: ReadCache;
  /** Called with each error of the driver that a read meets. */
  readonly failed?: (error: unknown) => void;
}

export class Snapshots {
  readonly #open: () => Connection;
  readonly #writer: Pick<Connection, 'dataVersion'>;
  readonly #cache: ReadCache;
  readonly #failed: ((error: unknown) => void) | undefined;
  #short: Connection;
  /** Whether the shared snapshot could not be ended: reads on that connection would keep seeing outdated state. */
  #isStuck = false;
  /** The version of the data in the shared snapshot: another one when anybody has committed, our own writer included. */
  #seen: number | undefined;
  /** That of the writer: another one when anybody else has committed. All that it counts is in the snapshot of `#seen`. */
  #foreign: number | undefined;
  readonly #free: Connection[] = [];
  /** Long reads that wait until one of the others has ended. */
  readonly #waiting: (() => void)[] = [];
  #longConnections = 0;
  #longReads = 0;
  /** Those of them that keep a snapshot. */
  #longSnapshots = 0;
  /** Whether no more of them are let begin. */
  #areLongReadsHeld = false;
  /** Called when the last of them has ended. */
  #drained: (() => void) | undefined;
  #closed = false;
  /** Ends the shared snapshot with this turn of the event loop. */
  #turnEnd: NodeJS.Immediate | undefined;
  #idle: (() => void) | undefined;
  /** Whether a commit is on its way to the disk. */
  #isHeld = false;
  /** Long reads that wait until they may begin. */
  readonly #held: (() => void)[] = [];
  #failure: BackendUnavailable | undefined;

  constructor({ open, writer, cache, failed }: SnapshotSources) {
    this.#open = open;
    this.#writer = writer;
    this.#cache = cache;
    this.#failed = failed;
    this.#short = open();
  }

  /** Runs an operation without interruption, in one snapshot, with what is remembered of it. */
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

  /** Runs the operation, reports what it throws, and translates it. */
  #guard<T>(backend: BackendName, operation: () => T): T {
    try {
      return operation();
    } catch (error) {
      this.#failed?.(error);
      throw translateError(error, backend);
    }
  }

  /**
   * Runs all steps in one snapshot. A read that yields is a long one and is started anew where it may pause, without memory:
   * its snapshot is one of its own.
   */
  async read<T>(
    backend: BackendName,
    read: (connection: Connection, cache: ReadCache | undefined) => Steps<T>,
  ): Promise<T> {
    const first = this.run(backend, (connection, cache) => read(connection, cache).next());
    return first.done === true ? first.value : this.#readLong(backend, (connection) => read(connection, undefined));
  }

  /** Keeps reads from seeing what is committed from now on, until `release`. */
  hold(): void {
    this.#openSnapshot();
    this.#isHeld = true;
  }

  /** Lets the next read see everything that has been committed, and forgets what it has changed. */
  release(changes: Changes): void {
    this.#cache.forget(changes);
    this.#letGo();
  }

  #letGo(): void {
    this.#isHeld = false;
    this.#refresh();
    for (const go of this.#held.splice(0)) go();
  }

  /** Refuses all reads from now on: what was committed last may be lost, and must not be seen before that is known. */
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
    // What was remembered since belongs to the snapshot that did not end.
    this.#cache.forgetAll();
    this.#seen = undefined;
  }

  /** Opens the shared snapshot, and sees to it that nothing is remembered that is not true in it. */
  #begin(): void {
    try {
      const version = this.#takeSnapshot();
      if (version === this.#seen) return;
      // What our own writer has committed since the last snapshot was forgotten on release. Looking at it now tells of
      // everybody else who has committed before this snapshot, and maybe of some who came later.
      const foreign = this.#writer.dataVersion;
      if (foreign === this.#foreign) {
        this.#seen = version;
        return;
      }
      this.#cache.forgetAll();
      // Those who came later have to be in the snapshot, for they will not be told of again.
      this.#short.run('COMMIT');
      this.#seen = this.#takeSnapshot();
      this.#foreign = foreign;
    } catch (error) {
      // Else the next read would take the snapshot for one that has been looked at.
      this.#isStuck = !endSnapshot(this.#short);
      throw error;
    }
  }

  /** BEGIN alone takes no snapshot: reading the version does. */
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
   * Does something while no long read is under way: those that are end first, and new ones wait. After so long new ones begin
   * all the same, and the task is done in any case, for whoever keeps it waiting may be waiting for a read.
   */
  async betweenLongReads(patienceMs: number, task: () => Promise<void>): Promise<void> {
    this.#areLongReadsHeld = true;
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
    this.#areLongReadsHeld = false;
    for (const go of this.#held.splice(0)) go();
  }

  /** Refuses new reads, waits for long ones and closes the connections. */
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

  async #readLong<T>(backend: BackendName, read: (connection: Connection) => Steps<T>): Promise<T> {
    this.#longReads++;
    try {
      const connection = await this.#take(backend);
      try {
        while (this.#isHeld || this.#areLongReadsHeld) await this.#untilReleased();
        if (this.#failure !== undefined) throw this.#failure;
        return await this.#inSnapshot(backend, connection, read);
      } finally {
        this.#giveBack(connection);
      }
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

  async #take(backend: BackendName): Promise<Connection> {
    for (;;) {
      const free = this.#free.pop();
      if (free !== undefined) return free;
      if (this.#longConnections < maxLongReads) {
        const connection = this.#guard(backend, this.#open);
        this.#longConnections++;
        return connection;
      }
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  #giveBack(connection: Connection): void {
    if (connection.inTransaction) {
      this.#longConnections--;
      closeQuietly(connection);
    } else this.#free.push(connection);
    this.#waiting.shift()?.();
  }
}

/**
 * Ends the snapshot of a connection that reads; returns whether it could. Never throws: a read that failed, on a damaged
 * page for instance, makes COMMIT fail as well, and this runs where nothing could handle that.
 */
function endSnapshot(connection: Connection): boolean {
  for (const sql of ['COMMIT', 'ROLLBACK']) {
    if (!connection.inTransaction) return true;
    try {
      connection.run(sql);
    } catch {
      // The read that failed has reported why.
    }
  }
  return !connection.inTransaction;
}

function closeQuietly(connection: Connection): void {
  try {
    connection.close();
  } catch {
    // It is not used any more.
  }
}
