// Updates the tables of a component, or reports pending updates. The version of each component is stored in a table of its
// own.
import { BackendError } from '../../contracts/errors.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Connection } from './connection.ts';
import { pooling, translateError, type BackendName } from './errors.ts';
import type { Component, Migration } from './schema.ts';

const createVersions = `CREATE TABLE IF NOT EXISTS coffer_versions (
  component text COLLATE "C" PRIMARY KEY,
  version integer NOT NULL
)`;

/** Key of an advisory lock. Any number that no other application uses. */
const lockNumber = 4_702_111_234;

/**
 * Does what `initializeSchema` of the contracts promises.
 *
 * @throws BackendUnavailable; BackendError when a newer version has migrated the database
 */
export async function initializeComponent(
  pool: ConnectionPool,
  backend: BackendName,
  component: Component,
  { dryRun }: { readonly dryRun: boolean },
): Promise<readonly string[]> {
  const connection = await pool.takeForUnit();
  try {
    await requireUnicode(connection);
    if (!pool.isPooled) await requireTimeouts(connection);
    return dryRun ? await listPending(connection, component) : await migrate(connection, component);
  } catch (error) {
    throw translateError(error, backend, pool.place);
  } finally {
    connection.release();
  }
}

/** Refuses other encodings, which could not store every text of clients. */
async function requireUnicode(connection: Connection): Promise<void> {
  const [row] = (await connection.run({ text: 'SHOW server_encoding' })).rows;
  if (row?.[0] === 'UTF8') return;
  throw new BackendError(`The PostgreSQL database has the encoding ${row?.[0]}: create one with the encoding UTF8`);
}

/**
 * Refuses connections whose requests would wait for locks without a limit: a pooler drops the timeouts, and the rest of the
 * session as well, or the URL asks for a limit of 0.
 */
async function requireTimeouts(connection: Connection): Promise<void> {
  const [row] = (await connection.run({ text: 'SHOW lock_timeout' })).rows;
  if (row?.[0] !== '0') return;
  throw new BackendError(
    `PostgreSQL at ${connection.place}: lock_timeout is 0. Remove it from the URL. A pooler drops it too; ${pooling}`,
  );
}

async function listPending(connection: Connection, component: Component): Promise<readonly string[]> {
  const version = await readVersion(connection, component);
  return component.migrations.slice(version).map((migration) => describe(component, migration));
}

async function migrate(connection: Connection, component: Component): Promise<readonly string[]> {
  const done: string[] = [];
  for (;;) {
    const line = await migrateOnce(connection, component);
    if (line === undefined) return done;
    done.push(line);
  }
}

/** Runs the next pending migration in a transaction of its own. */
async function migrateOnce(connection: Connection, component: Component): Promise<string | undefined> {
  const { name, migrations } = component;
  // Most starts have nothing to migrate, so they take no lock.
  if ((await readVersion(connection, component)) === migrations.length) return undefined;
  await connection.run({ text: 'BEGIN' });
  try {
    await connection.run({ text: `SELECT pg_advisory_xact_lock(${lockNumber})` });
    await connection.run({ text: createVersions });
    const version = await readVersion(connection, component);
    const migration = migrations[version];
    if (migration !== undefined) {
      await connection.run({ text: `SET LOCAL statement_timeout = 0; ${migration.sql}` });
      await connection.run(
        {
          text: `INSERT INTO coffer_versions (component, version) VALUES ($1, $2)
            ON CONFLICT (component) DO UPDATE SET version = excluded.version`,
        },
        [name, version + 1],
      );
    }
    await connection.run({ text: 'COMMIT' });
    return migration === undefined ? undefined : describe(component, migration);
  } catch (error) {
    await connection.run({ text: 'ROLLBACK' }).catch(() => {});
    throw error;
  }
}

/** Returns the number of migrations that the database has. */
async function readVersion(connection: Connection, { name, migrations }: Component): Promise<number> {
  const exists = await connection.run({ text: `SELECT to_regclass('coffer_versions') IS NOT NULL` });
  if (exists.rows[0]?.[0] !== 't') return 0;
  const found = await connection.run({ text: 'SELECT version FROM coffer_versions WHERE component = $1' }, [name]);
  const version = Number(found.rows[0]?.[0] ?? 0);
  if (version > migrations.length) {
    throw new BackendError(
      `The PostgreSQL database has version ${version} of the ${name} tables, but this version of Coffer knows ` +
        `${migrations.length} at most: run the version that migrated it, or a later one`,
    );
  }
  return version;
}

function describe({ name, migrations }: Component, migration: Migration): string {
  return `${migration.summary} (PostgreSQL ${name} tables, version ${migrations.indexOf(migration) + 1})`;
}
