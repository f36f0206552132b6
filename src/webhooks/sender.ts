// Sends one signed delivery and returns its outcome. Redirects are not followed, and only the status of the response
// counts. The timeout covers the whole exchange. Signatures follow the Standard Webhooks specification.
import { createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { responseOf } from '../base/response-of.ts';
import { bareHost, ForbiddenAddress, guardedLookup, isAllowedAddress } from './addresses.ts';
import type { WebhookOptions } from './options.ts';

export type Outcome =
  | { readonly kind: 'delivered' }
  /** `retryAfterMs`: from the header `Retry-After`. */
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs?: number }
  /** Aborted by the stop of the service. Does not count as an attempt. */
  | { readonly kind: 'aborted' };

export interface Message {
  readonly id: string;
  readonly body: string;
}

/** Maximum number of response bytes read before the connection is closed. */
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

  /** Sends a delivery. Never throws: any error is a failed attempt. */
  async send(message: Message, stop: AbortSignal): Promise<Outcome> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    const signal = AbortSignal.any([timeout, stop]);
    try {
      return await this.#exchange(message, signal);
    } catch (error) {
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

  /** Sends a request, and repeats it if the receiver has just closed a reused connection. */
  async #sendRequest(options: RequestOptions, body: string): Promise<IncomingMessage> {
    for (;;) {
      const outgoing = this.#request(this.#options.url, options);
      try {
        outgoing.end(body);
        return await responseOf<IncomingMessage>(outgoing);
      } catch (error) {
        const isStale = outgoing.reusedSocket && error instanceof Error && 'code' in error;
        if (!isStale || (error.code !== 'ECONNRESET' && error.code !== 'EPIPE')) throw error;
      }
    }
  }
}

/** Reads the response to its end, so that the connection can be reused, unless the response is long. */
async function drain(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop closes the connection.
    if (bytes > maxResponseBytes) return;
  }
}

interface Signed {
  /** Id of the delivery, the same for all attempts. */
  readonly id: string;
  /** Time of this attempt, in milliseconds since 1970 UTC. */
  readonly now: number;
  readonly body: string;
}

/** Returns the signature headers: HMAC-SHA256 of `<id>.<seconds>.<body>`, one signature for each key. */
function signatureHeaders(
  { id, now, body }: Signed,
  keys: readonly Buffer[],
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(now / 1000));
  const signatures = keys.map((key) => {
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    return `v1,${digest}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
