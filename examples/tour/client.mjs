// A small client: what a program needs to talk to the service with nothing but `fetch`. Responses are values. An unexpected
// response is an error that shows the request and the response.

/**
 * @typedef {{ id: string, last_modified: number, deleted?: boolean, [field: string]: unknown }} StoredObject
 *
 * @typedef {{ path: string, status: number, headers: Record<string, string>, body: Body }} BatchEntry
 *
 * @typedef {object} Body what the tour reads of answers; which members there are depends on the request
 * @property {StoredObject | StoredObject[]} [data]
 * @property {Record<string, string[]>} [permissions]
 * @property {BatchEntry[]} [responses]
 * @property {number} [errno]
 * @property {string} [message]
 * @property {{ existing?: StoredObject }} [details]
 *
 * @typedef {object} Answer
 * @property {string} method
 * @property {string} path with query string, without the version
 * @property {unknown} sent body of the request
 * @property {number} status
 * @property {Headers} headers
 * @property {Body} body
 *
 * @typedef {object} RequestOptions
 * @property {unknown} [body] sent as JSON
 * @property {Record<string, string>} [headers]
 * @property {readonly number[]} [expect] statuses that are fine; any 2xx unless given
 *
 * @typedef {{ name: string, password: string }} User
 */

/** Sends requests to one service as one user, or anonymously. */
export class Client {
  /** @type {string} address of the service with its version: `http://127.0.0.1:8888/v1` */
  api;
  /** @type {Record<string, string>} what says who is asking */
  credentials;

  /** @param {string} api @param {User} [user] */
  constructor(api, user) {
    this.api = api.replace(/\/+$/, '');
    this.credentials = user === undefined ? {} : { Authorization: basicAuthentication(user) };
  }

  /**
   * Sends one request.
   *
   * @param {string} method
   * @param {string} path below the version: `/buckets`; an absolute address, as `Next-Page` has it, is taken as it is
   * @param {RequestOptions} [options]
   * @returns {Promise<Answer>}
   */
  async request(method, path, { body, headers = {}, expect } = {}) {
    const url = /^https?:/.test(path) ? path : `${this.api}${path}`;
    const hasBody = body !== undefined;
    const init = {
      method,
      headers: { ...this.credentials, ...(hasBody ? { 'Content-Type': 'application/json' } : {}), ...headers },
      body: hasBody ? JSON.stringify(body) : null,
    };
    const response = await fetch(url, init).catch((/** @type {unknown} */ cause) => {
      throw new Error(`${url} cannot be reached`, { cause });
    });
    const text = await response.text();
    const shownPath = url.startsWith(this.api) ? url.slice(this.api.length) : url;
    if (!(expect?.includes(response.status) ?? response.ok)) {
      throw new Error(`${method} ${shownPath} was answered with ${response.status}: ${text.slice(0, 500)}`);
    }
    /** @type {Body} */
    const parsed = text === '' ? {} : JSON.parse(text);
    return { method, path: shownPath, sent: body, status: response.status, headers: response.headers, body: parsed };
  }

  /**
   * Every object of a list, however many pages it takes.
   *
   * @param {string} path
   * @param {(answer: Answer) => void} [onPage]
   * @returns {Promise<StoredObject[]>}
   */
  async readAll(path, onPage) {
    const objects = [];
    for (let next = /** @type {string | null} */ (path); next !== null;) {
      const answer = await this.request('GET', next);
      objects.push(...listOf(answer));
      next = answer.headers.get('Next-Page');
      onPage?.(answer);
    }
    return objects;
  }

  /**
   * Sends several requests as one; they happen together or, when the service fails, not at all.
   *
   * @param {{ defaults?: object, requests: readonly object[] }} batch
   * @returns {Promise<BatchEntry[]>} in the order of the requests
   */
  async batch(batch) {
    const answer = await this.request('POST', '/batch', { body: batch });
    return answer.body.responses ?? [];
  }
}

/** The one object that an answer holds. @param {{ body: Body }} answer @returns {StoredObject} */
export function objectOf({ body }) {
  if (body.data === undefined || Array.isArray(body.data)) throw new Error('The answer holds no object.');
  return body.data;
}

/** The objects of a list. @param {{ body: Body }} answer @returns {StoredObject[]} */
export function listOf({ body }) {
  if (!Array.isArray(body.data)) throw new Error('The answer holds no list.');
  return body.data;
}

/** The entity tag, with its quotes, as `If-Match` and `_since` take it. @param {Answer} answer @returns {string} */
export function etagOf({ headers, path }) {
  const etag = headers.get('ETag');
  if (etag === null) throw new Error(`The answer for ${path} has no ETag.`);
  return etag;
}

/** How many objects a list has; answers of HEAD tell it. @param {Answer} answer @returns {number} */
export function totalOf({ headers }) {
  return Number(headers.get('Total-Objects'));
}

/** The header that Basic authentication consists of. @param {User} user @returns {string} */
export function basicAuthentication({ name, password }) {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}
