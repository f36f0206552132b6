// Deletes in the background what a cascade has detached: rows of lists and folders that nobody can reach any more. So
// deleting a bucket takes the same time whatever it holds, and the rest is done a little at a time, restarts included.
import type { Connection } from './connection.ts';
import type { WriterQueue } from './writer-queue.ts';

/** Rows deleted in the first unit of work; the others delete as many as the time they take allows. */
const firstRows = 250;
const fewestRows = 50;
const mostRows = 5000;
/** How long everybody else waits for a unit. */
const chunkMs = 4;

export class Reaper {
  readonly #queue: WriterQueue;
  #rows = firstRows;

  constructor(queue: WriterQueue) {
    this.#queue = queue;
  }

  /** Deletes one chunk; returns whether more is left. */
  async reapChunk(): Promise<boolean> {
    const unit = await this.#queue.begin('background');
    try {
      const startedAt = performance.now();
      const more = unit.run('storage', (connection) => deleteChunk(connection, this.#rows));
      this.#rows = nextRows(this.#rows, performance.now() - startedAt);
      await unit.commit();
      return more;
    } catch (error) {
      await unit.rollback();
      throw error;
    }
  }
}

/** How many rows take the time of a chunk, going by what so many have taken; it does not grow faster than by half. */
function nextRows(rows: number, tookMs: number): number {
  const fitting = Math.round(rows * Math.min(chunkMs / tookMs, 1.5));
  return Math.max(fewestRows, Math.min(fitting, mostRows));
}

function deleteChunk(connection: Connection, chunkRows: number): boolean {
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
