// Single requests of the benchmarks themselves, each of which must succeed.
import { owner } from './data.mjs';

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

/** How many records there are. @param {string} url @param {string} path of the list */
export async function countRecords(url, path) {
  const { headers: found } = await send(url, { method: 'HEAD', path });
  return Number(found.get('total-objects') ?? found.get('total-records'));
}

/**
 * How long a request takes, from outside.
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
