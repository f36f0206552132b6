// Deletes in the background what a cascade has detached: rows of lists and folders that nobody can reach any more. So
// deleting a bucket takes the same time whatever it holds, and the rest is done a little at a time, by any number of
// processes, restarts included.
import type { Connection } from './connection.ts';
import type { ConnectionPool } from './connection-pool.ts';

/** Rows deleted in one transaction. */
const chunkRows = 5000;

interface Doomed {
  readonly table: string;
  readonly number: string;
  readonly contents: readonly { readonly table: string; readonly key: string }[];
}

const doomed: readonly Doomed[] = [
  {
    table: 'coffer_doomed_lists',
    number: 'list',
    contents: [
      { table: 'coffer_objects', key: 'id' },
      { table: 'coffer_tombstones', key: 'id' },
    ],
  },
  {
    table: 'coffer_doomed_folders',
    number: 'folder',
    contents: [{ table: 'coffer_entries', key: 'name, permission, principal_key' }],
  },
];

/** Deletes one chunk; returns whether more may be left that nobody else is deleting. */
export async function reapChunk(pool: ConnectionPool): Promise<boolean> {
  const connection = await pool.takeForUnit();
  try {
    await connection.run({ text: 'BEGIN' });
    let more = false;
    for (const kind of doomed) more ||= await deleteChunk(connection, kind);
    await connection.run({ text: 'COMMIT' });
    connection.release();
    return more;
  } catch (error) {
    connection.release(false);
    throw error;
  }
}

async function deleteChunk(connection: Connection, { table, number, contents }: Doomed): Promise<boolean> {
  const found = await connection.run({
    text: `SELECT parent, ${number} FROM ${table} LIMIT 1 FOR UPDATE SKIP LOCKED`,
  });
  const [row] = found.rows;
  if (row === undefined) return false;
  const key = [row[0]!, row[1]!];
  for (const content of contents) {
    const isDoomed = `parent = $1 AND ${number} = $2`;
    const { count } = await connection.run(
      {
        text: `DELETE FROM ${content.table} WHERE ${isDoomed} AND (${content.key}) IN
          (SELECT ${content.key} FROM ${content.table} WHERE ${isDoomed} LIMIT ${chunkRows})`,
      },
      key,
    );
    if (count > 0) return true;
  }
  await connection.run({ text: `DELETE FROM ${table} WHERE parent = $1 AND ${number} = $2` }, key);
  return true;
}
