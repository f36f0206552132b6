// A receiver of webhooks: a server on a loopback port that answers as told and keeps what it was sent.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivery {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The parsed body. */
  readonly json: {
    readonly payload: Record<string, unknown>;
    readonly impacted_objects: readonly Record<string, unknown>[];
    readonly truncated?: true;
  };
}

/** A status, or what is done instead of answering. */
export type Answer = number | 'hang' | ((response: ServerResponse) => void);

export class Receiver {
  /** All of them, in the order of arrival, those that were not answered with success included. */
  readonly deliveries: Delivery[] = [];
  /** Asked for each delivery; success unless set. */
  answer: (delivery: Delivery, index: number) => Answer = () => 204;
  readonly #server: Server;
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => {});
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        const id = String(request.headers['webhook-id']);
        const delivery = { id, headers: request.headers, body, json: JSON.parse(body) as Delivery['json'] };
        this.deliveries.push(delivery);
        const answer = this.answer(delivery, this.deliveries.length - 1);
        if (typeof answer === 'function') answer(response);
        else if (answer !== 'hang') response.writeHead(answer).end();
        for (const { count, resolve } of this.#waiting) if (this.deliveries.length >= count) resolve();
      });
    });
  }

  /** Listens, on a free port unless one is given. */
  static async start(port = 0): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(port, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** Resolves when so many deliveries have come since the beginning. */
  async received(count: number): Promise<readonly Delivery[]> {
    if (this.deliveries.length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ count, resolve });
      });
    }
    return this.deliveries.slice(0, count);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
