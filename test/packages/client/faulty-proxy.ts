// A server between client and service that makes mistakes on demand: lost responses, refusals, silence, pages of proxies.
import { once } from 'node:events';
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to one request. */
export type Fault =
  /** The request does not reach the service, and the connection is cut. */
  | 'cut'
  /** The service executes the request, and the connection is cut in place of the response. */
  | 'lose'
  /** The service executes the request, and the connection is cut within the body of the response. */
  | 'truncate'
  /** Nothing happens until the client gives up. */
  | 'silence'
  /** The response is collected until it ends, as by a proxy that buffers. */
  | 'buffer'
  /** A response of the proxy itself. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
}

export class FaultyProxy {
  readonly origin: string;
  /** Requests so far. */
  readonly seen: SeenRequest[] = [];
  /** Faults of the next requests; afterwards, requests pass. */
  readonly faults: (Fault | undefined)[] = [];
  /** Fault of all requests that match, until it is removed. */
  rule: ((request: SeenRequest) => Fault | undefined) | undefined;
  readonly #server: Server;
  /** Origin of the service. */
  target: string;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.target = target;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param port 0 for any free one */
  static async start(target: string, port = 0): Promise<FaultyProxy> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new FaultyProxy(server, target);
    server.on('request', (request, response) => {
      proxy.#handle(request, response);
    });
    return proxy;
  }

  /** Resolves when so many requests have arrived. */
  async reached(count: number): Promise<void> {
    if (this.seen.length >= count) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push({ count, resolve });
    });
  }

  /** Cuts all connections. */
  cutAll(): void {
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cutAll();
    await once(this.#server, 'close');
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const seen = { method: request.method!, target: request.url!, headers: request.headers };
    this.seen.push(seen);
    for (const { count, resolve } of this.#waiting) if (this.seen.length >= count) resolve();
    const fault = this.rule?.(seen) ?? this.faults.shift();
    if (fault === 'silence') return;
    if (fault === 'cut') {
      request.socket.destroy();
      return;
    }
    if (typeof fault === 'object') {
      request.resume();
      response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const { hostname, port } = new URL(this.target);
    const outgoing = sendRequest({ hostname, port, method: seen.method, path: seen.target, headers: seen.headers });
    outgoing.on('error', () => request.socket.destroy());
    response.on('close', () => outgoing.destroy());
    outgoing.on('response', (incoming) => {
      incoming.on('error', () => request.socket.destroy());
      const status = incoming.statusCode!;
      if (fault === 'lose' || fault === 'truncate') {
        incoming.resume().on('end', () => {
          if (fault === 'lose') request.socket.destroy();
          else response.writeHead(status, incoming.headers).write('{"da', () => request.socket.destroy());
        });
      } else if (fault === 'buffer') {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () => response.writeHead(status, incoming.headers).end(Buffer.concat(chunks)));
      } else {
        response.writeHead(status, incoming.headers);
        response.flushHeaders();
        incoming.pipe(response);
      }
    });
    request.pipe(outgoing);
  }
}
