// Queries written by hand: SQL on the same tables, with only the driver. Also measures how long the driver takes to store many
// rows.
import { DatabaseSync } from '@photostructure/sqlite';
import { Client } from 'pg';
import { attributes, collection, recordId } from './data.mjs';

/**
 * @typedef {object} ByHand
 * @property {(sql: string) => Promise<number>} count rows of a query on a list
 * @property {(sql: string) => Promise<void>} run
 * @property {() => Promise<void>} close
 */

/**
 * SQL over the records of the benchmarks. `attribute` returns the expression for an attribute, and `list` is the condition
 * that a row belongs to the list.
 *
 * @param {'sqlite' | 'postgresql'} backend
 */
export function dialect(backend) {
  const list = (/** @type {string} */ table) =>
    `(SELECT list FROM ${table} WHERE parent = '${collection}' AND kind = 'record')`;
  return backend === 'sqlite'
    ? {
        from: `FROM objects WHERE list = ${list('lists')}`,
        columns: 'id, last_modified, data',
        attribute: (/** @type {string} */ name) => `data ->> '$.${name}'`,
        number: (/** @type {number} */ value) => String(value),
      }
    : {
        from: `FROM coffer_objects WHERE parent = '${collection}' AND list = ${list('coffer_lists')}`,
        columns: 'id, last_modified, data',
        attribute: (/** @type {string} */ name) => `attributes -> '${name}'`,
        number: (/** @type {number} */ value) => `'${value}'::jsonb`,
      };
}

/** @param {string} file @returns {ByHand} */
export function openSqlite(file) {
  const database = new DatabaseSync(file);
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000; PRAGMA busy_timeout = 5000',
  );
  return {
    count: async (sql) => database.prepare(sql).all().length,
    run: async (sql) => database.exec(sql),
    close: async () => database.close(),
  };
}

/** @param {string} url @returns {Promise<ByHand>} */
export async function openPostgresql(url) {
  const client = new Client({ connectionString: url });
  await client.connect();
  /** @type {Map<string, string>} */
  const names = new Map();
  return {
    count: async (sql) => {
      // Prepared once, as in the service.
      if (!names.has(sql)) names.set(sql, `by-hand-${names.size}`);
      return (await client.query({ name: names.get(sql) ?? '', text: sql })).rows.length;
    },
    run: async (sql) => {
      await client.query(sql);
    },
    close: () => client.end(),
  };
}

const rowsPerStatement = 5000;

/**
 * Stores records in a new table with the indexes that a list needs, in one transaction.
 *
 * @param {string} file
 * @param {number} count
 * @returns {number} seconds
 */
export function insertIntoSqlite(file, count) {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000');
  database.exec(`CREATE TABLE rows (row INTEGER PRIMARY KEY, list INTEGER NOT NULL, id TEXT NOT NULL,
    last_modified INTEGER NOT NULL, data TEXT NOT NULL) STRICT;
    CREATE UNIQUE INDEX rows_by_id ON rows (list, id);
    CREATE UNIQUE INDEX rows_by_time ON rows (list, last_modified)`);
  const insert = database.prepare('INSERT INTO rows (list, id, last_modified, data) VALUES (1, ?, ?, ?)');
  const began = performance.now();
  database.exec('BEGIN');
  for (let n = 0; n < count; n++) insert.run(recordId(n), 1_700_000_000_000 + n, JSON.stringify(attributes(n)));
  database.exec('COMMIT');
  const seconds = (performance.now() - began) / 1000;
  database.close();
  return seconds;
}

/**
 * Stores records in a new PostgreSQL table in one transaction, some thousand rows in each statement.
 *
 * @param {string} url
 * @param {number} count
 * @returns {Promise<number>} seconds
 */
export async function insertIntoPostgresql(url, count) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE TABLE rows (list bigint NOT NULL, id text COLLATE "C" NOT NULL, last_modified bigint NOT NULL,
    data text NOT NULL, PRIMARY KEY (list, id));
    CREATE INDEX rows_by_time ON rows (list, last_modified)`);
  const began = performance.now();
  await client.query('BEGIN');
  for (let start = 0; start < count; start += rowsPerStatement) {
    const numbers = Array.from({ length: Math.min(rowsPerStatement, count - start) }, (_, n) => start + n);
    await client.query({
      name: 'insert',
      text: 'INSERT INTO rows SELECT 1, * FROM unnest($1::text[], $2::bigint[], $3::text[])',
      values: [
        numbers.map(recordId),
        numbers.map((n) => 1_700_000_000_000 + n),
        numbers.map((n) => JSON.stringify(attributes(n))),
      ],
    });
  }
  await client.query('COMMIT');
  const seconds = (performance.now() - began) / 1000;
  await client.end();
  return seconds;
}
