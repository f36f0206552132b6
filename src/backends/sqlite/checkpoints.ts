// Decides when the write-ahead log is moved into the database file: once it is long enough, in parallel to requests.
// Writers wait only while the pages added meanwhile are moved. Then the log starts anew.
import type { CheckpointThread } from './checkpoint-thread.ts';
import type { Connection } from './connection.ts';
import type { Snapshots } from './snapshots.ts';
import type { WriterQueue } from './writer-queue.ts';

/**
 * Number of pages in the log from which a move is worth it, 16 MB. Pages that change often are moved once for many changes.
 */
const defaultFrames = 4000;
/** Number of commits between two looks at the length of the log, which cost as much as a small commit. */
const commitsPerLook = 8;
/** Number of pages from which writers do not wait for their move, 2 MB. One long unit may add 40 MB. */
const framesPerPause = 500;
/** Maximum number of times in a row that the move of more pages is postponed. */
const maxPostponed = 5;
/** Number of pages in the log from which writers wait for the move of all of them, 128 MB. */
const framesOfPatience = 32_768;
/** Number of pages in the log at which a commit moves them itself, in case the thread never succeeds. */
const framesOfLastResort = 65_536;
/** Time to wait for the end of long reads, while new ones wait. */
const patienceMs = 2000;

export interface CheckpointParts {
  readonly thread: CheckpointThread;
  readonly writer: Connection;
  readonly queue: WriterQueue;
  readonly snapshots: Pick<Snapshots, 'betweenLongReads'>;
  /** Number of pages in the log from which a move is worth it. */
  readonly frames?: number | undefined;
}

export class Checkpoints {
  readonly #snapshots: CheckpointParts['snapshots'];
  readonly #queue: WriterQueue;
  readonly #writer: Connection;
  readonly #thread: CheckpointThread;
  readonly #frames: number;
  /** Number of pages in the log at which the next attempt is due. */
  #due: number;
  #running: Promise<void> | undefined;
  #commits = 0;

  constructor({ thread, writer, queue, snapshots, frames = defaultFrames }: CheckpointParts) {
    this.#snapshots = snapshots;
    this.#queue = queue;
    this.#writer = writer;
    this.#thread = thread;
    this.#frames = frames;
    this.#due = frames;
    writer.exec(`PRAGMA wal_autocheckpoint = ${framesOfLastResort}`);
  }

  /**
   * Looks at the log after a commit. Never throws: a log that cannot be moved now is moved later, and requests that meet
   * the failure report it.
   *
   * @param connection any connection outside a transaction
   */
  look(connection: Connection): void {
    if (++this.#commits % commitsPerLook !== 0) return;
    if (this.#running !== undefined || stateOfLog(connection).frames < this.#due) return;
    const end = (): void => {
      this.#running = undefined;
    };
    this.#running = this.#run().then(end, end);
  }

  /** Resolves when no move is under way. */
  get ended(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Ends the thread when no move is under way. The queue must be closed before. */
  async close(): Promise<void> {
    await this.ended;
    await this.#thread.close();
  }

  async #run(): Promise<void> {
    await this.#thread.move('PASSIVE');
    for (let left = maxPostponed; !(await this.#restart(left > 0)); left--);
  }

  /**
   * Lets the log start anew, between two groups.
   *
   * @param mayPostpone whether pages that the group before has added may be moved in parallel to the next groups instead
   * @returns whether it was done
   */
  async #restart(mayPostpone: boolean): Promise<boolean> {
    let isDone = false;
    // The log cannot start anew while a read uses its end.
    await this.#snapshots.betweenLongReads(patienceMs, async () => {
      // Moves the pages that were added during the long reads.
      await this.#thread.move('PASSIVE');
      await this.#queue.whileIdle(async () => {
        const log = stateOfLog(this.#writer);
        if (mayPostpone && log.left > framesPerPause && log.frames < framesOfPatience) return;
        const { isComplete, frames } = await this.#thread.move('RESTART');
        // When a read prevented the restart, the next attempt waits for as many pages again.
        this.#due = (isComplete ? 0 : frames) + this.#frames;
        isDone = true;
      });
    });
    return isDone;
  }
}

/** Returns the number of pages in the log, and of those that are not in the file yet; 0 when SQLite does not report them. */
function stateOfLog(connection: Connection): { readonly frames: number; readonly left: number } {
  try {
    const row = connection.get<[busy: number, frames: number, moved: number]>('PRAGMA wal_checkpoint(NOOP)');
    const [, frames = 0, moved = 0] = row ?? [];
    return { frames, left: frames - moved };
  } catch {
    return { frames: 0, left: 0 };
  }
}
