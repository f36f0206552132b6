// Sends requests: credentials, time limits, retries with pauses, and errors.
import type { Auth } from './auth.ts';
import { CofferError } from './errors.ts';

/** How the client sends requests. */
export interface TransportOptions {
  /** Credentials: `basic()`, `bearer()` or a function that returns the value of `Authorization`. Default: anonymous. */
  readonly auth?: Auth;
  /** Sends requests in place of the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds that one attempt may take; default 30,000. 0 means unlimited. */
  readonly timeoutMs?: number;
  /** Maximum number of attempts of one request; default 5. 1 switches retries off. */
  readonly maxAttempts?: number;
  /** Maximum pause between attempts in milliseconds; default 30,000. A longer `Retry-After` ends the operation. */
  readonly maxPauseMs?: number;
  /** Time limits of live updates. */
  readonly live?: LiveTimes;
}

/** Time limits of live updates, in milliseconds. */
export interface LiveTimes {
  /** Silence at the beginning of a stream after which lists are polled instead; default 10,000. */
  readonly openingMs?: number;
  /** Silence after which a stream counts as lost; default 45,000. The service sends something every 20 seconds. */
  readonly silenceMs?: number;
  /** Time for which a consumer that takes nothing may delay other lists of its connection; default 10,000. */
  readonly stallMs?: number;
  /** Time after which streams are tried again where lists are polled; default 600,000. */
  readonly pollingMs?: number;
}

export interface Request {
  readonly method: string;
  /** Path and query below the root of the API, or a complete URL. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A value that becomes JSON, or a form. */
  readonly body?: unknown;
  /** Whether the request may be sent again when its outcome is unknown. Default: for GET and HEAD. */
  readonly isRepeatable?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What to read: JSON (default), or bytes. */
  readonly as?: 'blob';
}

/** A response, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: unknown;
  /** Whether an earlier attempt may have been executed. */
  readonly isRepeated: boolean;
}

/** Passes a request on, now or as a part of a batch. */
export type Send = <R>(request: Request | Promise<Request>, finish: (reply: Reply) => R | Promise<R>) => Promise<R>;

const firstPauseMs = 300;

/** Returns the body of a response. @throws CofferError for a status of 400 or more */
export function check({ status, headers, body }: Pick<Reply, 'status' | 'headers' | 'body'>): unknown {
  if (status < 400) return body;
  throw errorOf(status, body, readPause(headers, 'Retry-After'));
}

/** Returns what a call makes of a response. @throws CofferError of kind `parse` for a response of another form */
export async function conclude<R>(reply: Reply, finish: (reply: Reply) => R | Promise<R>): Promise<R> {
  try {
    return await finish(reply);
  } catch (cause) {
    if (cause instanceof CofferError) throw cause;
    throw new CofferError('parse', 'Bad response', { status: reply.status, cause });
  }
}

/** Returns the error that the body of a response describes, if it does. */
export function errorOf(status: number, body: unknown, retryAfterMs?: number): CofferError {
  const { errno, details, message, error } = (body ?? {}) as {
    readonly [name in 'message' | 'error']?: string;
  } & { readonly errno?: number; readonly details?: unknown };
  return new CofferError('http', `${status} ${message ?? error ?? ''}`.trim(), {
    status,
    errno,
    details,
    retryAfterMs,
  });
}

/**
 * Reads a number of seconds or a date, in milliseconds from now. Dates are compared with the clock of the service, which may
 * differ from the local one.
 */
export function readPause(headers: Reply['headers'], name: string): number | undefined {
  const value = headers.get(name);
  if (!value) return undefined;
  if (Number(value) >= 0) return Number(value) * 1000;
  return Math.max(0, Date.parse(value) - (Date.parse(headers.get('Date') ?? '') || Date.now())) || undefined;
}

/** Waits, unless the signal aborts, or the target reports that the network is back. @throws CofferError of kind `abort` */
export function pause(milliseconds: number, signal?: AbortSignal, target?: Partial<EventTarget>): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      target?.removeEventListener?.('online', end);
      if (signal?.aborted) reject(aborted(signal));
      else resolve();
    };
    // Longer times would end at once.
    const timer = setTimeout(end, Math.min(milliseconds, 2 ** 31 - 1));
    signal?.addEventListener('abort', end);
    target?.addEventListener?.('online', end);
    if (signal?.aborted) end();
  });
}

function aborted(signal: AbortSignal): CofferError {
  return new CofferError('abort', 'Aborted', { cause: signal.reason });
}

/** A response whose body is still to be read. */
export interface Opened {
  readonly response: Response;
  /** The value of `Authorization` that was sent. */
  readonly credentials: string | undefined;
  /** Sets the time limit anew, in milliseconds from now; 0 means unlimited. */
  readonly extend: (milliseconds: number) => void;
  /** Frees the connection. */
  readonly end: () => void;
  /** Returns the error for a failure to read the body. */
  readonly failed: (error: unknown) => CofferError;
}

export class Transport {
  /** Root of the API, without a slash at its end. */
  readonly root: string;
  readonly #options: TransportOptions;
  readonly #origin: string;
  /** Time until which the service wants no requests, by the clock of `performance.now()`. */
  #quietUntil = 0;

  constructor(server: string, options: TransportOptions) {
    // Pages may name a path of their own origin.
    const { location } = globalThis as { readonly location?: { readonly href: string } };
    const { href, origin } = new URL(server, location?.href);
    const root = href.replace(/\/+$/, '');
    this.root = /\/v\d+$/.test(root) ? root : `${root}/v1`;
    this.#origin = origin;
    this.#options = options;
  }

  /**
   * Returns a random pause before the next attempt, the longer the more have failed.
   *
   * @param leastMs what the service asks for
   */
  drawPause(failures: number, leastMs = 0): number {
    return Math.min(this.maxPauseMs, leastMs) + Math.random() * Math.min(this.maxPauseMs, firstPauseMs * 2 ** failures);
  }

  get liveTimes(): LiveTimes {
    return this.#options.live ?? {};
  }

  get maxPauseMs(): number {
    return this.#options.maxPauseMs ?? 30_000;
  }

  readonly send: Send = async (request, finish) => conclude(await this.request(await request), finish);

  /**
   * Sends a request, several times if needed. Responses with any status are returned.
   *
   * @throws CofferError of kind `network`, `timeout`, `abort` or `parse`
   */
  async request(request: Request): Promise<Reply> {
    const isRepeatable = mayRepeat(request);
    const { maxAttempts = 5, timeoutMs = 30_000 } = this.#options;
    let isRepeated = false;
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt >= maxAttempts;
      let waitMs = 0;
      try {
        const opened = await this.open(request, timeoutMs);
        const reply: Reply = { ...(await read(opened, request.as)), isRepeated };
        const { status, headers } = reply;
        // The service has not executed a request that it refuses with 429.
        const isRefused = status === 429;
        waitMs = readPause(headers, 'Retry-After') ?? 0;
        if (isLast || waitMs > this.maxPauseMs || !(isRefused || (isRepeatable && isTemporary(status)))) return reply;
        isRepeated ||= !isRefused;
      } catch (error) {
        const isLost = error instanceof CofferError && (error.kind === 'network' || error.kind === 'timeout');
        if (isLast || !isRepeatable || !isLost) throw error;
        isRepeated = true;
      }
      await pause(this.drawPause(attempt, waitMs), request.signal);
    }
  }

  /**
   * Sends a request once, or twice if its credentials were refused and there are new ones.
   *
   * @throws CofferError of kind `network`, `timeout` or `abort`
   */
  async open(request: Request, timeoutMs: number): Promise<Opened> {
    const quietMs = this.#quietUntil - performance.now();
    if (quietMs > 0) await pause(quietMs, request.signal);
    const credentials = await this.#options.auth?.();
    const opened = await this.#fetch(request, credentials, timeoutMs);
    if (opened.response.status !== 401) return opened;
    const renewed = await this.renew(credentials);
    if (renewed === undefined) return opened;
    opened.end();
    return this.#fetch(request, renewed, timeoutMs);
  }

  /** Returns other credentials in place of those that were refused, if there are any. */
  async renew(refused: string | undefined): Promise<string | undefined> {
    const renewed = refused && (await this.#options.auth?.(refused));
    return renewed === refused ? undefined : renewed;
  }

  async #fetch(request: Request, credentials: string | undefined, timeoutMs: number): Promise<Opened> {
    const { method, path, body, signal } = request;
    const { headers = {}, fetch: send = fetch } = this.#options;
    if (signal?.aborted) throw aborted(signal);
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLate = false;
    const extend = (milliseconds: number): void => {
      clearTimeout(timer);
      if (milliseconds > 0) {
        timer = setTimeout(() => {
          isLate = true;
          end();
        }, milliseconds);
      }
    };
    const end = (): void => {
      extend(0);
      controller.abort();
    };
    const failed = (cause: unknown): CofferError => {
      if (signal?.aborted) return aborted(signal);
      const reason = isLate ? 'no response' : (cause as Error).message;
      return new CofferError(isLate ? 'timeout' : 'network', `${method} ${url}: ${reason}`, { cause });
    };
    const url = new URL(path.startsWith('/') ? this.root + path : path);
    const isForm = body instanceof FormData;
    // Outside the `try`: a value that JSON does not have is no failure of the network. `undefined` is no body.
    const content = isForm ? body : JSON.stringify(body);
    // Files may be on another host, which must not learn the credentials.
    const isOwn = url.origin === this.#origin;
    const all = new Headers(isOwn ? headers : {});
    const own = { ...(body === undefined || isForm ? {} : json), ...request.headers };
    for (const [name, value] of Object.entries(own)) all.set(name, value);
    if (isOwn && credentials !== undefined) all.set('Authorization', credentials);
    // Removed at the end, and after the time limit of a response that is not read.
    signal?.addEventListener('abort', end, controller);
    extend(timeoutMs);
    try {
      const response = await send(url, {
        method,
        headers: all,
        body: content,
        signal: controller.signal,
        // A browser may have a list that is older than the changes received. Of files, it has what the service allows.
        // The types of Node.js do not have it.
        ...({ cache: request.as ? 'default' : 'no-store' } as const),
      });
      const quietMs = Math.min(readPause(response.headers, 'Backoff') ?? 0, this.maxPauseMs);
      if (quietMs > 0) this.#quietUntil = performance.now() + quietMs;
      return { response, credentials, extend, end, failed };
    } catch (error) {
      end();
      throw failed(error);
    }
  }
}

const json = { 'Content-Type': 'application/json' };

/** Reads a response to its end. */
export async function read({ response, end, failed }: Opened, as?: Request['as']): Promise<Omit<Reply, 'isRepeated'>> {
  const { status, headers, ok } = response;
  let body: unknown;
  try {
    body = await (as === 'blob' && ok ? response.blob() : response.text());
  } catch (error) {
    throw failed(error);
  } finally {
    end();
  }
  try {
    if (typeof body === 'string') body = body === '' ? undefined : JSON.parse(body);
  } catch (cause) {
    if (ok) throw new CofferError('parse', `${response.url}: not JSON`, { status, cause });
    // Proxies describe their errors in other formats.
    body = undefined;
  }
  return { status, headers, body };
}

/** Returns whether a request may be sent again when its outcome is unknown. */
export function mayRepeat({ method, isRepeatable = method === 'GET' || method === 'HEAD' }: Request): boolean {
  return isRepeatable;
}

/** Returns whether a request may succeed later. */
export function isTemporary(status: number): boolean {
  return status === 429 || status === 500 || (status > 501 && status < 505);
}
