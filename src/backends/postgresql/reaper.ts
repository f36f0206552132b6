// Deletes rows of lists and folders that a cascade has made unreachable, in the background. So the time to delete a bucket
// does not depend on its contents. Any number of processes share the rest of the work, and continue it after a restart.
import type { Connection, SqlValue } from './connection.ts';
import type { ConnectionPool } from './connection-pool.ts';

/** Number of rows deleted in one transaction. */
const chunkRows = 5000;
/**
 * Maximum wait for rows that another transaction has locked, such as one that deletes all entries of a principal. It is
 * very short: otherwise PostgreSQL may find a deadlock and end one of its transactions, which could be a request.
 */
const lockTimeoutMs = 1;
const lockNotAvailable = '55P03';
/** Number of rows that a list or folder counts as in addition, because each takes some statements. */
const rowsPerList = 50;

interface PendingDeletion {
  readonly table: string;
  readonly number: string;
  /** Its tables, and the rest of their primary keys after parent and number. */
  readonly contents: readonly { readonly table: string; readonly key: readonly string[] }[];
}

const pendingDeletions: readonly PendingDeletion[] = [
  {
    table: 'coffer_doomed_lists',
    number: 'list',
    contents: [
      { table: 'coffer_objects', key: ['id'] },
      { table: 'coffer_tombstones', key: ['id'] },
    ],
  },
  {
    table: 'coffer_doomed_folders',
    number: 'folder',
    contents: [{ table: 'coffer_entries', key: ['name', 'permission', 'principal_key'] }],
  },
];

/** Deletes one chunk; returns whether more may be left that no other process is deleting. */
export async function reapChunk(pool: ConnectionPool): Promise<boolean> {
  const connection = await pool.takeForUnit();
  try {
    await connection.run({ text: 'BEGIN' });
    await connection.run({ text: `SET LOCAL lock_timeout = ${lockTimeoutMs}` });
    const more = await deleteChunk(connection);
    await connection.run({ text: 'COMMIT' });
    connection.release();
    return more;
  } catch (error) {
    connection.release(false);
    // Another transaction has locked the same rows. They are left for the next chunk.
    if ((error as { readonly code?: unknown }).code === lockNotAvailable) return true;
    throw error;
  }
}

/** Alternates between lists and folders, so that neither waits for the other while small ones are deleted all the time. */
async function deleteChunk(connection: Connection): Promise<boolean> {
  let rows = 0;
  let left = pendingDeletions;
  while (left.length > 0 && rows < chunkRows) {
    const found: PendingDeletion[] = [];
    for (const kind of left) {
      const deleted = await deleteNext(connection, kind, Math.max(rowsPerList, chunkRows - rows));
      if (deleted === undefined) continue;
      rows += deleted + rowsPerList;
      found.push(kind);
    }
    left = found;
  }
  return left.length > 0;
}

/** Deletes rows of one list or folder. Returns their number; `undefined` when none is left, or other processes have all. */
async function deleteNext(connection: Connection, kind: PendingDeletion, most: number): Promise<number | undefined> {
  const { table, number, contents } = kind;
  const found = await connection.run({
    text: `SELECT parent, ${number} FROM ${table} LIMIT 1 FOR UPDATE SKIP LOCKED`,
  });
  const [row] = found.rows;
  if (row === undefined) return undefined;
  const key = [row[0]!, row[1]!];
  let rows = 0;
  for (const content of contents) {
    rows += await deleteContents(connection, number, content, key, most - rows);
    if (rows >= most) return rows;
  }
  await connection.run({ text: `DELETE FROM ${table} WHERE parent = $1 AND ${number} = $2` }, key);
  return rows;
}

/**
 * Deletes rows of a table up to a bound that is looked up first. In one statement the server would compare all rows with
 * all rows when the database has no statistics yet.
 */
async function deleteContents(
  connection: Connection,
  number: string,
  { table, key }: PendingDeletion['contents'][number],
  numberKey: readonly SqlValue[],
  most: number,
): Promise<number> {
  const isPending = `parent = $1 AND ${number} = $2`;
  const columns = key.join(', ');
  const { rows } = await connection.run(
    { text: `SELECT ${columns} FROM ${table} WHERE ${isPending} ORDER BY ${columns} LIMIT 1 OFFSET $3` },
    [...numberKey, most],
  );
  const [bound] = rows;
  const end = key.map((_, n) => `$${n + 3}`).join(', ');
  const isBefore = bound === undefined ? '' : ` AND (${columns}) < (${end})`;
  const { count } = await connection.run({ text: `DELETE FROM ${table} WHERE ${isPending}${isBefore}` }, [
    ...numberKey,
    ...(bound ?? []),
  ]);
  return count;
}
