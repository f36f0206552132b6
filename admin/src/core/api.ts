// Requests to the service that serves this console. Only this module sends requests, and only to that service.
import { failureOf, unreachable } from './errors.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface RequestOptions {
  readonly query?: URLSearchParams | string;
  /** JSON text or a form. */
  readonly body?: string | FormData;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are not failures, in addition to 2xx. */
  readonly allowed?: readonly number[];
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

export interface UploadOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly onProgress: (sentBytes: number, totalBytes: number) => void;
  readonly signal: AbortSignal;
}

/** Address of the API. The console is at `admin/` below it. */
export const serviceUrl = new URL('..', document.baseURI).href;

/** The service, as seen by one caller. */
export class Api {
  /** End of the back-off period that the service requested, in milliseconds. */
  quietUntil = 0;
  readonly authorization: string | undefined;

  constructor(authorization: string | undefined) {
    this.authorization = authorization;
  }

  /**
   * Sends a request with a path below the API, encoded.
   *
   * @throws ServiceFailure when the response is no success
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const response = await this.#fetch(method, path, options);
    const text = await response.text();
    if (!response.ok && options.allowed?.includes(response.status) !== true) throw failureOf(response.status, text);
    return { status: response.status, headers: response.headers, text };
  }

  /** Opens a live stream; returns `undefined` when the service refuses it. */
  async open(
    path: string,
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const { ok, body } = await this.#fetch('GET', path, { query, signal, headers: { Accept: 'text/event-stream' } });
    return ok && body !== null ? body : undefined;
  }

  /** Returns the content of a file. */
  async download(path: string, signal?: AbortSignal): Promise<Blob> {
    const response = await this.#fetch('GET', path, signal === undefined ? {} : { signal });
    if (!response.ok) throw failureOf(response.status, await response.text());
    return response.blob();
  }

  /**
   * Sends a form, and reports how much of it has been sent.
   *
   * @throws ServiceFailure when the response is no success
   */
  async upload(path: string, body: FormData, { headers = {}, onProgress, signal }: UploadOptions): Promise<void> {
    // Only this interface reports progress. It shows the browser's own password dialog after a 401, so callers without
    // credentials do not use it.
    if (this.authorization === undefined) {
      await this.request('POST', path, { body, headers, signal });
      return;
    }
    const sender = new XMLHttpRequest();
    sender.open('POST', new URL(path, serviceUrl));
    for (const [name, value] of Object.entries({ ...headers, Authorization: this.authorization })) {
      sender.setRequestHeader(name, value);
    }
    const { status, text } = await new Promise<{ readonly status: number; readonly text: string }>(
      (resolve, reject) => {
        const stop = (): void => sender.abort();
        sender.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded, total));
        sender.addEventListener('load', () => resolve({ status: sender.status, text: sender.responseText }));
        sender.addEventListener('error', () => reject(unreachable()));
        sender.addEventListener('abort', () => reject(new Error('The upload was stopped.')));
        sender.addEventListener('loadend', () => signal.removeEventListener('abort', stop));
        signal.addEventListener('abort', stop);
        sender.send(body);
      },
    );
    if (status < 200 || status >= 300) throw failureOf(status, text);
  }

  async #fetch(
    method: string,
    path: string,
    { query = '', body, headers = {}, signal }: RequestOptions,
  ): Promise<Response> {
    const url = new URL(path, serviceUrl);
    url.search = query.toString();
    let response: Response;
    try {
      response = await fetch(url, {
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
      });
    } catch (error) {
      // A request that its view has ended is no failure of the connection.
      if (signal?.aborted === true) throw error;
      throw unreachable();
    }
    const seconds = Number(response.headers.get('Backoff') ?? response.headers.get('Retry-After') ?? 0);
    if (seconds > 0) this.quietUntil = Date.now() + seconds * 1000;
    return response;
  }
}
