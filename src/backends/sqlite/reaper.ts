// Deletes rows of lists and folders that a cascade has made unreachable, in the background. So the time to delete a bucket
// does not depend on its contents. The rest is deleted in chunks, also after a restart.
import type { Checkpoints } from './checkpoints.ts';
import type { Connection } from './connection.ts';
import { Pace } from '../../base/pacing.ts';
import type { WriterQueue } from './writer-queue.ts';

/** Number of rows of the first chunk. Later chunks depend on the time that rows take. */
const firstRows = 250;
const minRows = 50;
const maxRows = 5000;
/** Number of rows that a list and a folder count as in addition, even empty ones. */
const rowsPerList = 10;
/**
 * Time of a chunk with its commit, which blocks other work. The commit takes longer than the deletion for scattered ids.
 */
const chunkMs = 10;

export class Reaper {
  readonly #queue: WriterQueue;
  readonly #checkpoints: Pick<Checkpoints, 'ended'>;
  readonly #pace = new Pace();
  #rows = firstRows;

  constructor(queue: WriterQueue, checkpoints: Pick<Checkpoints, 'ended'>) {
    this.#queue = queue;
    this.#checkpoints = checkpoints;
  }

  /** Returns the pause before the next chunk. */
  get pauseMs(): number {
    return this.#pace.pauseMs;
  }

  /** Deletes one chunk; returns whether more is left. */
  async reapChunk(): Promise<boolean> {
    // Pages that are added to the log during a checkpoint delay all writers.
    await this.#checkpoints.ended;
    const askedAt = performance.now();
    const unit = await this.#queue.begin({ priority: 'background' });
    const startedAt = performance.now();
    this.#pace.resume(startedAt - askedAt);
    try {
      const more = unit.run('storage', (connection) => deleteChunk(connection, this.#rows));
      const deleteMs = performance.now() - startedAt;
      await unit.commit();
      const tookMs = deleteMs + unit.commitMs;
      this.#rows = nextRows(this.#rows, tookMs, more);
      this.#pace.pause(tookMs);
      return more;
    } catch (error) {
      await unit.rollback();
      throw error;
    }
  }
}

/**
 * Returns the number of rows of the next chunk, from the time of the last one. It grows by half at most, and only when the
 * last chunk was full.
 */
function nextRows(rows: number, tookMs: number, wereAsMany: boolean): number {
  const fitting = Math.round(rows * Math.min(chunkMs / tookMs, wereAsMany ? 1.5 : 1));
  return Math.max(minRows, Math.min(fitting, maxRows));
}

/** Alternates between lists and folders, so that neither waits for the other while small ones are deleted all the time. */
function deleteChunk(connection: Connection, chunkRows: number): boolean {
  for (let left = chunkRows; left > 0;) {
    const ofList = deleteFromList(connection, left);
    const ofFolder = deleteFromFolder(connection, left);
    if (ofList === undefined && ofFolder === undefined) return false;
    left -= (ofList ?? 0) + (ofFolder ?? 0) + rowsPerList;
  }
  return true;
}

/** Deletes rows of one list. Returns their number; `undefined` when no list is left. */
function deleteFromList(connection: Connection, most: number): number | undefined {
  const list = connection.get<[number]>('SELECT list FROM doomed_lists LIMIT 1')?.[0];
  if (list === undefined) return undefined;
  const objects = connection.run(
    'DELETE FROM objects WHERE object IN (SELECT object FROM objects WHERE list = ? ORDER BY last_modified LIMIT ?)',
    list,
    most,
  );
  if (objects === most) return most;
  const tombstones = connection.run(
    'DELETE FROM tombstones WHERE list = ? AND id IN (SELECT id FROM tombstones WHERE list = ? LIMIT ?)',
    list,
    list,
    most - objects,
  );
  if (objects + tombstones < most) connection.run('DELETE FROM doomed_lists WHERE list = ?', list);
  return objects + tombstones;
}

/** Deletes rows of one folder. Returns their number; `undefined` when no folder is left. */
function deleteFromFolder(connection: Connection, most: number): number | undefined {
  const folder = connection.get<[number]>('SELECT folder FROM doomed_folders LIMIT 1')?.[0];
  if (folder === undefined) return undefined;
  const entries = connection.run(
    `DELETE FROM entries WHERE folder = ? AND (name, permission, principal) IN
    (SELECT name, permission, principal FROM entries WHERE folder = ? LIMIT ?)`,
    folder,
    folder,
    most,
  );
  if (entries < most) connection.run('DELETE FROM doomed_folders WHERE folder = ?', folder);
  return entries;
}
