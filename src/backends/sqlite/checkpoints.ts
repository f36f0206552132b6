// When the write-ahead log is moved into the database file: once it is long enough for that to be worth it, beside the
// service. Only what was added meanwhile is moved while nobody writes, and then the log begins anew.
import type { CheckpointThread } from './checkpoint-thread.ts';
import type { Connection } from './connection.ts';
import type { Snapshots } from './snapshots.ts';
import type { WriterQueue } from './writer-queue.ts';

/** Pages in the log that are worth moving; 16 MB of them. Pages that change often are moved once for many changes. */
const defaultFrames = 4000;
/** Commits between two looks at how long the log is, which cost as much as a small commit. */
const commitsPerLook = 8;
/** Pages in the log at which a commit moves them itself, should the thread never succeed. */
const framesOfLastResort = 32_768;
/** How long the end of long reads is waited for, and others are not begun. */
const patienceMs = 2000;

export interface CheckpointParts {
  readonly thread: CheckpointThread;
  readonly writer: Connection;
  readonly queue: WriterQueue;
  readonly snapshots: Pick<Snapshots, 'betweenLongReads'>;
  /** Pages in the log that are worth moving. */
  readonly frames?: number | undefined;
}

export class Checkpoints {
  readonly #snapshots: CheckpointParts['snapshots'];
  readonly #queue: WriterQueue;
  readonly #thread: CheckpointThread;
  readonly #frames: number;
  /** How many pages the log holds when the next attempt is due. */
  #due: number;
  #running: Promise<void> | undefined;
  #commits = 0;

  constructor({ thread, writer, queue, snapshots, frames = defaultFrames }: CheckpointParts) {
    this.#snapshots = snapshots;
    this.#queue = queue;
    this.#thread = thread;
    this.#frames = frames;
    this.#due = frames;
    writer.exec(`PRAGMA wal_autocheckpoint = ${framesOfLastResort}`);
  }

  /**
   * To be called after each commit. Never throws: a log that cannot be moved now is moved later, and the requests that
   * meet the failure report it.
   *
   * @param connection any that is in no transaction
   */
  look(connection: Connection): void {
    if (++this.#commits % commitsPerLook !== 0) return;
    if (this.#running !== undefined || framesInLog(connection) < this.#due) return;
    const end = (): void => {
      this.#running = undefined;
    };
    this.#running = this.#run().then(end, end);
  }

  /** Resolves when nothing is being moved any more. */
  get ended(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Ends when nothing is being moved any more. The queue has to be closed before. */
  async close(): Promise<void> {
    await this.ended;
    await this.#thread.close();
  }

  async #run(): Promise<void> {
    await this.#thread.move('PASSIVE');
    // While somebody still reads what stands at the end of the log it cannot begin anew.
    await this.#snapshots.betweenLongReads(patienceMs, async () => {
      // What has come together behind those who were reading.
      await this.#thread.move('PASSIVE');
      await this.#queue.whileIdle(async () => {
        const { isComplete, frames } = await this.#thread.move('RESTART');
        // Where somebody reads all the same, as much again has to come together.
        this.#due = (isComplete ? 0 : frames) + this.#frames;
      });
    });
  }
}

/** Returns 0 when SQLite does not say. */
function framesInLog(connection: Connection): number {
  try {
    return connection.get<[busy: number, frames: number]>('PRAGMA wal_checkpoint(NOOP)')?.[1] ?? 0;
  } catch {
    return 0;
  }
}
