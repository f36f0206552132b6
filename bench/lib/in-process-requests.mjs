// The requests that are asked of the service in process.
import { owner, attributes, recordId, records } from './data.mjs';

/**
 * @typedef {object} Asked
 * @property {string} method
 * @property {string} path
 * @property {string} [body]
 * @property {Record<string, string>} [headers]
 *
 * @typedef {object} Question
 * @property {string} name
 * @property {(n: number, etag: string) => Asked} request
 * @property {number} atOnce how many requests wait for their answers at the same time
 * @property {number} [answers] how many things each of them does
 */

const path = `/v1${records}`;
const data = JSON.stringify({ data: attributes(1) });
const perBatch = 25;
const entries = Array.from({ length: perBatch }, () => ({
  method: 'POST',
  path: records,
  body: { data: attributes(1) },
}));
const batch = JSON.stringify({ requests: entries });

export const headers = { host: 'localhost', authorization: owner.authorization, 'content-type': 'application/json' };

/** @type {readonly Question[]} */
export const asked = [
  {
    name: 'GET one record',
    atOnce: 32,
    request: (n) => ({ method: 'GET', path: `${path}/${recordId(100 + (n % 900))}` }),
  },
  {
    name: 'poll: 304 to If-None-Match',
    atOnce: 32,
    request: (_, etag) => ({ method: 'GET', path, headers: { 'if-none-match': etag } }),
  },
  {
    name: 'poll with _since, nothing new',
    atOnce: 32,
    request: (_, etag) => ({ method: 'GET', path: `${path}?_since=${encodeURIComponent(etag)}` }),
  },
  { name: 'list of 100', atOnce: 32, request: () => ({ method: 'GET', path: `${path}?_limit=100` }) },
  { name: 'POST one record', atOnce: 32, request: () => ({ method: 'POST', path, body: data }) },
  {
    name: 'batch of 25 creates, a record',
    atOnce: 4,
    answers: perBatch,
    request: () => ({ method: 'POST', path: '/v1/batch', body: batch }),
  },
];
