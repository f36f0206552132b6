// The `Authorization` header of the Hawk scheme: an HMAC over time, URL and body that authenticates requests to a
// signing server. Implements only what a client that sends bodies needs.
import { createHash, createHmac } from 'node:crypto';

export interface HawkCredentials {
  readonly id: string;
  readonly key: string;
}

export interface HawkRequest {
  readonly method: string;
  readonly url: string;
  readonly contentType: string;
  readonly body: string;
  /** Seconds since 1970 UTC. */
  readonly timestamp: number;
  /** A string that is unique for the timestamp. */
  readonly nonce: string;
  /** Application-specific data. */
  readonly extra?: string;
}

/** Returns the `Authorization` header of a request with a body. */
export function formatHawkHeader({ id, key }: HawkCredentials, request: HawkRequest): string {
  const { method, url, contentType, body, timestamp, nonce, extra = '' } = request;
  const { hostname, port, protocol, pathname, search } = new URL(url);
  const hash = createHash('sha256').update(`hawk.1.payload\n${contentType}\n${body}\n`).digest('base64');
  const lines = [
    'hawk.1.header',
    timestamp,
    nonce,
    method,
    pathname + search,
    hostname,
    port === '' ? (protocol === 'https:' ? 443 : 80) : port,
    hash,
    extra,
  ];
  const mac = createHmac('sha256', key)
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('base64');
  const parts = { id, ts: timestamp, nonce, hash, ...(extra === '' ? {} : { ext: extra }), mac };
  return `Hawk ${Object.entries(parts)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`;
}
