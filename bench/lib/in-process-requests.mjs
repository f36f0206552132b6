// The requests that are sent to the service in process.
import { createBatch, createOne, perBatch } from './creates.mjs';
import { owner, recordId, records } from './data.mjs';

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

export const headers = { host: 'localhost', authorization: owner.authorization, 'content-type': 'application/json' };

/** Returns the entity tag of the list. @type {Asked} */
export const look = { method: 'HEAD', path };

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
  { name: 'POST one record', atOnce: 32, request: () => createOne },
  {
    name: 'batch of 25 creates, a record',
    atOnce: 4,
    answers: perBatch,
    request: () => createBatch,
  },
];
