// Client of S3-compatible object stores: signed requests with streamed bodies, a limit on the silence of the store, and
// retries of temporary failures.
import { createHash } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { responseOf } from '../../base/response-of.ts';
import { withoutSlashesAtEnd } from '../../base/slashes-at-end.ts';
import type { BlobPlace } from '../../contracts/blobs.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';

export type S3Place = Extract<BlobPlace, { kind: 's3' }>;

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Object key; `''` for the bucket. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: S3Body;
}

export type S3Body =
  | { readonly path: string; readonly sizeBytes: number; readonly hash: string }
  | { readonly bytes: Uint8Array };

export interface S3Response {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The caller must read or destroy it, or `discard` the response. */
  readonly body: IncomingMessage;
}

const retryableStatuses: readonly number[] = [408, 429, 500, 502, 503, 504];
const firstDelayMs = 50;
/** Maximum size of a body that is read as text. */
const maxTextBytes = 4_000_000;
/** Maximum number of concurrent requests, except downloads. */
const maxRequests = 64;

export class S3Client {
  readonly #place: S3Place;
  /** Unlimited: the reader of a download determines how long it takes, so the callers limit downloads. */
  readonly #downloads: HttpAgent;
  readonly #others: HttpAgent;

  constructor(place: S3Place) {
    this.#place = place;
    const Agent = place.endpoint.startsWith('https:') ? HttpsAgent : HttpAgent;
    this.#downloads = new Agent({ keepAlive: true });
    this.#others = new Agent({ keepAlive: true, maxSockets: maxRequests });
  }

  /**
   * Sends a request and retries temporary failures.
   *
   * @throws BackendUnavailable when all attempts fail; Error for a key that is not possible in a URL
   */
  async send(request: S3Request): Promise<S3Response> {
    const url = this.#url(request.key, request.query);
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt === this.#place.retries;
      try {
        const response = await this.#sendOnce(url, request);
        if (!retryableStatuses.includes(response.status)) return response;
        if (isLast) throw await this.refusal(response);
        discard(response);
      } catch (error) {
        if (isLast || error instanceof BackendUnavailable) throw asUnavailable(error);
      }
      await wait(firstDelayMs * 2 ** attempt * (0.5 + Math.random()));
    }
  }

  /** Converts an unexpected response into a `BackendUnavailable`, also when its body breaks off. */
  async refusal({ status, body }: S3Response): Promise<BackendUnavailable> {
    const text = await collectText(body).catch(() => '');
    const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? 'no reason given';
    return new BackendUnavailable('attachments', `the object store answered ${status} (${code})`);
  }

  /**
   * Reads the body of a response as text up to a size limit.
   *
   * @throws BackendUnavailable when it breaks off
   */
  async readText({ body }: S3Response): Promise<string> {
    try {
      return await collectText(body);
    } catch (cause) {
      throw new BackendUnavailable('attachments', 'the object store broke off its response', { cause });
    }
  }

  close(): void {
    this.#downloads.destroy();
    this.#others.destroy();
  }

  async #sendOnce(url: URL, { method, headers = {}, body }: S3Request): Promise<S3Response> {
    const { accessKey, secretKey, region, timeoutSeconds } = this.#place;
    const signed = await new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'X-Amz-Content-Sha256': hashOf(body) },
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: 's3',
      region,
    }).sign();
    const send = signed.url.protocol === 'https:' ? httpsRequest : httpRequest;
    const length = body === undefined ? {} : { 'Content-Length': 'bytes' in body ? body.bytes.length : body.sizeBytes };
    const outgoing = send(signed.url, {
      method,
      agent: method === 'GET' ? this.#downloads : this.#others,
      headers: { ...Object.fromEntries(signed.headers), ...length },
    });
    limitSilence(outgoing, timeoutSeconds);
    return exchange(outgoing, body);
  }

  #url(key: string, query: S3Request['query'] = {}): URL {
    const { endpoint, bucket, usesPathStyle } = this.#place;
    const url = new URL(endpoint);
    const base = withoutSlashesAtEnd(url.pathname);
    const path = key.split('/').map(encodeURIComponent).join('/');
    if (!usesPathStyle) url.host = `${bucket}.${url.host}`;
    const pathname = usesPathStyle ? `${base}/${bucket}/${path}` : `${base}/${path}`;
    url.pathname = pathname;
    // `URL` resolves `..`, which would lead to another object or bucket.
    if (url.pathname !== pathname) throw new Error(`the object key ${JSON.stringify(key)} is not possible in a URL`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }
}

/** Sends the body and returns the response when its headers have arrived. */
async function exchange(outgoing: ClientRequest, body: S3Body | undefined): Promise<S3Response> {
  const source = body !== undefined && 'path' in body ? openBody(body) : undefined;
  source?.on('error', (error) => outgoing.destroy(error));
  outgoing.on('close', () => source?.destroy());
  if (source === undefined) outgoing.end(body !== undefined && 'bytes' in body ? body.bytes : undefined);
  else source.pipe(outgoing);
  const incoming = await responseOf<IncomingMessage>(outgoing);
  // The response to an upload may arrive before its whole body is sent. The store takes what is sent next on the connection
  // for the rest of the body, so the connection is not used again.
  if (!outgoing.writableFinished) {
    source?.unpipe(outgoing);
    incoming.on('close', () => outgoing.destroy());
  }
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming };
}

/** Ends the request after a time in which the store sends nothing. A reader who pauses stops the store, so its time is free. */
function limitSilence(outgoing: ClientRequest, timeoutSeconds: number): void {
  const silenceMs = timeoutSeconds * 1000;
  let incoming: IncomingMessage | undefined;
  outgoing.on('response', (response) => {
    incoming = response;
  });
  outgoing.on('socket', (socket) => {
    const endSilence = (): void => {
      if (incoming !== undefined && incoming.readableLength > 0) socket.setTimeout(silenceMs);
      else outgoing.destroy(new Error(`the object store was silent for ${timeoutSeconds} seconds`));
    };
    socket.setTimeout(silenceMs).on('timeout', endSilence);
    outgoing.on('close', () => socket.off('timeout', endSilence));
  });
}

/** Ends a response whose body does not count. Its connection is used again only if nothing more can come on it. */
export function discard({ body }: S3Response): void {
  if (body.complete) body.resume();
  else body.destroy();
}

/** Opens the file. Without `end` a further read would find the end, and the response could arrive before it. */
function openBody({ path, sizeBytes }: { readonly path: string; readonly sizeBytes: number }): ReadStream {
  return createReadStream(path, { end: Math.max(sizeBytes - 1, 0) });
}

function hashOf(body: S3Body | undefined): string {
  if (body !== undefined && 'hash' in body) return body.hash;
  return createHash('sha256')
    .update(body?.bytes ?? '')
    .digest('hex');
}

async function collectText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxTextBytes) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function asUnavailable(error: unknown): BackendUnavailable {
  if (error instanceof BackendUnavailable) return error;
  return new BackendUnavailable('attachments', 'the object store cannot be reached', { cause: error });
}
