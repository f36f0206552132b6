// Sends requests to the server that data is imported from: over kept connections, few at a time. Repeats them when the server
// is busy, requests a pause, or sends an incomplete response.
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { NoResponse, responseOf } from '../../base/response-of.ts';
import { codeOf } from '../../base/system-errors.ts';

/** An import that cannot start or continue, with a message for the operator. */
export class ImportRefused extends Error {}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** A malformed response. The request is repeated, because a server or proxy may have cut it off. */
export class BrokenAnswer extends Error {}

export interface TransportOptions {
  /** Root of the protocol with trailing slash: `https://kinto.example.org/v1/`. */
  readonly root: URL;
  /** Headers of every request, with credentials. They are never sent to another host. */
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum number of requests at the same time. */
  readonly concurrency: number;
  /** Called before each pause with its reason. */
  readonly onWait?: ((reason: string, milliseconds: number) => void) | undefined;
  /** Maximum time of one response in milliseconds, from the request to the last byte; default: ten minutes. */
  readonly maxResponseMs?: number | undefined;
  /** Waits; injected by tests. */
  readonly wait?: ((milliseconds: number) => Promise<unknown>) | undefined;
}

const maxAttempts = 8;
const firstPauseMs = 250;
const longestPauseMs = 60_000;
/** Maximum time without a byte from the server. */
const silenceMs = 120_000;
/** Maximum time of one response, which limits a server that sends one byte from time to time. */
const defaultMaxResponseMs = 600_000;
const maxRedirects = 5;
const maxAnswerBytes = 400_000_000;
const busy: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
const redirects: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/** A request, with a path below the root and without leading slash. */
export interface Sent {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly path: string;
  readonly body?: string;
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  /** Time until which the server has asked clients to pause. */
  #pauseUntil = 0;

  constructor(options: TransportOptions) {
    this.#options = options;
    const agent = { keepAlive: true, maxSockets: options.concurrency };
    this.#agents = { http: new HttpAgent(agent), https: new HttpsAgent(agent) };
  }

  /**
   * Sends a request and returns the result of `read` on the response, whatever its status.
   *
   * @param read throws BrokenAnswer when the request should be repeated
   * @throws ImportRefused when several attempts fail
   */
  async request<T>(sent: Sent, read: (answer: Answer) => T): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await this.#waitForBackoff();
      const outcome = await this.#attempt(sent, read);
      if ('value' in outcome) return outcome.value;
      const { reason, asked } = outcome;
      if (attempt === maxAttempts) {
        throw refuse(sent, this.#options, `${reason}, ${maxAttempts} times`);
      }
      const own = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt) * (0.5 + Math.random() / 2);
      await this.#wait(reason, asked ?? own);
    }
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  async #attempt<T>(
    sent: Sent,
    read: (answer: Answer) => T,
  ): Promise<{ readonly value: T } | { readonly reason: string; readonly asked?: number | undefined }> {
    try {
      const answer = await this.#follow(sent);
      this.#noteBackoff(answer);
      if (!busy.has(answer.status)) return { value: read(answer) };
      return { reason: `answered ${answer.status}`, asked: retryAfterMs(answer.headers['retry-after']) };
    } catch (error) {
      if (codeOf(error) === 'HPE_HEADER_OVERFLOW') {
        throw refuse(sent, this.#options, 'the headers of the response are too long');
      }
      if (error instanceof BrokenAnswer || isNetworkError(error)) return { reason: error.message };
      throw error;
    }
  }

  async #follow(sent: Sent): Promise<Answer> {
    let url = new URL(sent.path, this.#options.root);
    for (let hops = 0; hops <= maxRedirects; hops++) {
      const answer = await this.#exchange(url, sent);
      const location = answer.headers['location'];
      if (!redirects.has(answer.status) || location === undefined) return answer;
      if (!URL.canParse(location, url.href)) {
        throw new ImportRefused(`${url.href} redirects to ${location}, which is not a URL`);
      }
      const next = new URL(location, url);
      if (!isSameServer(url, next)) {
        throw new ImportRefused(
          `${url.href} redirects to ${next.protocol}//${next.host}; if that is intended, use that address in --from`,
        );
      }
      url = next;
    }
    throw new ImportRefused(`${url.href} redirects in circles`);
  }

  #exchange(url: URL, { method, body }: Sent): Promise<Answer> {
    const isSafe = url.protocol === 'https:';
    const headers: Record<string, string> = { accept: 'application/json', ...this.#options.headers };
    if (body !== undefined) {
      headers['content-type'] = 'application/json';
      headers['content-length'] = String(Buffer.byteLength(body));
    }
    return new Promise((resolve, reject) => {
      const outgoing = isSafe
        ? requestHttps(url, { method, headers, agent: this.#agents.https })
        : requestHttp(url, { method, headers, agent: this.#agents.http });
      // Rejects first: the response under way would report a lost connection.
      const abort = (reason: Error): void => {
        reject(reason);
        outgoing.destroy();
      };
      outgoing.setTimeout(silenceMs, () => abort(new BrokenAnswer('no answer in time')));
      const { maxResponseMs = defaultMaxResponseMs } = this.#options;
      const timer = setTimeout(() => {
        abort(new ImportRefused(`${method} ${url.href}: the response is not complete after ${maxResponseMs / 1000} s`));
      }, maxResponseMs);
      outgoing.on('close', () => clearTimeout(timer));
      responseOf<IncomingMessage>(outgoing)
        .then(readAnswer)
        .then(resolve, (error: unknown) => abort(error as Error));
      outgoing.end(body);
    });
  }

  /** Stores the header `Backoff`, with which any response can request a slower pace. */
  #noteBackoff({ headers }: Answer): void {
    const seconds = Number(headers['backoff'] ?? '');
    if (seconds > 0) this.#pauseUntil = Date.now() + Math.min(seconds * 1000, longestPauseMs);
  }

  async #waitForBackoff(): Promise<void> {
    const left = this.#pauseUntil - Date.now();
    if (left <= 0) return;
    this.#pauseUntil = 0;
    await this.#wait('the server requests a pause (Backoff)', left);
  }

  async #wait(reason: string, milliseconds: number): Promise<void> {
    this.#options.onWait?.(reason, milliseconds);
    await (this.#options.wait ?? pause)(milliseconds);
  }
}

/** Whether credentials for one address may be sent to the other: the same host and port, or its default port of HTTPS. */
export function isSameServer(from: URL, to: URL): boolean {
  if (to.protocol === from.protocol) return to.host === from.host;
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:';
  return isUpgrade && to.hostname === from.hostname && from.port === '' && to.port === '';
}

function refuse({ method, path }: Sent, { root }: TransportOptions, reason: string): ImportRefused {
  return new ImportRefused(`${method} ${root.href}${path}: ${reason}`);
}

async function readAnswer(incoming: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new ImportRefused(`a response is longer than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  if (!incoming.complete) throw new BrokenAnswer('the response was incomplete');
  const headers = Object.entries(incoming.headers).map(
    ([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value] as const,
  );
  return {
    status: incoming.statusCode ?? 0,
    headers: Object.fromEntries(headers),
    text: decode(Buffer.concat(chunks)),
  };
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new BrokenAnswer('the response is not UTF-8', { cause: error });
  }
}

/** Parses `Retry-After`: seconds or a date. */
function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(milliseconds) ? Math.min(Math.max(milliseconds, 0), longestPauseMs * 10) : undefined;
}

const networkCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
]);

/** Whether a request with this error may succeed when it is repeated. `HPE_` begins the codes of responses that are not HTTP. */
function isNetworkError(error: unknown): error is Error {
  if (error instanceof NoResponse) return true;
  const code = codeOf(error);
  return networkCodes.has(code) || code.startsWith('HPE_');
}
