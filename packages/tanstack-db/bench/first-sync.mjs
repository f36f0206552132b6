// How long do the first synchronisation of 10,000 records and the next start take, with this adapter and with kinto.js?
// Run it against a server without data that matters: node packages/tanstack-db/bench/first-sync.mjs http://127.0.0.1:8888/v1
import 'fake-indexeddb/auto';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { basic, Coffer } from '@coffer/client';
import { DatabaseSync } from '@photostructure/sqlite';
import { createCollection } from '@tanstack/db';
import { createSQLiteCorePersistenceAdapter, persistedCollectionOptions } from '@tanstack/db-sqlite-persistence-core';
import KintoModule from 'kinto';
import { cofferCollectionOptions } from '@coffer/tanstack-db';

const Kinto = /** @type {any} */ (KintoModule).default ?? KintoModule;
const [server = 'http://127.0.0.1:8888/v1', given = '10000'] = process.argv.slice(2);
const total = Number(given);
const credentials = /** @type {const} */ (['bench', `secret ${process.pid}`]);
const client = new Coffer(server, { auth: basic(...credentials) });
const list = client.bucket('default').collection('bench');

/** @type {Record<string, unknown>[]} */
const records = Array.from({ length: total }, (_, n) => ({
  id: `r${n}`,
  n,
  title: `Title of number ${n}`,
  done: n % 3 === 0,
}));
for (let at = 0; at < total; at += 25) {
  const chunk = records.slice(at, at + 25);
  await client.batch((root) =>
    chunk.map((record) => root.bucket('default').collection('bench').put(String(record['id']), record)),
  );
}

/** SQLite in memory, as persisted collections expect it. */
function memoryDriver() {
  const connection = new DatabaseSync(':memory:');
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  /** @type {any} */
  const driver = {
    exec: async (/** @type {string} */ sql) => connection.exec(sql),
    query: async (/** @type {string} */ sql, /** @type {any[]} */ params = []) =>
      connection.prepare(sql).all(...params),
    run: async (/** @type {string} */ sql, /** @type {any[]} */ params = []) =>
      void connection.prepare(sql).run(...params),
    transaction: (/** @type {(driver: any) => Promise<unknown>} */ work) => {
      const turn = last.then(async () => {
        connection.exec('BEGIN');
        const result = await work(driver);
        connection.exec('COMMIT');
        return result;
      });
      last = turn;
      return turn;
    },
  };
  return driver;
}

const driver = memoryDriver();

/** Starts a collection, waits until it has all records, and ends it. @returns the milliseconds */
async function start(/** @type {boolean} */ isPersisted, /** @type {'eager' | 'progressive'} */ syncMode = 'eager') {
  const begin = performance.now();
  const options = cofferCollectionOptions({ id: 'bench', client, list, startSync: true, syncMode });
  const adapter = createSQLiteCorePersistenceAdapter({ driver });
  const persisted = /** @type {any} */ ({ ...options, persistence: { adapter }, schemaVersion: 1 });
  const collection = createCollection(
    isPersisted ? /** @type {any} */ (persistedCollectionOptions(persisted)) : options,
  );
  await collection.preload();
  while (collection.size < total) await pause(1);
  const milliseconds = performance.now() - begin;
  // The rows are persisted after they are there.
  if (isPersisted) {
    const write = performance.now();
    await pause(50);
    await driver.transaction(async () => undefined);
    show('  until they are persisted', performance.now() - write);
  }
  await collection.cleanup();
  return milliseconds;
}

/** Synchronises with kinto.js and an IndexedDB in memory. @returns the milliseconds */
async function synchronise() {
  const headers = { Authorization: `Basic ${btoa(credentials.join(':'))}` };
  const begin = performance.now();
  const store = new Kinto({ remote: server, bucket: 'default', headers });
  const { ok } = await store.collection('bench').sync();
  if (!ok) throw new Error('kinto.js did not synchronise.');
  const { data } = await store.collection('bench').list();
  if (data.length !== total) throw new Error(`kinto.js has ${data.length} records.`);
  return performance.now() - begin;
}

const show = (/** @type {string} */ what, /** @type {number} */ milliseconds) =>
  console.log(`${what.padEnd(62)} ${milliseconds.toFixed(0).padStart(7)} ms`);
show(`TanStack DB, first copy of ${total} records in memory`, await start(false));
show(`TanStack DB, first copy of ${total} records, persisted in SQLite`, await start(true));
show('TanStack DB, next start from SQLite', await start(true));
show(`kinto.js, first copy of ${total} records (IndexedDB in memory)`, await synchronise());
show('kinto.js, next start', await synchronise());
process.exit();
