// A running Parse Server with the records of the benchmarks, to compare its answers with. It is not a dependency: start one
// elsewhere, and name it in the environment (`PARSE_SERVER_URL`, such as `http://127.0.0.1:1337/parse`; with
// `PARSE_SERVER_APP_ID`, default `bench`, and `PARSE_SERVER_MASTER_KEY`, default `key`).
import process from 'node:process';
import { attributes } from './data.mjs';
import { send } from './client.mjs';

/** Objects that are created at once. */
const atOnce = 10;

/** @typedef {Pick<import('./contest.mjs').Contestant, 'program' | 'headers' | 'expected'> & { path: string }} ParseServer */

/** Returns the server of the environment; `undefined` without one. @returns {ParseServer | undefined} */
export function findParseServer() {
  const address = process.env['PARSE_SERVER_URL'];
  if (address === undefined || address === '') return undefined;
  const { origin, pathname } = new URL(address);
  return {
    program: { url: origin, pid: 0, startMs: 0, stop: () => Promise.resolve() },
    path: pathname.replace(/\/$/, ''),
    headers: {
      'content-type': 'application/json',
      'x-parse-application-id': process.env['PARSE_SERVER_APP_ID'] ?? 'bench',
      'x-parse-master-key': process.env['PARSE_SERVER_MASTER_KEY'] ?? 'key',
    },
    expected: [200],
  };
}

/**
 * Stores the records of the benchmarks in a new class, and declares indexes of it.
 *
 * @param {ParseServer} server
 * @param {string} name of the class
 * @param {number} count
 * @param {Record<string, Record<string, 1 | -1>>} [indexes]
 */
export async function fillParseServer({ program: { url }, path, headers }, name, count, indexes) {
  const create = (/** @type {number} */ n) =>
    send(url, { method: 'POST', path: `${path}/classes/${name}`, headers, body: JSON.stringify(attributes(n)) });
  // The first object creates the class.
  await create(0);
  for (let start = 1; start < count; start += atOnce) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - start) }, (_, n) => create(start + n)));
  }
  if (indexes !== undefined) {
    const body = JSON.stringify({ className: name, indexes });
    await send(url, { method: 'PUT', path: `${path}/schemas/${name}`, headers, body });
  }
}
