// The HTTP server: Node's server with limits and timeouts. It converts each request to a value for the runner and sends the
// response.
import { randomUUID } from 'node:crypto';
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../core/errors.ts';
import { LaterBody, OpenBody, RequestBody, type ServiceRequest, type ServiceResponse } from '../engine/exchange.ts';
import { networkOf } from './address-group.ts';
import { limitConnections } from './connection-limit.ts';
import { compileAllowedHosts, type IsAllowedHost } from './allowed-hosts.ts';
import { requestBatcher } from './request-batching.ts';
import { refuseBrokenRequest } from './broken-requests.ts';
import { Connections } from './connections.ts';
import { encodeBody } from './encode-body.ts';
import { clientAddress, compileTrusted, readForwarded, type IsTrusted } from './forwarded.ts';
import { listen, type ListenAddress, type Listening } from './listening.ts';
import type { LoadShedder } from './load-shedder.ts';
import { OpenResponse, whenGone, whileWaiting } from './open-connection.ts';
import { receiveBody, type BodyLimits } from './request-body.ts';
import {
  RequestMemory,
  smallBytes,
  whenSent,
  type RequestAccount,
  type RequestMemoryOptions,
} from './request-memory.ts';
import { hostOf, isUnambiguous, misdirected, pathOf } from './request-host.ts';
import { respond, respondWithRefusal, type RunnerOptions } from './runner.ts';

export interface ServerOptions extends BodyLimits {
  readonly runner: RunnerOptions;
  readonly headerLimitBytes: number;
  /** Seconds for the headers, for the whole request, for silence during a request, and for an idle connection. */
  readonly headersTimeoutSeconds: number;
  readonly requestTimeoutSeconds: number;
  readonly silenceTimeoutSeconds: number;
  readonly idleTimeoutSeconds: number;
  /** Addresses whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Configured scheme and host, which override those of requests. */
  readonly scheme: string | undefined;
  readonly host: string | undefined;
  /** Accepted hosts: those of the setting, and those of the service itself. See `compileAllowedHosts`. */
  readonly allowedHosts: readonly string[];
  readonly ownHosts: readonly string[];
  /** Paths that accept any host: they reveal nothing, and load balancers use IP addresses. */
  readonly vitalPaths: ReadonlySet<string>;
  /** Maximum number of connections per address, except of trusted proxies; 0 means unlimited. */
  readonly maxConnectionsPerAddress: number;
  /** Refuses requests under overload; absent: accepts all. */
  readonly load?: LoadShedder;
  /** Limits of the memory of large requests. */
  readonly memory: Pick<RequestMemoryOptions, 'budgetBytes' | 'maxWaitMs' | 'maxWaiting'>;
}

export interface HttpServer {
  /** Starts listening; resolves to the URL without path. */
  listen(address: ListenAddress): Promise<string>;
  /**
   * Stops accepting connections; resolves when all requests in flight are completed.
   *
   * @param lingerMs time for which idle connections stay open, so that clients learn of the end from a response instead of a
   *   broken connection
   */
  close(lingerMs: number): Promise<void>;
}

/** Creates a server. */
export function createServer(options: ServerOptions): HttpServer {
  const shell = new Shell(options);
  const { server } = shell;
  let listening: Listening | undefined;
  return {
    async listen(address) {
      listening = await listen(server, address);
      // Without this listener, a failed accept, for example without memory, would end the process.
      server.on('error', (err) => options.runner.logger.warn({ err }, 'A connection could not be accepted'));
      return listening.url;
    },
    async close(lingerMs) {
      shell.connections.leave(lingerMs);
      await listening?.close();
    },
  };
}

/** A received request. */
interface Received {
  readonly body: RequestBody;
  /** Set when the request is refused before dispatch; `isLast` when the connection cannot be reused. */
  readonly refusal: { readonly error: unknown; readonly isLast: boolean } | undefined;
}

function refused(error: unknown, isLast: boolean): Received {
  return { body: RequestBody.none, refusal: { error, isLast } };
}

/** A response in transit. Wrapped, because `await` would unwrap a plain promise. */
interface Sending {
  readonly sent: Promise<void>;
}

class Shell {
  readonly server: Server;
  readonly connections: Connections;
  readonly #options: ServerOptions;
  readonly #isTrusted: IsTrusted;
  /** `undefined` accepts all hosts. */
  readonly #isAllowedHost: IsAllowedHost | undefined;
  readonly #memory: RequestMemory;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#isTrusted = compileTrusted(options.trustedProxies);
    this.#isAllowedHost = compileAllowedHosts(options.allowedHosts, options.ownHosts);
    const onExhausted = (): void => options.runner.observer?.observe({ kind: 'overload', reason: 'memory' });
    this.#memory = new RequestMemory({ ...options.memory, isTrusted: this.#isTrusted, onExhausted });
    const limits = {
      keepAliveTimeout: options.idleTimeoutSeconds * 1000,
      requestTimeout: options.requestTimeoutSeconds * 1000,
      maxHeaderSize: options.headerLimitBytes,
      headersTimeout: options.headersTimeoutSeconds * 1000,
      // Interval of the checks of these timeouts.
      connectionsCheckingInterval: Math.min(5000, options.headersTimeoutSeconds * 500),
      // Refused below, with the standard error body.
      requireHostHeader: false,
    };
    const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => void this.#serve(incoming, outgoing);
    this.server = http.createServer(limits, serve);
    this.server.setTimeout(options.silenceTimeoutSeconds * 1000);
    // Clients that half-close the connection still wait for the response.
    Object.assign(this.server, { httpAllowHalfOpen: true });
    this.server.on('clientError', refuseBrokenRequest);
    // Other expectations than 100-continue are ignored: Node's refusal lacks the standard error body.
    this.server.on('checkExpectation', (incoming, outgoing) => this.server.emit('request', incoming, outgoing));
    this.connections = new Connections(this.server);
    const { maxConnectionsPerAddress } = options;
    if (maxConnectionsPerAddress > 0) limitConnections(this.server, maxConnectionsPerAddress, this.#isTrusted);
  }

  /** Handles a request. Never rejects: on failure the connection is closed. */
  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const account = this.#memory.open(incoming);
    try {
      const sending = await this.#exchange(incoming, outgoing, account);
      // While a slow client reads, only the bytes of the response are held.
      if (sending !== undefined) await sending.sent;
    } catch {
      outgoing.destroy();
    } finally {
      account.release();
    }
  }

  async #exchange(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    account: RequestAccount,
  ): Promise<Sending | undefined> {
    const received = await this.#receive(incoming, account);
    await requestBatcher.wait();
    const request = this.#toRequest(incoming, received, account);
    const response = await this.#answer(incoming, outgoing, request, received, account);
    const isLast = received.refusal?.isLast === true || this.connections.areLeaving;
    return this.#send(incoming, outgoing, request, response, isLast);
  }

  /** Returns the body, or a refusal. Starts to read at once. */
  async #receive(incoming: IncomingMessage, account: RequestAccount): Promise<Received> {
    if (!isUnambiguous(incoming)) return refused(new ServiceError('badRequest'), false);
    const foreign =
      this.#isAllowedHost === undefined ? undefined : this.#findForeignHost(incoming, this.#isAllowedHost);
    if (foreign !== undefined) return refused(misdirected(foreign), false);
    try {
      return { body: await receiveBody(incoming, this.#options, account), refusal: undefined };
    } catch (error) {
      incoming.resume();
      // After `overloaded` the connection stays open for a retry, so the rest of the body is read. Otherwise it is closed.
      return refused(error, !(error instanceof ServiceError && error.key === 'overloaded'));
    }
  }

  /** Returns the response, with reserved memory until it is sent. */
  async #answer(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    request: ServiceRequest,
    received: Received,
    account: RequestAccount,
  ): Promise<ServiceResponse> {
    const { runner } = this.#options;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    let response: ServiceResponse;
    try {
      const expected = isRead ? account.expectResponse(request.target) : undefined;
      if (expected !== undefined) await expected;
      response = await this.#respond(request, received);
      if (response.body instanceof LaterBody) {
        account.suspend();
        response = await whileWaiting(incoming, outgoing, this.server.timeout, response.body.later);
      }
    } catch (error) {
      return respondWithRefusal(runner, request, error);
    }
    let { body } = response;
    if (isTexts(body) || (typeof body === 'string' && body.length > smallBytes)) {
      // Before others are built while this one is encoded.
      try {
        if (isRead) account.reserveNow(charsOf(body));
      } catch (error) {
        return runner.dispatcher.refuse(request, error);
      }
      body = await encodeBody(body);
      response = { ...response, body };
    }
    const bytes = typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
    try {
      if (isRead) account.holdReadResponse(request.target, bytes);
      else account.holdResponse(bytes);
    } catch (error) {
      return runner.dispatcher.refuse(request, error);
    }
    return response;
  }

  #respond(request: ServiceRequest, { refusal }: Received): Promise<ServiceResponse> {
    const { runner, load } = this.#options;
    if (refusal !== undefined) return respondWithRefusal(runner, request, refusal.error);
    // Slow uploads of files do not count as concurrent requests.
    return load === undefined || request.body.stream !== undefined
      ? respond(runner, request)
      : this.#answerUnder(load, request);
  }

  async #answerUnder(load: LoadShedder, request: ServiceRequest): Promise<ServiceResponse> {
    const { runner } = this.#options;
    const network = networkOf(request.clientAddress ?? '');
    const overload = load.findOverload(request.target, network);
    if (overload !== undefined) {
      runner.observer?.observe({ kind: 'overload', reason: overload });
      return respondWithRefusal(runner, request, new ServiceError('overloaded'));
    }
    load.begin(network);
    try {
      return await respond(runner, request);
    } finally {
      load.end(network);
    }
  }

  #toRequest(incoming: IncomingMessage, { body }: Received, memory: RequestAccount): ServiceRequest {
    const headers = incoming.headers as Record<string, string | undefined>;
    return {
      method: incoming.method ?? '',
      target: decodeTarget(incoming.url ?? ''),
      headers,
      body,
      origin: this.#originOf(incoming),
      clientAddress: clientAddress(incoming, this.#isTrusted),
      id: requestId(headers['x-request-id']),
      whenGone: (listener) => whenGone(incoming.socket, listener),
      memory,
    };
  }

  /**
   * Returns a foreign host of the request: in its target or `Host`, or forwarded by a trusted proxy. Both are checked, because
   * a browser on the machine of the proxy looks like the proxy.
   */
  #findForeignHost(incoming: IncomingMessage, isAllowed: IsAllowedHost): string | undefined {
    const host = hostOf(incoming);
    const { host: forwarded = host } = this.#isTrusted(incoming.socket.remoteAddress)
      ? readForwarded(incoming.headers)
      : {};
    const foreign = [host, forwarded].find((each) => !isAllowed(each));
    return foreign !== undefined && this.#options.vitalPaths.has(pathOf(incoming.url ?? '')) ? undefined : foreign;
  }

  /** Sends the response; returns a promise of its end when it may take long. */
  #send(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { id }: ServiceRequest,
    { status, headers, body }: ServiceResponse,
    isLast: boolean,
  ): Sending | undefined {
    const isEmpty = status === 304 || status === 204;
    const head: (string | string[])[] = ['X-Request-Id', id];
    for (const name in headers) {
      if (status === 304 && name === 'Content-Type') continue;
      head.push(name, headers[name] as string | string[]);
    }
    if (isLast) head.push('Connection', 'close');
    if (isEmpty) {
      outgoing.writeHead(status, head).end();
      return undefined;
    }
    if (body instanceof OpenBody) {
      outgoing.writeHead(status, head);
      const reserve = this.#memory.reserverOf(incoming);
      body.open(new OpenResponse(outgoing, this.server.timeout, reserve));
      return undefined;
    }
    if (body instanceof LaterBody) throw new Error('A response that waits cannot wait again.');
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
      outgoing.writeHead(status, head);
      // A wrapped stream would stay open when the client is gone before the first byte.
      return { sent: pipeline(body instanceof Readable ? body : Readable.from(body), outgoing) };
    }
    // Responses with files have their own, which for HEAD differs from the length of the body.
    const bytes = Buffer.byteLength(body);
    if (headers['Content-Length'] === undefined) head.push('Content-Length', String(bytes));
    outgoing.writeHead(status, head);
    const encoding = bytes === body.length ? 'latin1' : 'utf8';
    if (body.length > smallBytes) {
      if (typeof body === 'string') outgoing.end(body);
      else endInSteps(outgoing, body);
      return { sent: whenSent(incoming.socket, outgoing) };
    }
    outgoing.end(body, encoding);
    if (outgoing.writableLength > 0) this.#memory.holdUnsent(incoming, outgoing);
    return undefined;
  }

  /** Returns the origin from the settings, otherwise from a trusted proxy, otherwise from the request over plain HTTP. */
  #originOf(incoming: IncomingMessage): string {
    const { scheme, host } = this.#options;
    if (scheme !== undefined && host !== undefined) return formatOrigin(scheme, host);
    const said = this.#isTrusted(incoming.socket.remoteAddress) ? readForwarded(incoming.headers) : {};
    return formatOrigin(scheme ?? said.scheme ?? 'http', host ?? said.host ?? hostOf(incoming));
  }
}

/** Returns an origin as browsers write it, without the default port. */
function formatOrigin(scheme: string, host: string): string {
  const defaultPort = scheme === 'https' ? ':443' : ':80';
  return `${scheme}://${host.endsWith(defaultPort) ? host.slice(0, -defaultPort.length) : host}`;
}

/** Bytes of a long response that the system receives in one turn of the event loop: less than a millisecond's worth. */
const bytesOfTurn = 262_144;

/** Ends a response with a long body, whose parts follow each other as the client reads. */
function endInSteps(outgoing: ServerResponse, body: Uint8Array): void {
  if (body.length <= bytesOfTurn) {
    outgoing.end(body);
    return;
  }
  const isTaken = outgoing.write(body.subarray(0, bytesOfTurn));
  const next = (): void => endInSteps(outgoing, body.subarray(bytesOfTurn));
  if (isTaken) setImmediate(next);
  else outgoing.once('drain', next);
}

/** Returns the id from the client if it is safe for logs and headers, otherwise a new one. */
function requestId(sent: string | undefined): string {
  return sent !== undefined && /^[\x21-\x7e]{1,200}$/.test(sent) ? sent : randomUUID();
}

/** Decodes a target as UTF-8, which Node passes as Latin-1. */
function decodeTarget(url: string): string {
  if (!/[\x80-\xff]/.test(url)) return url;
  return Buffer.from(url, 'latin1').toString('utf8');
}

/** `Array.isArray`, but for the pieces of a text. */
function isTexts(body: ServiceResponse['body']): body is readonly string[] {
  return Array.isArray(body);
}

function charsOf(body: string | readonly string[]): number {
  return typeof body === 'string' ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}
