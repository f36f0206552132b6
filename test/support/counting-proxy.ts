// Stands between a service and PostgreSQL and lets messages pass in rounds: everything that the service sends without
// waiting goes to the server together, and all answers come back together. So rounds are round trips, whatever the speed.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** How long the service has to be silent before it counts as waiting for answers. */
const silenceMs = 4;

export interface Cost {
  readonly roundTrips: number;
  /** Statements run, those that begin and end transactions among them. */
  readonly statements: number;
}

/** Messages of the protocol: a type, but for the first one of a client, and a length. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #isFirst: boolean;
  readonly #onMessage: (type: string) => void;

  constructor(startsUntyped: boolean, onMessage: (type: string) => void) {
    this.#isFirst = startsUntyped;
    this.#onMessage = onMessage;
  }

  add(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const offset = this.#isFirst ? 0 : 1;
      if (this.#rest.length < offset + 4) return;
      const end = offset + this.#rest.readInt32BE(offset);
      if (this.#rest.length < end) return;
      this.#onMessage(this.#isFirst ? 'startup' : String.fromCodePoint(this.#rest[0]!));
      this.#isFirst = false;
      this.#rest = this.#rest.subarray(end);
    }
  }
}

interface Lane {
  readonly client: Socket;
  readonly server: Socket;
  readonly toServer: Buffer[];
  readonly toClient: Buffer[];
}

export class CountingProxy {
  /** URL of the database by way of the proxy. */
  readonly url: string;
  readonly #listener: Server;
  readonly #lanes = new Set<Lane>();
  #roundTrips = 0;
  #statements = 0;
  /** Answers that the server owes; each ends with the word that it is ready for more. */
  #owed = 0;
  #timer: NodeJS.Timeout | undefined;

  private constructor(listener: Server, target: URL) {
    this.#listener = listener;
    const url = new URL(target);
    url.hostname = '127.0.0.1';
    url.port = String((listener.address() as AddressInfo).port);
    this.url = url.href;
    listener.on('connection', (client) => this.#open(client, target));
  }

  /** Opens a proxy before the server of a database. */
  static async start(databaseUrl: string): Promise<CountingProxy> {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return new CountingProxy(listener, new URL(databaseUrl));
  }

  /** Returns the cost of the work, if no other code uses the proxy meanwhile. */
  async costOf(work: () => Promise<unknown>): Promise<Cost> {
    const [roundTrips, statements] = [this.#roundTrips, this.#statements];
    await work();
    return { roundTrips: this.#roundTrips - roundTrips, statements: this.#statements - statements };
  }

  async close(): Promise<void> {
    for (const { client, server } of this.#lanes) {
      client.destroy();
      server.destroy();
    }
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    await closed;
  }

  #open(client: Socket, target: URL): void {
    const server = connect(Number(target.port || '5432'), target.hostname);
    const lane: Lane = { client, server, toServer: [], toClient: [] };
    this.#lanes.add(lane);
    const sent = new Messages(true, (type) => {
      if (type === 'E' || type === 'Q') this.#statements++;
      if (type === 'S' || type === 'Q' || type === 'startup') this.#owed++;
    });
    const answered = new Messages(false, (type) => {
      if (type === 'Z') this.#owed--;
    });
    client.on('data', (chunk) => {
      sent.add(chunk);
      lane.toServer.push(chunk);
      this.#waitForSilence();
    });
    server.on('data', (chunk) => {
      answered.add(chunk);
      lane.toClient.push(chunk);
      if (this.#owed === 0 && this.#timer === undefined) this.#answer();
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => {});
      socket.on('close', () => {
        other.destroy();
        this.#lanes.delete(lane);
      });
    }
  }

  #waitForSilence(): void {
    clearTimeout(this.#timer);
    const timer = setTimeout(() => {
      // What has come in meanwhile, on a machine that is busy, is looked at before this goes on.
      setImmediate(() => {
        if (this.#timer === timer) this.#pass();
      });
    }, silenceMs);
    this.#timer = timer;
  }

  #pass(): void {
    this.#timer = undefined;
    this.#roundTrips++;
    for (const { toServer, server } of this.#lanes) for (const chunk of toServer.splice(0)) server.write(chunk);
  }

  #answer(): void {
    for (const { toClient, client } of this.#lanes) for (const chunk of toClient.splice(0)) client.write(chunk);
  }
}
