// Programs that the benchmark of the clients runs in a browser: each synchronises one collection into IndexedDB with another
// client, and starts again from it.

/**
 * Each module exports these functions, which return milliseconds:
 *
 * - `sync(total)`: the first synchronisation, until all records are in memory (or readable) and kept in the browser.
 * - `restart(total)`: a start without a network, until all records are readable.
 * - `idle()`: what the client does in a minute without changes. Clients that follow the list do nothing.
 *
 * @typedef {object} BrowserProgram
 * @property {string} name
 * @property {string} code
 * @property {boolean} isLive whether it follows the list on a stream
 */

const common = `
const server = location.origin + '/v1';
const [user, password] = ['owner', 'password'];
const until = async (condition) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 1));
};
const timeOf = async (work) => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};
`;

/** @type {readonly BrowserProgram[]} */
export const browserPrograms = [
  {
    name: 'TanStack DB',
    isLive: true,
    code: `
import { basic, Coffer } from '@coffer/client';
import { cofferCollectionOptions } from '@coffer/tanstack-db';
import { createCollection } from '@tanstack/db';
import { persistedCollectionOptions } from '@tanstack/db-sqlite-persistence-core';
import { LocalDatabase } from './examples/todo/src/local-database.ts';
${common}
async function open() {
  const database = await LocalDatabase.open('bench');
  const client = new Coffer(server, { auth: basic(user, password) });
  const list = client.bucket('bench').collection('list');
  const options = cofferCollectionOptions({ id: 'rows', client, list, startSync: true });
  const persistence = { adapter: database.rows };
  return { database, rows: createCollection(persistedCollectionOptions({ ...options, persistence, schemaVersion: 1 })) };
}
export const sync = (total) => timeOf(async () => {
  const { database, rows } = await open();
  await until(() => rows.size === total);
  // The position is written with the rows.
  await until(async () => (await database.rows.loadCollectionMetadata('rows')).length > 0);
});
export const restart = (total) => timeOf(async () => {
  const { rows } = await open();
  await until(() => rows.size === total);
});
export const idle = async () => {};
`,
  },
  {
    name: 'RxDB',
    isLive: true,
    code: `
import { basic, Coffer } from '@coffer/client';
import { replicateCoffer } from '@coffer/rxdb';
import { createRxDatabase } from 'rxdb';
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie';
${common}
async function open() {
  const database = await createRxDatabase({ name: 'bench', storage: getRxStorageDexie(), multiInstance: false });
  const properties = { id: { type: 'string', maxLength: 100 }, title: { type: 'string' }, count: { type: 'number' },
    done: { type: 'boolean' }, text: { type: 'string' } };
  const { rows } = await database.addCollections({
    rows: { schema: { version: 0, primaryKey: 'id', type: 'object', properties, required: ['id'] } } });
  const client = new Coffer(server, { auth: basic(user, password) });
  const list = client.bucket('bench').collection('list');
  const replication = replicateCoffer({ collection: rows, client, list, replicationIdentifier: 'bench',
    waitForLeadership: false, pull: {}, push: {} });
  return { rows, replication };
}
export const sync = (total) => timeOf(async () => {
  const { rows, replication } = await open();
  await replication.awaitInitialReplication();
  const found = await rows.count().exec();
  if (found !== total) throw new Error('RxDB has ' + found + ' documents.');
});
export const restart = (total) => timeOf(async () => {
  const { rows } = await open();
  const found = (await rows.find().exec()).length;
  if (found !== total) throw new Error('RxDB has ' + found + ' documents.');
});
export const idle = async () => {};
`,
  },
  {
    name: 'kinto.js',
    isLive: false,
    code: `
import KintoModule from 'kinto';
${common}
const Kinto = KintoModule.default ?? KintoModule;
const headers = { Authorization: 'Basic ' + btoa(user + ':' + password) };
// It accepts other ids than its own UUIDs when told.
const idSchema = { generate: () => crypto.randomUUID(), validate: () => true };
const rows = new Kinto({ remote: server, bucket: 'bench', headers }).collection('list', { idSchema });
const check = async (total) => {
  const { data } = await rows.list();
  if (data.length !== total) throw new Error('kinto.js has ' + data.length + ' records.');
};
export const sync = (total) => timeOf(async () => {
  const { ok, errors } = await rows.sync();
  if (!ok) throw new Error('kinto.js did not synchronise: ' + JSON.stringify(errors.slice(0, 3)));
  await check(total);
});
export const restart = (total) => timeOf(() => check(total));
export const idle = async () => {
  const { ok } = await rows.sync();
  if (!ok) throw new Error('kinto.js did not synchronise.');
};
`,
  },
];
