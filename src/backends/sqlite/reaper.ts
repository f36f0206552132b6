// Deletes in the background what a cascade has detached: rows of lists and folders that nobody can reach any more. So
// deleting a bucket takes the same time whatever it holds, and the rest is done a little at a time, restarts included.
import type { Connection } from './connection.ts';
import type { WriterQueue } from './writer-queue.ts';

/** Rows deleted in one unit of work. */
const chunkRows = 500;

/** Deletes one chunk; returns whether more is left. */
export async function reapChunk(queue: WriterQueue): Promise<boolean> {
  const unit = await queue.begin('background');
  try {
    const more = unit.run('storage', deleteChunk);
    await unit.commit();
    return more;
  } catch (error) {
    await unit.rollback();
    throw error;
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
