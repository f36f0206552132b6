// Deletes in the background what a cascade has detached: rows of lists and folders that nobody can reach any more. So
// deleting a bucket takes the same time whatever it holds, and the rest is done a little at a time, restarts included.
import type { Checkpoints } from './checkpoints.ts';
import type { Connection } from './connection.ts';
import { Pace } from './pacing.ts';
import type { WriterQueue } from './writer-queue.ts';

/** Rows deleted in the first unit of work; the others delete as many as the time they take allows. */
const firstRows = 250;
const fewestRows = 50;
const mostRows = 5000;
/** As how many rows a list and a folder count, empty ones included. */
const rowsPerList = 10;
/** How long everybody else waits for a unit and its commit, which takes longer than the unit where ids are scattered. */
const chunkMs = 10;

export class Reaper {
  readonly #queue: WriterQueue;
  readonly #checkpoints: Pick<Checkpoints, 'ended'>;
  readonly #pace: Pace;
  #rows = firstRows;

  constructor(queue: WriterQueue, checkpoints: Pick<Checkpoints, 'ended'>, pace: Pace = new Pace()) {
    this.#queue = queue;
    this.#checkpoints = checkpoints;
    this.#pace = pace;
  }

  /** How long to wait before the next chunk. */
  get pauseMs(): number {
    return this.#pace.pauseMs;
  }

  /** Deletes one chunk; returns whether more is left. */
  async reapChunk(): Promise<boolean> {
    // What is added to the log meanwhile, everybody who writes has to wait for.
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
 * How many rows take the time of a chunk, going by what so many have taken; it does not grow faster than by half, and not
 * when there were fewer.
 */
function nextRows(rows: number, tookMs: number, wereAsMany: boolean): number {
  const fitting = Math.round(rows * Math.min(chunkMs / tookMs, wereAsMany ? 1.5 : 1));
  return Math.max(fewestRows, Math.min(fitting, mostRows));
}

/** Takes a list and a folder in turns: where small ones are deleted all day, neither may wait for the other to end. */
function deleteChunk(connection: Connection, chunkRows: number): boolean {
  for (let left = chunkRows; left > 0;) {
    const ofList = deleteFromList(connection, left);
    const ofFolder = deleteFromFolder(connection, left);
    if (ofList === undefined && ofFolder === undefined) return false;
    left -= (ofList ?? 0) + (ofFolder ?? 0) + rowsPerList;
  }
  return true;
}

/** Deletes rows of one list; returns how many, `undefined` when there is no list. */
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

/** Deletes rows of one folder; returns how many, `undefined` when there is no folder. */
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
