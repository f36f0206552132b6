// Single requests of the benchmarks themselves. Each must succeed.
import { owner, records } from './data.mjs';

/** Headers of the owner's requests. */
export const headers = { authorization: owner.authorization, 'content-type': 'application/json' };

/**
 * @param {string} url scheme, host and port
 * @param {import('./load.mjs').Request} request
 * @returns {Promise<{ status: number, headers: Headers, text: string }>}
 * @throws Error when it was refused
 */
export async function send(url, { method = 'GET', path, body, headers: own = {} }) {
  const response = await fetch(url + path, {
    method,
    headers: { ...headers, ...own },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (response.status >= 400) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return { status: response.status, headers: response.headers, text };
}

/**
 * Returns the response of the server for a bare server to repeat: without the headers of the connection.
 *
 * @param {string} url
 * @param {import('./load.mjs').Request | undefined} request
 * @returns {Promise<import('./programs.mjs').Answer>}
 */
export async function sample(url, request) {
  if (request === undefined) throw new Error('no request');
  const { status, headers: sent, text } = await send(url, request);
  const ofConnection = ['connection', 'keep-alive', 'date', 'transfer-encoding'];
  return {
    status,
    headers: Object.fromEntries([...sent].filter(([name]) => !ofConnection.includes(name))),
    body: text,
  };
}

/** Returns a response with only the two indispensable headers. @param {import('./programs.mjs').Answer} answer */
export function undressed({ status, headers: all, body }) {
  const type = 'content-type' in all ? { 'Content-Type': all['content-type'] } : {};
  return {
    status,
    body,
    headers: status === 304 ? {} : { ...type, 'Content-Length': String(Buffer.byteLength(body)) },
  };
}

/** Returns the `ETag` of the list of records. @param {string} url */
export async function etagOf(url) {
  const { headers: found } = await send(url, { method: 'HEAD', path: `/v1${records}` });
  return found.get('etag') ?? '';
}

/** Returns the number of records. @param {string} url @param {string} path of the list */
export async function countRecords(url, path) {
  const { headers: found } = await send(url, { method: 'HEAD', path });
  return Number(found.get('total-objects') ?? found.get('total-records'));
}

/**
 * Measures the duration of a request from outside.
 *
 * @param {string} url
 * @param {import('./load.mjs').Request} request
 * @returns {Promise<number>} milliseconds
 */
export async function timeOf(url, request) {
  const began = performance.now();
  await send(url, request);
  return performance.now() - began;
}
