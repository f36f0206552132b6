// How long do other users wait while one user sends the most expensive requests with four clients, as fast as possible?
// Another user reads and writes in another bucket. No limits are set, so only the service itself protects that user.
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { headers, send } from './lib/client.mjs';
import { attributes, bucket, records, user } from './lib/data.mjs';
import { formatCount } from './lib/rows.mjs';
import { compareWithQuiet, visitDuring } from './lib/visitor.mjs';

export const title = 'others under heavy load by one user';
/** Clients that cause the load in parallel. */
const many = 4;
const visitor = user('visitor');
const other = '/v1/buckets/other/collections/list';
const visitorHeaders = { ...headers, authorization: visitor.authorization };
const list = `/v1${records}`;
const shared = `/v1${bucket}/collections/shared`;
const body = JSON.stringify({ data: attributes(1) });
/** History entries per batch when the history is filled. */
const entries = 25;
/** Default of `max_principals`. */
const maxPrincipals = 2500;

/**
 * @typedef {import('./lib/load.mjs').Request} Request
 * @typedef {{ name: string, request: Request, isUnread?: boolean, clients?: number }} Attack
 */

/** @param {import('./lib/workbench.mjs').Workbench} bench @returns {AsyncGenerator<import('./lib/rows.mjs').Row>} */
export async function* run(bench) {
  const { isShort, seconds } = bench.size;
  const size = isShort ? 2000 : 100_000;
  for (const backend of bench.among('memory', 'sqlite', 'postgresql')) {
    const settings = { includes: 'history', experimental_collection_schema_validation: 'true' };
    const program = await bench.server(backend, { records: size }, { settings });
    const large = await largeAttacksOn(program.url, isShort ? 2000 : 99_000, isShort);
    for (const { name, request, isUnread, clients = many } of [
      ...(await attacksOn(program.url, size)),
      ...large,
      ...large.map((attack) => ({ ...attack, name: `${attack.name}, one client`, clients: 1 })),
    ]) {
      const asked = [{ path: other }, { method: 'POST', path: `${other}/records`, body }];
      const visit = { url: program.url, headers: visitorHeaders, requests: asked, expected: [200, 201], everyMs: 10 };
      const quietSeconds = isShort ? 0.2 : seconds;
      const { quiet, busy, result } = await visitDuring(visit, quietSeconds, async () => {
        const until = performance.now() + quietSeconds * 2000;
        const attack = isUnread === true ? leaveUnread : burn;
        const burnt = Array.from({ length: clients }, () => attack(program.url, request, until));
        return (await Promise.all(burnt)).reduce((sum, count) => sum + count, 0);
      });
      yield {
        question: `${title}: ${name}, p99`,
        backend,
        ...compareWithQuiet(quiet, busy),
        remark: `${clients} clients, ${formatCount(result / (quietSeconds * 2))} of their requests a second`,
      };
    }
    await bench.stop(program);
  }
}

/**
 * Creates the data that the attacks need.
 *
 * @param {string} url
 * @param {number} size records in the list
 * @returns {Promise<Attack[]>}
 */
export async function attacksOn(url, size) {
  const letIn = JSON.stringify({ permissions: { write: [visitor.principal] } });
  await send(url, { method: 'PATCH', path: '/v1/buckets/other', body: letIn });
  const { headers: first } = await send(url, { path: `${list}?_sort=count&_limit=${size / 2}` });
  const deep = new URL(String(first.get('next-page')));
  const count = Math.min(size, maxPrincipals);
  const principals = Array.from({ length: count }, (_, n) => `basicauth:${n.toString(16).padStart(64, '0')}`);
  const share = { method: 'PUT', path: shared, body: JSON.stringify({ permissions: { read: principals } }) };
  await send(url, share);
  for (let n = 0; n < size / 5; n += entries) await send(url, changes(n));
  return [
    { name: 'a filter that matches nothing', request: { path: `${list}?like_text=*a*b*c*` } },
    { name: 'a sort by fields', request: { path: `${list}?_sort=title,-count&_limit=100` } },
    {
      name: 'a page in the middle of a sort',
      request: { path: deep.pathname + deep.search.replace(/_limit=\d+/, '_limit=100') },
    },
    { name: `an object with ${formatCount(count)} principals, read`, request: { path: shared } },
    { name: `an object with ${formatCount(count)} principals, written`, request: share },
    {
      name: `a filter on a history of ${formatCount(size / 5)}`,
      request: { path: `/v1${bucket}/history?like_uri=*none*` },
    },
    { name: 'clients that do not read a list response', request: { path: list }, isUnread: true },
  ];
}

/**
 * Returns requests with the largest accepted bodies, and creates the data that they need.
 *
 * @param {string} url
 * @param {number} values of a body
 * @param {boolean} isShort whether texts are small
 * @returns {Promise<Attack[]>}
 */
async function largeAttacksOn(url, values, isShort) {
  /** @param {(n: number) => string} member @returns {string} */
  const bodyOf = (member) => `{"data":{${Array.from({ length: values }, (_, n) => member(n)).join()}}}`;
  const integers = bodyOf((n) => `"k${n}":${n}`);
  const exact = bodyOf((n) => `"k${n}":${n}.${'5'.repeat(79)}0`);
  const schemed = `/v1${bucket}/collections/schemed`;
  const schema = { additionalProperties: { type: ['integer', 'string'], minimum: 0 } };
  await send(url, { method: 'PUT', path: schemed, body: JSON.stringify({ data: { schema } }) });
  const patched = `${list}/patched`;
  await send(url, { method: 'PUT', path: patched, body: integers });
  const operations = [
    { op: 'test', path: '/data/k1', value: 1 },
    { op: 'add', path: '/data/added', value: 1 },
  ];
  const patchHeaders = { 'content-type': 'application/json-patch+json' };
  const text = longText(isShort);
  const longest = JSON.stringify({ data: { text } });
  return [
    { name: 'a body of the largest size', request: { method: 'PUT', path: `${list}/largest`, body: longest } },
    { name: 'a batch that multiplies its defaults', request: inflatedBatch(text.slice(0, 900_000)) },
    { name: 'largest PUT by values', request: { method: 'PUT', path: `${list}/large`, body: integers } },
    { name: 'PATCH of it', request: { method: 'PATCH', path: patched, body: '{"data":{"added":1}}' } },
    {
      name: 'JSON patch of it',
      request: { method: 'PATCH', path: patched, body: JSON.stringify(operations), headers: patchHeaders },
    },
    { name: 'exact numbers', request: { method: 'PUT', path: `${list}/exact`, body: exact } },
    { name: 'schema check of it', request: { method: 'PUT', path: `${schemed}/records/large`, body: integers } },
  ];
}

/** A batch of changes to a few records. @param {number} from @returns {Request} */
function changes(from) {
  const requests = Array.from({ length: entries }, (_, n) => ({
    method: 'PUT',
    path: `${bucket}/collections/list/records/changed${n}`,
    body: { data: attributes(from + n) },
  }));
  return { method: 'POST', path: '/v1/batch', body: JSON.stringify({ requests }) };
}

/** @param {boolean} isShort */
function longText(isShort) {
  return 'x'.repeat(isShort ? 100_000 : 9_900_000);
}

/** A batch of records that take their only attribute from the defaults. @param {string} text @returns {Request} */
function inflatedBatch(text) {
  const requests = Array.from({ length: entries }, (_, n) => ({ path: `${records}/inflated${n}` }));
  const defaults = { method: 'PUT', body: { data: { text } } };
  return { method: 'POST', path: '/v1/batch', body: JSON.stringify({ defaults, requests }) };
}

/** Connections of a client that sends requests and does not read. */
const unreadAtOnce = 10;

/**
 * Sends requests over several connections, and reads no response before the end.
 *
 * @param {string} url
 * @param {Request} request
 * @param {number} until
 * @returns {Promise<number>} how many were asked for
 */
async function leaveUnread(url, { path }, until) {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: unreadAtOnce }, () => {
    const socket = connect(Number(port), hostname)
      .on('error', () => undefined)
      .pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${headers.authorization}\r\n\r\n`);
    return socket;
  });
  await wait(Math.max(0, until - performance.now()));
  for (const socket of sockets) socket.destroy();
  return sockets.length;
}

/**
 * Sends requests until the end.
 *
 * @param {string} url
 * @param {Request} request
 * @param {number} until
 * @returns {Promise<number>} how many were answered
 */
async function burn(url, request, until) {
  let answered = 0;
  while (performance.now() < until) {
    try {
      await send(url, request);
      answered++;
    } catch {
      // The service may refuse the load when it is too much. It must not refuse the visitor.
    }
  }
  return answered;
}
