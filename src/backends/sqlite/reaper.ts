// Deletes in the background what a cascade has detached: rows of lists and folders that nobody can reach any more. So
// deleting a bucket takes the same time whatever it holds, and the rest is done a little at a time, restarts included.
import type { Checkpoints } from './checkpoints.ts';
import type { Connection } from './connection.ts';
import { Pace } from './pace.ts';
import type { WriterQueue } from './writer-queue.ts';

/** Rows deleted in the first unit of work; the others delete as many as the time they take allows. */
const firstRows = 250;
const fewestRows = 50;
const mostRows = 5000;
/** How long everybody else waits for a unit and its commit, which takes longer than the unit where ids are scattered. */
const chunkMs = 10;

export class Reaper {
  readonly #queue: WriterQueue;
  readonly #checkpoints: Pick<Checkpoints, 'ended'>;
  readonly #pace: Pace;
  #rows = firstRows;
  #foldersFirst = false;

  constructor(queue: WriterQueue, checkpoints: Pick<Checkpoints, 'ended'>, pace: Pace = new Pace()) {
    this.#queue = queue;
    this.#checkpoints = checkpoints;
    this.#pace = pace;
  }

  /** How long to wait before the next chunk. */
  get pauseMs(): number {
    return this.#pace.pauseMs;
  }

  /** Deletes one chunk; returns whether more may be left. */
  async reapChunk(): Promise<boolean> {
    // What is added to the log meanwhile, everybody who writes has to wait for.
    await this.#checkpoints.ended;
    const askedAt = performance.now();
    const unit = await this.#queue.begin('background');
    const startedAt = performance.now();
    this.#pace.resume(startedAt - askedAt);
    try {
      const done = unit.run('storage', (connection) => this.#deleteChunk(connection));
      const deleteMs = performance.now() - startedAt;
      await unit.commit();
      const tookMs = deleteMs + unit.commitMs;
      this.#rows = nextRows(this.#rows, done, tookMs);
      this.#pace.pause(tookMs);
      return done > 0;
    } catch (error) {
      await unit.rollback();
      throw error;
    }
  }

  /** Lists and folders come first in turns: where much is deleted all day, neither must wait until the other is done. */
  #deleteChunk(connection: Connection): number {
    const [first, second] = this.#foldersFirst ? [folders, lists] : [lists, folders];
    this.#foldersFirst = !this.#foldersFirst;
    const done = deleteRows(connection, first, this.#rows);
    return done + deleteRows(connection, second, this.#rows - done);
  }
}

/**
 * How many rows take the time of a chunk, going by what so many have taken; it does not grow faster than by half, and not
 * when there were fewer.
 */
function nextRows(rows: number, done: number, tookMs: number): number {
  const fitting = Math.round(rows * Math.min(chunkMs / tookMs, done < rows ? 1 : 1.5));
  return Math.max(fewestRows, Math.min(fitting, mostRows));
}

/** One of the tables that say what is doomed, each by a number under which rows are kept elsewhere. */
interface Doomed {
  readonly find: string;
  readonly forget: string;
  /** Delete rows under a number, at most so many. */
  readonly deletions: readonly string[];
}

const lists: Doomed = {
  find: 'SELECT list FROM doomed_lists LIMIT 1',
  forget: 'DELETE FROM doomed_lists WHERE list = ?',
  deletions: [
    'DELETE FROM objects WHERE object IN (SELECT object FROM objects WHERE list = ? ORDER BY last_modified LIMIT ?)',
    'DELETE FROM tombstones WHERE (list, id) IN (SELECT list, id FROM tombstones WHERE list = ? LIMIT ?)',
  ],
};
const folders: Doomed = {
  find: 'SELECT folder FROM doomed_folders LIMIT 1',
  forget: 'DELETE FROM doomed_folders WHERE folder = ?',
  deletions: [
    `DELETE FROM entries WHERE (folder, name, permission, principal) IN
    (SELECT folder, name, permission, principal FROM entries WHERE folder = ? LIMIT ?)`,
  ],
};

/** Deletes what is doomed, one list or folder after the other, until it is so many rows; returns how many. */
function deleteRows(connection: Connection, { find, forget, deletions }: Doomed, maxRows: number): number {
  let left = maxRows;
  while (left > 0) {
    const number = connection.get<[number]>(find)?.[0];
    if (number === undefined) break;
    for (const sql of deletions) if (left > 0) left -= connection.run(sql, number, left);
    // It may be empty now, or the next chunk finds that it is.
    if (left > 0) left -= connection.run(forget, number);
  }
  return maxRows - left;
}
