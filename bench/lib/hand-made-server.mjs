// A server written by hand for one purpose only, with the same parts: `node:http`, the driver, a log line for each request,
// the headers that the protocol requires. It has no users, permissions, clocks or preconditions, so it shows the cost of the
// parts. It reads its task from standard input, see HandMade.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { DatabaseSync } from '@photostructure/sqlite';
import { Pool } from 'pg';
import { pino } from 'pino';

/**
 * @typedef {object} HandMade
 * @property {import('./programs.mjs').Answer} answer status and headers of all answers, and the body of those that are not
 * looked up
 * @property {{ backend: import('./places.mjs').Backend, place: string, connections: number, sql: string, sqlOfMany?: string }} [store]
 * `sql` takes an id and finds a text, or takes an id and a text and stores them; nothing but a map in memory. `sqlOfMany`
 * takes lists of ids and texts
 *
 * @typedef {InstanceType<typeof DatabaseSync>} Database
 * @typedef {(id: string, body: string) => string | Promise<string>} Work
 */

/** @type {HandMade} */
const {
  answer: { status, headers, body: given },
  store,
} = JSON.parse(await text(process.stdin));
const logger = pino({ base: null }, pino.destination({ dest: 2, sync: false }));

/** Stores texts in memory. @returns {Work} */
function remember() {
  const kept = new Map();
  return (id, body) => {
    if (body !== '') kept.set(id, body);
    return given;
  };
}

/** Looks one row up for each request. @param {Database} database @param {string} sql @returns {Work} */
function findInSqlite(database, sql) {
  const find = database.prepare(sql);
  return (id) => /** @type {{ data: string }} */ (find.get(id)).data;
}

/** Commits the requests of one turn of the event loop together. @param {Database} database @param {string} sql @returns {Work} */
function insertIntoSqlite(database, sql) {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  const insert = database.prepare(sql);
  /** @type {{ id: string, body: string, done: (body: string) => void }[]} */
  let waiting = [];
  const commit = () => {
    const group = waiting;
    waiting = [];
    database.exec('BEGIN IMMEDIATE');
    for (const { id, body } of group) insert.run(id, body);
    database.exec('COMMIT');
    for (const { body, done } of group) done(body);
  };
  return (id, body) =>
    new Promise((done) => {
      if (waiting.length === 0) setImmediate(commit);
      waiting.push({ id, body, done });
    });
}

/** Stores all records of a batch with one statement. @param {string} url @param {string} sql @param {number} connections */
function insertIntoPostgresql(url, sql, connections) {
  const pool = new Pool({ connectionString: url, max: connections });
  return async (/** @type {readonly string[]} */ ids, /** @type {readonly string[]} */ bodies) => {
    await pool.query({ name: 'many', text: sql, values: [ids, bodies] });
  };
}

/** Runs one statement for each request. @param {string} url @param {string} sql @param {number} connections @returns {Work} */
function askPostgresql(url, sql, connections) {
  const pool = new Pool({ connectionString: url, max: connections });
  return async (id, body) => {
    const { rows } = await pool.query({ name: 'only', text: sql, values: body === '' ? [id] : [id, body] });
    return rows[0]?.data ?? body;
  };
}

// This reference keeps the database open: without one it is closed while its statements are in use.
const file = store?.backend === 'sqlite' ? new DatabaseSync(store.place) : undefined;

/** @returns {Work} */
function chooseWork() {
  if (store === undefined || store.backend === 'memory') return remember();
  if (file === undefined) return askPostgresql(store.place, store.sql, store.connections);
  return store.sql.startsWith('INSERT') ? insertIntoSqlite(file, store.sql) : findInSqlite(file, store.sql);
}

const work = chooseWork();

/** Stores the records of a batch. @returns {(ids: readonly string[], bodies: readonly string[]) => Promise<void>} */
function chooseWorkOfMany() {
  if (store?.backend === 'postgresql' && store.sqlOfMany !== undefined) {
    return insertIntoPostgresql(store.place, store.sqlOfMany, store.connections);
  }
  return async (ids, bodies) => {
    await Promise.all(ids.map(async (id, index) => work(id, bodies[index] ?? '')));
  };
}

const workOfMany = chooseWorkOfMany();

/** @param {string} body @returns {Promise<string>} */
async function answerBatch(body) {
  const { requests } = JSON.parse(body);
  const bodies = requests.map((/** @type {{ body: unknown }} */ entry) => JSON.stringify(entry.body));
  const ids = bodies.map(() => randomUUID());
  await workOfMany(ids, bodies);
  const responses = bodies.map((/** @type {string} */ sent, /** @type {number} */ index) => ({
    status: 201,
    path: '/batch',
    headers,
    body: { data: { ...JSON.parse(sent).data, id: ids[index] } },
  }));
  return JSON.stringify({ responses });
}

/** @param {http.IncomingMessage} request @param {string} body @returns {string | Promise<string>} */
function answerTo({ method, url = '' }, body) {
  if (method === 'POST' && url.endsWith('/batch')) return answerBatch(body);
  const id = method === 'POST' ? randomUUID() : url.slice(url.lastIndexOf('/') + 1);
  return work(id, body === '' ? '' : JSON.stringify(JSON.parse(body)));
}

/** @param {http.IncomingMessage} request @param {http.ServerResponse} response @param {string} body */
async function respond(request, response, body) {
  const found = Buffer.from(await answerTo(request, body));
  if (status === 304) response.writeHead(status, headers).end();
  else response.writeHead(status, { ...headers, 'content-length': found.length }).end(found);
  logger.info({ method: request.method, path: request.url, code: status, agent: request.headers['user-agent'] });
}

const server = http.createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk));
  request.on('end', () => void respond(request, response, Buffer.concat(chunks).toString()));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
