// Reads of durable state. Short ones run at once and share a snapshot as long as the event loop does not turn, which
// saves most of their cost; long ones get a connection of their own, whose snapshot stays while others are served. While a
// commit is on its way to the disk, reads see what was there before.
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Connection } from './connection.ts';
import { translating, type BackendName } from './errors.ts';
import { runWithPauses, type Steps } from '../../base/steps.ts';

/** Long reads that go on at the same time; more wait for their turn. */
const maxLongReads = 3;

export class Snapshots {
  readonly #open: () => Connection;
  readonly #short: Connection;
  readonly #free: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  #longConnections = 0;
  #longReads = 0;
  #closed = false;
  /** Ends the shared snapshot with this turn of the event loop. */
  #turnEnd: NodeJS.Immediate | undefined;
  #idle: (() => void) | undefined;
  /** Whether a commit is on its way to the disk. */
  #isHeld = false;
  /** Long reads that wait for it. */
  readonly #held: (() => void)[] = [];
  #failure: BackendUnavailable | undefined;

  constructor(open: () => Connection) {
    this.#open = open;
    this.#short = open();
  }

  /** Runs an operation without interruption, in one snapshot. */
  run<T>(backend: BackendName, operation: (connection: Connection) => T): T {
    this.#requireUsable(backend);
    return translating(backend, () => {
      if (!this.#short.inTransaction) this.#short.run('BEGIN');
      this.#turnEnd ??= setImmediate(() => {
        this.#turnEnd = undefined;
        this.#refresh();
      });
      return operation(this.#short);
    });
  }

  /** Runs all steps in one snapshot. A read that yields is a long one and is started anew where it may pause. */
  async read<T>(backend: BackendName, read: (connection: Connection) => Steps<T>): Promise<T> {
    const first = this.run(backend, (connection) => read(connection).next());
    return first.done === true ? first.value : this.#readLong(backend, read);
  }

  /** Keeps reads from seeing what is committed from now on, until `release`. */
  hold(): void {
    if (!this.#short.inTransaction) this.#short.run('BEGIN');
    // BEGIN alone takes no snapshot.
    this.#short.get('SELECT 1 FROM sqlite_schema LIMIT 1');
    this.#isHeld = true;
  }

  /** Lets the next read see everything that has been committed. */
  release(): void {
    this.#isHeld = false;
    this.#refresh();
    for (const go of this.#held.splice(0)) go();
  }

  /** Refuses all reads from now on: what was committed last may be lost, and must not be seen before that is known. */
  fail(failure: BackendUnavailable): void {
    this.#failure = failure;
    this.release();
  }

  #refresh(): void {
    if (!this.#isHeld && !this.#closed && this.#short.inTransaction) this.#short.run('COMMIT');
  }

  #requireUsable(backend: BackendName): void {
    if (this.#closed) throw new BackendUnavailable(backend, 'the SQLite database is closed');
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Refuses new reads, waits for long ones and closes the connections. */
  async close(): Promise<void> {
    this.release();
    this.#closed = true;
    if (this.#longReads > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    for (const connection of [this.#short, ...this.#free.splice(0)]) connection.close();
  }

  async #readLong<T>(backend: BackendName, read: (connection: Connection) => Steps<T>): Promise<T> {
    this.#longReads++;
    try {
      const connection = await this.#take();
      try {
        while (this.#isHeld) await this.#untilReleased();
        if (this.#failure !== undefined) throw this.#failure;
        translating(backend, () => connection.run('BEGIN'));
        return await runWithPauses(read(connection), (step) => translating(backend, step));
      } finally {
        if (connection.inTransaction) connection.run('COMMIT');
        this.#giveBack(connection);
      }
    } finally {
      this.#longReads--;
      if (this.#longReads === 0) this.#idle?.();
    }
  }

  #untilReleased(): Promise<void> {
    return new Promise((resolve) => {
      this.#held.push(resolve);
    });
  }

  async #take(): Promise<Connection> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#longConnections < maxLongReads) {
      const connection = this.#open();
      this.#longConnections++;
      return connection;
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #giveBack(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(connection);
    else next(connection);
  }
}
