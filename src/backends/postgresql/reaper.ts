// Deletes in the background what a cascade has detached: rows of lists and folders that nobody can reach any more. So
// deleting a bucket takes the same time whatever it holds, and the rest is done a little at a time, by any number of
// processes, restarts included.
import type { Connection } from './connection.ts';
import type { ConnectionPool } from './connection-pool.ts';

/** Rows deleted in one transaction. */
const chunkRows = 5000;
const pauseMs = 20;
const pauseAfterFailureMs = 5000;

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

export class Reaper {
  readonly #pool: ConnectionPool;
  #timer: NodeJS.Timeout | undefined;
  /** The step under way. */
  #step: Promise<void> | undefined;
  #isStopped = false;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** Called when something may be doomed. */
  wake(): void {
    this.#schedule(pauseMs);
  }

  /** Stops for good, after the step under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#step;
  }

  /** Deletes one chunk; returns whether more may be left that nobody else is deleting. */
  async reapChunk(): Promise<boolean> {
    const connection = await this.#pool.takeForUnit();
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

  #schedule(delayMs: number): void {
    if (this.#isStopped || this.#timer !== undefined || this.#step !== undefined) return;
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
