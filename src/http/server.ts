// The shell around the service: Node's HTTP server listens, limits and times what clients send; each request becomes a
// value for the runner, and the answer goes back as it is.
import { randomUUID } from 'node:crypto';
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorTable, ServiceError } from '../core/errors.ts';
import { LaterBody, OpenBody, RequestBody, type ServiceRequest, type ServiceResponse } from '../engine/exchange.ts';
import { limitConnections } from './connection-limit.ts';
import { compileAllowedHosts, type IsAllowedHost } from './allowed-hosts.ts';
import { arrivals } from './request-batching.ts';
import { Connections } from './connections.ts';
import { encodeBody } from './encode-body.ts';
import { departures } from './response-batching.ts';
import { clientAddress, compileTrusted, readForwarded, type IsTrusted } from './forwarded.ts';
import { listen, type ListenAddress, type Listening } from './listening.ts';
import type { Load } from './load.ts';
import { OpenResponse, whileWaiting } from './open-connection.ts';
import { receiveBody, type BodyLimits } from './request-body.ts';
import {
  RequestMemory,
  smallBytes,
  whenSent,
  type RequestAccount,
  type RequestMemoryOptions,
} from './request-memory.ts';
import { hostOf, misdirected, namesOneHost, pathOf } from './request-host.ts';
import { respond, respondWithRefusal } from './respond-observed.ts';
import type { RunnerOptions } from './runner.ts';

export interface ServerOptions extends BodyLimits {
  readonly runner: RunnerOptions;
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
  /** Hosts that requests may name: those of the setting, and those of the service itself. See `compileAllowedHosts`. */
  readonly allowedHosts: readonly string[];
  readonly ownHosts: readonly string[];
  /** Paths that are answered whatever host is named: they show nothing, and load balancers know no names. */
  readonly vitalPaths: ReadonlySet<string>;
  /** Connections that one address may have, trusted proxies apart; 0: any number. */
  readonly maxConnectionsPerAddress: number;
  /** Refuses requests when there are too many; absent: takes all. */
  readonly load?: Load;
  /** What large requests may hold in memory. */
  readonly memory: Pick<RequestMemoryOptions, 'budgetBytes' | 'maxWaitMs' | 'maxWaiting'>;
}

export interface HttpServer {
  /** Resolves to the address, as a URL without path. */
  listen(address: ListenAddress): Promise<string>;
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
  const shell = new Shell(options);
  const { server } = shell;
  let listening: Listening | undefined;
  return {
    async listen(address) {
      listening = await listen(server, address);
      // Without a listener a connection that cannot be accepted, for want of memory, would end the process.
      server.on('error', (err) => options.runner.logger.warn({ err }, 'A connection could not be accepted'));
      return listening.url;
    },
    async close(lingerMs) {
      shell.connections.leave(lingerMs);
      await listening?.close();
    },
  };
}

/** What has come in for a request. */
interface Received {
  readonly body: RequestBody;
  /** Set when the service refuses it unseen; `isLast` where the connection cannot be used any more. */
  readonly refusal: { readonly error: unknown; readonly isLast: boolean } | undefined;
}

function refused(error: unknown, isLast: boolean): Received {
  return { body: RequestBody.none, refusal: { error, isLast } };
}

/** An answer that is on its way; wrapped, because a promise would be waited for where it is handed on. */
interface Sending {
  readonly sent: Promise<void>;
}

class Shell {
  readonly server: Server;
  readonly connections: Connections;
  readonly #options: ServerOptions;
  readonly #isTrusted: IsTrusted;
  /** `undefined`: every host is accepted. */
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
      // How often connections are looked at for these timeouts.
      connectionsCheckingInterval: Math.min(5000, options.headersTimeoutSeconds * 500),
      // Its absence is refused below, with the standard body.
      requireHostHeader: false,
    };
    const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => void this.#serve(incoming, outgoing);
    this.server = http.createServer(limits, serve);
    this.server.setTimeout(options.silenceTimeoutSeconds * 1000);
    // Clients that say that they will send nothing more still wait for the answer.
    Object.assign(this.server, { httpAllowHalfOpen: true });
    this.server.on('clientError', refuseBrokenRequest);
    // Expectations other than 100-continue may be ignored, which spares an answer without the standard body.
    this.server.on('checkExpectation', (incoming, outgoing) => this.server.emit('request', incoming, outgoing));
    this.connections = new Connections(this.server);
    const { maxConnectionsPerAddress } = options;
    if (maxConnectionsPerAddress > 0) limitConnections(this.server, maxConnectionsPerAddress, this.#isTrusted);
  }

  /** Answers one request. Never fails: what cannot be answered any more ends with its connection. */
  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const account = this.#memory.open(incoming);
    try {
      const sending = await this.#exchange(incoming, outgoing, account);
      // Nothing but the bytes of the answer is kept while a client reads it slowly.
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
    await arrivals.wait();
    const request = this.#toRequest(incoming, received, account);
    const response = await this.#answer(incoming, request, received, account);
    const isLast = received.refusal?.isLast === true || this.connections.areLeaving;
    return this.#send(incoming, outgoing, request, response, isLast);
  }

  /** The body, or why the request is not answered as it asks. Begins to read at once. */
  async #receive(incoming: IncomingMessage, account: RequestAccount): Promise<Received> {
    if (!namesOneHost(incoming)) return refused(new ServiceError('badRequest'), false);
    const foreign =
      this.#isAllowedHost === undefined ? undefined : this.#findForeignHost(incoming, this.#isAllowedHost);
    if (foreign !== undefined) return refused(misdirected(foreign), false);
    try {
      return { body: await receiveBody(incoming, this.#options, account), refusal: undefined };
    } catch (error) {
      incoming.resume();
      // A body that may be sent again is read to its end, or the client might not see the answer. No other is waited for.
      return refused(error, !(error instanceof ServiceError && error.key === 'overloaded'));
    }
  }

  /** The response, with room for it until it is sent. */
  async #answer(
    incoming: IncomingMessage,
    request: ServiceRequest,
    received: Received,
    account: RequestAccount,
  ): Promise<ServiceResponse> {
    const { runner } = this.#options;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    let response: ServiceResponse;
    try {
      const expected = isRead ? account.expectAnswer(request.target) : undefined;
      if (expected !== undefined) await expected;
      response = await this.#respond(request, received);
      if (response.body instanceof LaterBody) {
        account.suspend();
        response = await whileWaiting(incoming, this.server.timeout, response.body.later);
      }
    } catch (error) {
      return respondWithRefusal(runner, request, error);
    }
    let { body } = response;
    if (Array.isArray(body) || (typeof body === 'string' && body.length > smallBytes)) {
      body = await encodeBody(body);
      response = { ...response, body };
    }
    const bytes = typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
    try {
      if (isRead) account.holdRead(request.target, bytes);
      else account.holdAnswer(bytes);
    } catch (error) {
      return runner.dispatcher.refuse(request, error);
    }
    return response;
  }

  #respond(request: ServiceRequest, { refusal }: Received): Promise<ServiceResponse> {
    const { runner, load } = this.#options;
    if (refusal !== undefined) return respondWithRefusal(runner, request, refusal.error);
    // Whoever sends a file slowly shall not take the place of others.
    return load === undefined || request.body.stream !== undefined
      ? respond(runner, request)
      : this.#answerUnder(load, request);
  }

  async #answerUnder(load: Load, request: ServiceRequest): Promise<ServiceResponse> {
    const { runner } = this.#options;
    const overload = load.findOverload(request.target);
    if (overload !== undefined) {
      runner.observer?.observe({ kind: 'overload', reason: overload });
      return respondWithRefusal(runner, request, new ServiceError('overloaded'));
    }
    load.begin();
    try {
      return await respond(runner, request);
    } finally {
      load.end();
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
      memory,
    };
  }

  /**
   * Returns a host that the request names and that is none of the service's: that of its target or `Host`, and the one
   * that a trusted proxy forwards. Both count, since a browser on the machine of the proxy counts as the proxy.
   */
  #findForeignHost(incoming: IncomingMessage, isAllowed: IsAllowedHost): string | undefined {
    const host = hostOf(incoming);
    const { host: forwarded = host } = this.#isTrusted(incoming.socket.remoteAddress)
      ? readForwarded(incoming.headers)
      : {};
    const foreign = [host, forwarded].find((each) => !isAllowed(each));
    return foreign !== undefined && this.#options.vitalPaths.has(pathOf(incoming.url ?? '')) ? undefined : foreign;
  }

  /** Sends the answer; returns when that is done, where it may take a while. */
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
      departures.add(outgoing.writeHead(status, head), '');
      return undefined;
    }
    if (body instanceof OpenBody) {
      outgoing.writeHead(status, head);
      body.open(new OpenResponse(outgoing));
      return undefined;
    }
    if (body instanceof LaterBody) throw new Error('A response that waits cannot wait again.');
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
      outgoing.writeHead(status, head);
      return { sent: pipeline(Readable.from(body), outgoing) };
    }
    // Files bring their own, which is not the length of the body when they are only asked about.
    const bytes = Buffer.byteLength(body);
    if (headers['Content-Length'] === undefined) head.push('Content-Length', String(bytes));
    outgoing.writeHead(status, head);
    const encoding = bytes === body.length ? 'latin1' : 'utf8';
    if (body.length > smallBytes) {
      outgoing.end(body);
      return { sent: whenSent(incoming.socket, outgoing) };
    }
    departures.add(outgoing, body, encoding, () => {
      this.#memory.holdUnsent(incoming, outgoing);
    });
    return undefined;
  }

  /** What the settings say, else a trusted proxy, else the request; the shell itself never speaks TLS. */
  #originOf(incoming: IncomingMessage): string {
    const { scheme, host } = this.#options;
    if (scheme !== undefined && host !== undefined) return `${scheme}://${host}`;
    const said = this.#isTrusted(incoming.socket.remoteAddress) ? readForwarded(incoming.headers) : {};
    return `${scheme ?? said.scheme ?? 'http'}://${host ?? said.host ?? hostOf(incoming)}`;
  }
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
