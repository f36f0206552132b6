// The shell around the service: Fastify listens, limits and times what clients send; each request becomes a value for
// the runner, and the answer goes back as it is.
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { JsonLimits } from '../base/json.ts';
import { errorTable, ServiceError, type ErrorKey } from '../core/errors.ts';
import { RequestBody, type ServiceRequest, type ServiceResponse } from '../engine/exchange.ts';
import { Connections } from './connections.ts';
import { compileTrusted, readForwarded, type IsTrusted } from './forwarded.ts';
import { respond, respondWithRefusal } from './respond-observed.ts';
import type { RunnerOptions } from './runner.ts';

export interface ServerOptions {
  readonly runner: RunnerOptions;
  readonly json: JsonLimits;
  readonly bodyLimitBytes: number;
  readonly headerLimitBytes: number;
  /** Seconds for the headers, for the whole request to arrive, for silence during it, and for an idle connection. */
  readonly headersTimeoutSeconds: number;
  readonly requestTimeoutSeconds: number;
  readonly silenceTimeoutSeconds: number;
  readonly idleTimeoutSeconds: number;
  /** Addresses whose forwarding headers are believed. */
  readonly trustedProxies: readonly string[];
  /** What the service believes of itself instead of what requests say. */
  readonly scheme: string | undefined;
  readonly host: string | undefined;
}

export interface HttpServer {
  /** Resolves to the address, as a URL without path. */
  listen(address: { readonly host: string; readonly port: number }): Promise<string>;
  /**
   * Stops accepting, and resolves when everything in flight is answered.
   *
   * @param lingerMs time for which open connections without a request are kept, so that clients that use them learn with
   *   an answer, and not from a broken connection, that they end
   */
  close(lingerMs: number): Promise<void>;
}

/** A server that is ready to listen. */
export function createServer(options: ServerOptions): HttpServer {
  const server = createShell(options);
  const connections = new Connections(server.server);
  server.addHook('onSend', (_request, reply, _payload, done) => {
    if (connections.areLeaving) reply.header('Connection', 'close');
    done();
  });
  return {
    listen: (address) => server.listen(address),
    async close(lingerMs) {
      connections.leave(lingerMs);
      await server.close();
    },
  };
}

function createShell(options: ServerOptions): FastifyInstance {
  const { trustedProxies, bodyLimitBytes, headerLimitBytes } = options;
  const server = Fastify({
    logger: false,
    bodyLimit: bodyLimitBytes,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    // Routing is the dispatcher's: the shell sees one address, whatever was asked for.
    rewriteUrl: () => '/',
    keepAliveTimeout: options.idleTimeoutSeconds * 1000,
    requestTimeout: options.requestTimeoutSeconds * 1000,
    connectionTimeout: options.silenceTimeoutSeconds * 1000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      maxHeaderSize: headerLimitBytes,
      headersTimeout: options.headersTimeoutSeconds * 1000,
      // How often connections are looked at for these timeouts.
      connectionsCheckingInterval: Math.min(5000, options.headersTimeoutSeconds * 500),
      // Its absence is refused below, with the standard body.
      requireHostHeader: false,
    },
    clientErrorHandler: refuseBrokenRequest,
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  // Forms hold files: whoever takes them reads them as they arrive, and limits them.
  server.addContentTypeParser('multipart/form-data', (_request, payload, done) => done(null, payload));
  const toRequest = requestReader(options);
  const handle = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    answer(options, toRequest(request), request, reply);
  server.all('/', handle);
  server.setNotFoundHandler(handle);
  server.setErrorHandler(async (error: { code?: string }, incoming, reply) => {
    // The shell has demands on methods that nothing here serves; these are answered with 405 like all others.
    const request = toRequest(incoming);
    if (error.code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE') return answer(options, request, incoming, reply);
    return send(reply, request, await respondWithRefusal(options.runner, request, translate(error)));
  });
  // Expectations other than 100-continue may be ignored, which spares an answer without the standard body.
  server.server.on('checkExpectation', (request, response) => server.server.emit('request', request, response));
  return server;
}

async function answer(
  options: ServerOptions,
  request: ServiceRequest,
  incoming: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const response = namesOneHost(incoming)
    ? await respond(options.runner, request)
    : await respondWithRefusal(options.runner, request, new ServiceError('badRequest'));
  return send(reply, request, response);
}

function requestReader(options: ServerOptions): (incoming: FastifyRequest) => ServiceRequest {
  const isTrusted = compileTrusted(options.trustedProxies);
  return (incoming) => {
    const headers = incoming.headers as Record<string, string | undefined>;
    return {
      method: incoming.method,
      target: decodeTarget(incoming.originalUrl),
      headers,
      body: toRequestBody(incoming.body, options.json),
      origin: originOf(options, isTrusted, incoming),
      clientAddress: incoming.ip,
      id: requestId(headers['x-request-id']),
    };
  };
}

/** What the settings say, else a trusted proxy, else the request; the shell itself never speaks TLS. */
function originOf({ scheme, host }: ServerOptions, isTrusted: IsTrusted, incoming: FastifyRequest): string {
  if (scheme !== undefined && host !== undefined) return `${scheme}://${host}`;
  const said = isTrusted(incoming.socket.remoteAddress) ? readForwarded(incoming.raw.headers) : {};
  return `${scheme ?? said.scheme ?? 'http'}://${host ?? said.host ?? hostOf(incoming)}`;
}

function toRequestBody(body: unknown, limits: JsonLimits): RequestBody {
  if (Buffer.isBuffer(body)) return RequestBody.ofBytes(body, limits);
  return body instanceof Readable ? RequestBody.ofStream(body) : RequestBody.none;
}

const hostForm = /^[\w.~:[\]%-]*$/;

/**
 * Whether the host is named as HTTP wants it: once, except by old clients, and in characters that hosts have. It becomes
 * part of addresses in answers.
 */
function namesOneHost({ raw }: FastifyRequest): boolean {
  if (!hostForm.test(raw.headers.host ?? '')) return false;
  let named = 0;
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') named++;
  }
  return named === 1 || (named === 0 && raw.httpVersionMajor === 1 && raw.httpVersionMinor === 0);
}

/** As the client names it; old clients name none and get the address they reached. */
function hostOf({ raw, socket }: FastifyRequest): string {
  const host = raw.headers.host ?? '';
  return host === '' ? `${socket.localAddress}:${socket.localPort}` : host;
}

/** A correlation id from the client is kept when it is fit for a log line and a header. */
function requestId(sent: string | undefined): string {
  return sent !== undefined && /^[\x21-\x7e]{1,200}$/.test(sent) ? sent : randomUUID();
}

/** Node hands over bytes as Latin-1; what is valid UTF-8 is read as such. */
function decodeTarget(url: string): string {
  if (!/[\x80-\xff]/.test(url)) return url;
  return Buffer.from(url, 'latin1').toString('utf8');
}

function send(reply: FastifyReply, { id }: ServiceRequest, { status, headers, body }: ServiceResponse): FastifyReply {
  reply.code(status).header('X-Request-Id', id);
  for (const name in headers) {
    if (status === 304 && name === 'Content-Type') continue;
    reply.header(name, headers[name]);
  }
  if (status === 304 || status === 204) return reply.send('');
  return reply.send(typeof body === 'string' || body instanceof Uint8Array ? body : Readable.from(body));
}

const shellErrors: Readonly<Record<string, ErrorKey>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'requestTooLarge',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'badRequest',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupportedMediaType',
  ECONNRESET: 'badRequest',
};

function translate(error: { code?: string }): unknown {
  const key = shellErrors[error.code ?? ''];
  return key === undefined ? error : new ServiceError(key, { cause: error });
}

const brokenRequests: Readonly<Record<string, 'headersTooLarge' | 'requestTimeout'>> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTimeout',
};

/** What cannot even be parsed as HTTP gets the standard body all the same, and the connection ends. */
function refuseBrokenRequest({ code = '', rawPacket }: { code?: string; rawPacket?: unknown }, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, errno, error, message } = errorTable[brokenRequests[code] ?? 'badRequest'];
  const body = JSON.stringify({ code: status, errno, error, message });
  const lines = [
    `HTTP/1.1 ${status} ${error}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  // To clients, a body after HEAD would be the answer to something they never asked.
  const isHead = Buffer.isBuffer(rawPacket) && rawPacket.toString('latin1', 0, 5) === 'HEAD ';
  socket.end(`${lines.join('\r\n')}\r\n\r\n${isHead ? '' : body}`);
}
