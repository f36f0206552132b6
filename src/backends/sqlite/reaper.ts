// Deletes in the background what a cascade has detached: rows of lists and folders that nobody can reach any more. So
// deleting a bucket takes the same time whatever it holds, and the rest is done a little at a time, restarts included.
import type { Connection } from './connection.ts';
import type { WriterQueue } from './writer-queue.ts';

/** Rows deleted in one unit of work. */
const chunkRows = 500;
const pauseMs = 20;
const pauseAfterFailureMs = 5000;

export class Reaper {
  readonly #queue: WriterQueue;
  #timer: NodeJS.Timeout | undefined;
  /** The step under way. */
  #step: Promise<void> | undefined;
  #stopped = false;

  constructor(queue: WriterQueue) {
    this.#queue = queue;
  }

  /** Called when something may be doomed. */
  wake(): void {
    this.#schedule(pauseMs);
  }

  /** Stops for good, after the step under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#step;
  }

  /** Deletes one chunk; returns whether more is left. */
  async reapChunk(): Promise<boolean> {
    const unit = await this.#queue.begin('background');
    try {
      const more = unit.run('storage', deleteChunk);
      await unit.commit();
      return more;
    } catch (error) {
      await unit.rollback();
      throw error;
    }
  }

  #schedule(delayMs: number): void {
    if (this.#stopped || this.#timer !== undefined || this.#step !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#step = this.#work();
    }, delayMs);
    // The work can wait for the next start; it must not keep the process alive.
    this.#timer.unref();
  }

  async #work(): Promise<void> {
    let delayMs: number | undefined;
    try {
      if (await this.reapChunk()) delayMs = pauseMs;
    } catch {
      // Whatever is wrong with the database shows in the requests; the rows stay doomed and are tried again.
      delayMs = pauseAfterFailureMs;
    }
    this.#step = undefined;
    if (delayMs !== undefined) this.#schedule(delayMs);
  }
}

function deleteChunk(connection: Connection): boolean {
  const list = connection.get<[number]>('SELECT list FROM doomed_lists LIMIT 1')?.[0];
  if (list !== undefined) {
    const gone =
      connection.run(
        'DELETE FROM objects WHERE object IN (SELECT object FROM objects WHERE list = ? LIMIT ?)',
        list,
        chunkRows,
      ) ||
      connection.run(
        'DELETE FROM tombstones WHERE list = ? AND id IN (SELECT id FROM tombstones WHERE list = ? LIMIT ?)',
        list,
        list,
        chunkRows,
      );
    if (gone === 0) connection.run('DELETE FROM doomed_lists WHERE list = ?', list);
    return true;
  }
  const folder = connection.get<[number]>('SELECT folder FROM doomed_folders LIMIT 1')?.[0];
  if (folder === undefined) return false;
  const gone = connection.run(
    `DELETE FROM entries WHERE folder = ? AND (name, permission, principal) IN
    (SELECT name, permission, principal FROM entries WHERE folder = ? LIMIT ?)`,
    folder,
    folder,
    chunkRows,
  );
  if (gone === 0) connection.run('DELETE FROM doomed_folders WHERE folder = ?', folder);
  return true;
}
