// A small object store that speaks the protocol of S3 for tests: one bucket in memory, signatures verified by what the
// protocol says and not by the library that made them, and faults on demand.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StoredFile {
  readonly bytes: Buffer;
  readonly type: string | undefined;
  readonly acl: string | undefined;
  lastModified: Date;
}

/** Ends of a response before its end: the connection ends, or nothing more comes. */
export type Cut = 'aborted' | 'stalled';

/**
 * What is done with the next request in place of an answer. `upgrade` answers 101. An early answer comes while the body of the
 * request is not read yet.
 */
export type Fault =
  | { readonly status: number; readonly code: string; readonly cut?: Cut; readonly isEarly?: true }
  | 'silence'
  | 'disconnect'
  | 'upgrade';

export class S3Server {
  readonly bucket = 'files';
  readonly accessKey = 'AKIDOFTESTS';
  readonly secretKey = 'secret/of+tests';
  readonly region = 'test-region';
  readonly files = new Map<string, StoredFile>();
  /** Lines such as `PUT name`, in the order of arrival. */
  readonly log: string[] = [];
  /** For the next requests, one after the other. */
  faults: Fault[] = [];
  pageSize = 1000;
  /** The response to every listing, in place of the right one. */
  listing: string | undefined;
  /** The end of every listing before its end. */
  listingCut: Cut | undefined;
  /** Status of every request with the method, in place of the right answer. */
  statuses: Readonly<Record<string, number>> = {};
  /** Waited for between reading a request with the method and answering it; of a GET, before the second half of the file. */
  delays: Readonly<
    Partial<Record<'GET' | 'PUT' | 'DELETE', (key: string, request: IncomingMessage) => Promise<void>>>
  > = {};
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings of a service that keeps its attachments here. */
  get settings(): Record<string, string> {
    return {
      'attachment.aws.endpoint': this.endpoint,
      'attachment.aws.region': this.region,
      'attachment.aws.bucket_name': this.bucket,
      'attachment.aws.access_key': this.accessKey,
      'attachment.aws.secret_key': this.secretKey,
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.endpoint);
    const key = decodeURIComponent(url.pathname).slice(`/${this.bucket}/`.length);
    this.log.push(`${request.method} ${key}`);
    const fault = this.faults.shift();
    if (typeof fault === 'object' && fault.isEarly === true) return refuse(response, fault.status, fault.code);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (fault === 'silence') return;
    if (fault === 'disconnect') return void request.socket.destroy();
    if (fault === 'upgrade') {
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
      return;
    }
    if (fault !== undefined) return refuse(response, fault.status, fault.code, fault.cut);
    const complaint = this.#checkSignature(request, url, body);
    if (complaint !== undefined) return refuse(response, 403, complaint);
    if (!url.pathname.startsWith(`/${this.bucket}/`)) return refuse(response, 404, 'NoSuchBucket');
    const status = this.statuses[request.method ?? ''];
    if (status !== undefined) return void response.writeHead(status).end();
    switch (request.method) {
      case 'PUT':
        return this.#put(request, response, key, body);
      case 'DELETE':
        await this.delays.DELETE?.(key, request);
        this.files.delete(key);
        return void response.writeHead(204).end();
      default:
        return url.searchParams.has('list-type') ? this.#list(response, url) : this.#get(request, response, key);
    }
  }

  async #put(request: IncomingMessage, response: ServerResponse, key: string, bytes: Buffer): Promise<void> {
    const { headers } = request;
    if (headers['content-length'] === undefined) return refuse(response, 411, 'MissingContentLength');
    await this.delays.PUT?.(key, request);
    const acl = headers['x-amz-acl'];
    this.files.set(key, {
      bytes,
      type: headers['content-type'],
      acl: typeof acl === 'string' ? acl : undefined,
      lastModified: new Date(),
    });
    response.writeHead(200, { ETag: etagOf(bytes) }).end();
  }

  async #get(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    const file = this.files.get(key);
    if (file === undefined) return refuse(response, 404, 'NoSuchKey');
    const headers = {
      ETag: etagOf(file.bytes),
      'Accept-Ranges': 'bytes',
      'Content-Type': file.type ?? '',
      'Last-Modified': file.lastModified.toUTCString(),
    };
    const { 'if-match': match = headers.ETag, 'if-unmodified-since': since = headers['Last-Modified'] } =
      request.headers;
    if (match !== headers.ETag || Date.parse(since) < Date.parse(headers['Last-Modified'])) {
      return refuse(response, 412, 'PreconditionFailed');
    }
    if (request.headers['if-none-match'] === headers.ETag) return void response.writeHead(304, headers).end();
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const from = Number(range?.[1] ?? 0);
    const to = Math.min(Number(range?.[2] || Infinity), file.bytes.length - 1);
    if (range !== null && from > to) return refuse(response, 416, 'InvalidRange');
    const part = file.bytes.subarray(from, to + 1);
    const content = {
      ...headers,
      'Content-Length': part.length,
      ...(range === null ? {} : { 'Content-Range': `bytes ${from}-${to}/${file.bytes.length}` }),
    };
    response.writeHead(range === null ? 200 : 206, content);
    const half = part.length >> 1;
    if (request.method === 'GET' && this.delays.GET !== undefined) response.write(part.subarray(0, half));
    await this.delays.GET?.(key, request);
    response.end(this.delays.GET === undefined ? part : part.subarray(half));
  }

  #list(response: ServerResponse, { searchParams }: URL): void {
    if (this.listing !== undefined) return void response.end(this.listing);
    if (this.listingCut !== undefined) return cutOff(response, '<ListBucketResult>', this.listingCut);
    const after = Buffer.from(searchParams.get('continuation-token') ?? '', 'base64').toString();
    const keys = [...this.files.keys()].toSorted().filter((key) => key > after);
    const page = keys.slice(0, this.pageSize);
    const contents = page.map((key) => {
      const { bytes, lastModified } = this.files.get(key)!;
      return `<Contents><Key>${encodeURIComponent(key)}</Key><LastModified>${lastModified.toISOString()}</LastModified><ETag>&quot;x&quot;</ETag><Size>${bytes.length}</Size></Contents>`;
    });
    const token = Buffer.from(page.at(-1) ?? '').toString('base64');
    const isTruncated = keys.length > page.length;
    const next = isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : '';
    const state = `<Name>${this.bucket}</Name><IsTruncated>${isTruncated}</IsTruncated>${next}`;
    const xml = `<?xml version="1.0"?><ListBucketResult>${state}${contents.join('')}</ListBucketResult>`;
    response.writeHead(200, { 'Content-Type': 'application/xml' }).end(xml);
  }

  /** Signature Version 4 in the header; the path is signed as it was sent. */
  #checkSignature({ headers, method }: IncomingMessage, url: URL, body: Buffer): string | undefined {
    const parts =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? '',
      );
    if (parts === null) return 'AccessDenied';
    const [, id, day = '', region, names = '', signature = ''] = parts;
    if (id !== this.accessKey || region !== this.region) return 'InvalidAccessKeyId';
    const hash = headers['x-amz-content-sha256'];
    const time = headers['x-amz-date'];
    if (typeof hash !== 'string' || typeof time !== 'string' || !time.startsWith(day)) return 'AccessDenied';
    const signed = names.split(';');
    const mustBeSigned = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))];
    if (mustBeSigned.some((name) => !signed.includes(name))) return 'AccessDenied';
    if (hash !== sha256(body)) return 'XAmzContentSHA256Mismatch';
    const query = [...url.searchParams]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join('&');
    const fields = signed.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}\n`).join('');
    const canonical = [method, url.pathname, query, fields, names, hash].join('\n');
    const scope = `${day}/${region}/s3/aws4_request`;
    const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
    const key = [day, this.region, 's3', 'aws4_request'].reduce<Buffer>(
      (secret, part) => createHmac('sha256', secret).update(part).digest(),
      Buffer.from(`AWS4${this.secretKey}`),
    );
    const expected = createHmac('sha256', key).update(text).digest();
    return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? undefined : 'SignatureDoesNotMatch';
  }
}

function refuse(response: ServerResponse, status: number, code: string, cut?: Cut): void {
  response.writeHead(status, { 'Content-Type': 'application/xml' });
  if (cut !== undefined) return cutOff(response, '<Error>', cut);
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

function cutOff(response: ServerResponse, beginning: string, cut: Cut): void {
  response.write(beginning, () => {
    if (cut === 'aborted') response.destroy();
  });
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
