// What the benchmarks put into the server first.
import { authorization } from './programs.mjs';

const collection = '/buckets/bench/collections/list';

/** Path of the records that benchmarks work on. */
export const records = `${collection}/records`;

/** Attributes of a record of about 200 bytes. */
export const attributes = { title: 'A record of the benchmarks', count: 42, done: false, text: 'x'.repeat(100) };

/**
 * Sends one request, which must succeed.
 *
 * @param {string} url root of the protocol
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<string>} the text of the answer
 */
export async function send(url, method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${answer}`);
  return answer;
}

/**
 * Creates the collection and so many records in it, with ids `r0`, `r1`, …
 *
 * @param {string} url
 * @param {number} count
 */
export async function fill(url, count) {
  await send(url, 'PUT', '/buckets/bench');
  await send(url, 'PUT', collection);
  for (let start = 0; start < count; start += 25) {
    const ids = Array.from({ length: Math.min(25, count - start) }, (_, n) => `r${start + n}`);
    const requests = ids.map((id) => ({ method: 'PUT', path: `${records}/${id}`, body: { data: attributes } }));
    await send(url, 'POST', '/batch', { requests });
  }
}
