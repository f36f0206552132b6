// Sends one delivery and says what came of it. Redirects are not followed, of the answer only the status counts, and
// everything together takes no longer than the timeout.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { bareHost, ForbiddenAddress, guardedLookup, isAllowedAddress } from './addresses.ts';
import type { WebhookOptions } from './options.ts';
import { signatureHeaders } from './signature.ts';

export type Outcome =
  | { readonly kind: 'delivered' }
  /** `retryAfterMs`: as the receiver asks. */
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs?: number }
  /** Given up because the service stops; it does not count as an attempt. */
  | { readonly kind: 'aborted' };

export interface Message {
  readonly id: string;
  readonly body: string;
}

/** Of an answer that nobody reads; more than this is not waited for. */
const maxResponseBytes = 65_536;

export class Sender {
  readonly #options: WebhookOptions;
  readonly #clock: Clock;
  readonly #agent: HttpAgent;
  readonly #request: typeof httpRequest;

  constructor(options: WebhookOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    const isSecure = options.url.protocol === 'https:';
    const kept = { keepAlive: true, maxSockets: options.concurrency };
    this.#agent = isSecure ? new HttpsAgent(kept) : new HttpAgent(kept);
    this.#request = isSecure ? httpsRequest : httpRequest;
  }

  /** Never throws: whatever goes wrong is a failed attempt. */
  async send(message: Message, stop: AbortSignal): Promise<Outcome> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    const signal = AbortSignal.any([timeout, stop]);
    try {
      return await this.#exchange(message, signal);
    } catch (error) {
      // Every reason counts as a failure of the receiver and is told to the log.
      if (stop.aborted) return { kind: 'aborted' };
      if (timeout.aborted) return { kind: 'failed', reason: `no response within ${this.#options.timeoutMs} ms` };
      return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #exchange(message: Message, signal: AbortSignal): Promise<Outcome> {
    const { url, keys, allowPrivate } = this.#options;
    const host = bareHost(url.hostname);
    if (isIP(host) !== 0 && !isAllowedAddress(host, { allowPrivate })) throw new ForbiddenAddress(host);
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(message.body)),
      'User-Agent': 'Coffer-Webhooks',
      ...signatureHeaders({ ...message, now: this.#clock.now() }, keys),
    };
    const options: RequestOptions = {
      method: 'POST',
      agent: this.#agent,
      headers,
      signal,
      lookup: guardedLookup({ allowPrivate }),
    };
    const response = await this.#sendRequest(options, message.body);
    const status = response.statusCode ?? 0;
    await drain(response);
    if (status >= 200 && status < 300) return { kind: 'delivered' };
    const seconds = Number(response.headers['retry-after'] ?? '');
    const failed = { kind: 'failed', reason: `the receiver answered ${status}` } as const;
    return seconds > 0 ? { ...failed, retryAfterMs: seconds * 1000 } : failed;
  }

  /**
   * A kept connection that the receiver has just closed says nothing about the receiver: it is tried on another one.
   */
  async #sendRequest(options: RequestOptions, body: string): Promise<IncomingMessage> {
    for (;;) {
      const outgoing = this.#request(this.#options.url, options);
      try {
        return await new Promise((resolve, reject) => {
          outgoing.once('error', reject);
          outgoing.once('response', resolve);
          outgoing.end(body);
        });
      } catch (error) {
        const isStale = outgoing.reusedSocket && error instanceof Error && 'code' in error;
        if (!isStale || (error.code !== 'ECONNRESET' && error.code !== 'EPIPE')) throw error;
      }
    }
  }
}

/** Reads to the end, so that the connection can be used again, unless the answer is long. */
async function drain(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop closes the connection.
    if (bytes > maxResponseBytes) return;
  }
}
