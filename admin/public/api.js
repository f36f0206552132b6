// Requests to the service that serves this console. Other services are never contacted.
import { failureOf, unreachable } from './errors.js';

/**
 * @typedef {{ readonly status: number, readonly headers: Headers, readonly text: string }} Answer
 * @typedef {{
 *   readonly query?: URLSearchParams | string,
 *   readonly body?: string | FormData,
 *   readonly headers?: Readonly<Record<string, string>>,
 *   readonly allowed?: readonly number[],
 * }} Options `body`: JSON text or a form. `allowed`: statuses that are not failures, in addition to 2xx
 */

/** Address of the API. The console is at `admin/` below it. */
export const serviceUrl = new URL('..', document.baseURI).href;

/** The service, as seen by one caller. */
export class Api {
  /** End of the back-off period that the service requested, in milliseconds. */
  quietUntil = 0;

  /** @param {string | undefined} authorization */
  constructor(authorization) {
    this.authorization = authorization;
  }

  /**
   * Asks the service.
   *
   * @param {string} method
   * @param {string} path below the API, encoded
   * @param {Options} [options]
   * @returns {Promise<Answer>}
   * @throws {ServiceFailure} when the answer is no success
   */
  async request(method, path, options = {}) {
    const response = await this.#fetch(method, path, options);
    const text = await response.text();
    if (!response.ok && options.allowed?.includes(response.status) !== true) throw failureOf(response.status, text);
    return { status: response.status, headers: response.headers, text };
  }

  /**
   * Opens a live stream.
   *
   * @param {string} path
   * @param {URLSearchParams} query
   * @param {AbortSignal} signal ends the stream
   * @returns {Promise<ReadableStream<Uint8Array> | undefined>} `undefined` when the service refuses it
   * @throws {ServiceFailure} when the service does not respond
   */
  async open(path, query, signal) {
    const { ok, body } = await this.#fetch('GET', path, { query, signal, headers: { Accept: 'text/event-stream' } });
    return ok && body !== null ? body : undefined;
  }

  /** Returns the content of a file. @param {string} path @returns {Promise<Blob>} */
  async download(path) {
    const response = await this.#fetch('GET', path, {});
    if (!response.ok) throw failureOf(response.status, await response.text());
    return response.blob();
  }

  /** @param {string} method @param {string} path @param {Options & { readonly signal?: AbortSignal }} options */
  async #fetch(method, path, { query = '', body, headers = {}, signal }) {
    const url = new URL(path, serviceUrl);
    url.search = query.toString();
    const response = await fetch(url, {
      method,
      // Without it, browsers show their own password dialog after a 401.
      credentials: 'omit',
      cache: 'no-store',
      headers: {
        ...(this.authorization === undefined ? {} : { Authorization: this.authorization }),
        ...(typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    }).catch(() => {
      throw unreachable();
    });
    const seconds = Number(response.headers.get('Backoff') ?? response.headers.get('Retry-After') ?? 0);
    if (seconds > 0) this.quietUntil = Date.now() + seconds * 1000;
    return response;
  }
}
