// One connection to one memcached server, on which commands are answered in their order. It is made when there is
// something to say, and again after it broke. A command under way when it breaks fails, since nobody knows whether the
// server has done it; only reads are sent again.
import { connect, type Socket } from 'node:net';
import { ResponseParser, type MemcachedResponse } from './responses.ts';
import { responseFailure, backlogFailure, connectionFailure, timeoutFailure, type MemcachedHost } from './errors.ts';

export interface ClientOptions {
  /** For each answer, the time to connect included. */
  readonly timeoutSeconds: number;
  /** Commands that may wait for a connection on which nothing has been answered yet; more are refused at once. */
  readonly maxBacklog: number;
}

interface PendingCommand {
  readonly resolve: (response: MemcachedResponse) => void;
  readonly reject: (error: Error) => void;
  /** When it has waited long enough, by the process' own time. */
  readonly deadline: number;
}

export class MemcachedClient {
  readonly #place: MemcachedHost;
  readonly #options: ClientOptions;
  #connection: Connection | undefined;
  #isClosed = false;

  constructor(place: MemcachedHost, options: ClientOptions) {
    this.#place = place;
    this.#options = options;
  }

  /**
   * Sends a command and answers what comes back.
   *
   * @throws BackendUnavailable when nothing does, or what comes back is an error of the server
   */
  async send(command: string, block?: string): Promise<MemcachedResponse> {
    const text = block === undefined ? `${command}\r\n` : `${command}\r\n${block}\r\n`;
    const response = await this.#open().send(text);
    if (/^(?:CLIENT_|SERVER_)?ERROR/.test(response.line)) throw responseFailure(this.#place, response.line);
    return response;
  }

  /** A command that only reads: it is sent again when the connection had broken before or broke under it. */
  async read(command: string): Promise<MemcachedResponse> {
    const startedAt = performance.now();
    const connection = this.#open();
    try {
      return await this.send(command);
    } catch (error) {
      if (!connection.hasResponded || !connection.isBroken) throw error;
      // Who was silent for so long will hardly answer now, and the caller has waited enough.
      if (performance.now() - startedAt > this.#options.timeoutSeconds * 500) throw error;
      return this.send(command);
    }
  }

  /** Ends the connection once everything is answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection?.end();
  }

  #open(): Connection {
    if (this.#isClosed) throw connectionFailure(this.#place, new Error('the client is closed'));
    if (this.#connection === undefined || this.#connection.isBroken) {
      this.#connection = new Connection(this.#place, this.#options);
    }
    return this.#connection;
  }
}

/** How long a server may take to answer what is under way when the service ends. */
const closeTimeoutMs = 1000;

class Connection {
  readonly #place: MemcachedHost;
  readonly #options: ClientOptions;
  readonly #socket: Socket;
  readonly #reader = new ResponseParser();
  readonly #closed: Promise<void>;
  #waiting: PendingCommand[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Whether it was good for anything: a connection that never was is not tried twice. */
  hasResponded = false;
  isBroken = false;

  constructor(place: MemcachedHost, options: ClientOptions) {
    this.#place = place;
    this.#options = options;
    const { host, port } = place;
    this.#socket = connect({ host, port, noDelay: true, keepAlive: true });
    this.#closed = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.#break(connectionFailure(this.#place, new Error('the connection has ended')));
        resolve();
      });
    });
    this.#socket.on('error', (error) => this.#break(connectionFailure(this.#place, error)));
    this.#socket.on('end', () =>
      this.#break(connectionFailure(this.#place, new Error('the server has ended the connection'))),
    );
    this.#socket.on('data', (chunk) => this.#receive(chunk));
  }

  async send(text: string): Promise<MemcachedResponse> {
    const { timeoutSeconds, maxBacklog } = this.#options;
    if (!this.hasResponded && this.#waiting.length >= maxBacklog) throw backlogFailure(this.#place);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, deadline: performance.now() + timeoutSeconds * 1000 });
      this.#timer ??= this.#startTimer(timeoutSeconds * 1000);
      this.#socket.write(text);
    });
  }

  async end(): Promise<void> {
    if (this.isBroken) return;
    this.#socket.end('quit\r\n');
    const timer = setTimeout(() => this.#break(timeoutFailure(this.#place)), closeTimeoutMs);
    await this.#closed;
    clearTimeout(timer);
  }

  #receive(chunk: Buffer): void {
    let responses: readonly MemcachedResponse[];
    try {
      responses = this.#reader.read(chunk);
    } catch (error) {
      this.#break(connectionFailure(this.#place, error instanceof Error ? error : new Error(String(error))));
      return;
    }
    for (const response of responses) {
      this.hasResponded = true;
      this.#waiting.shift()?.resolve(response);
    }
    if (this.#waiting.length === 0) this.#stopTimer();
  }

  /** Answers come in order, so that the first deadline is that of the first command. */
  #startTimer(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const first = this.#waiting[0];
      this.#timer = undefined;
      if (first === undefined) return;
      const left = first.deadline - performance.now();
      // A connection on which an answer is missing is of no more use: what comes next would be taken for it.
      if (left <= 0) this.#break(timeoutFailure(this.#place));
      else this.#timer = this.#startTimer(Math.ceil(left));
    }, delayMs);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #break(error: Error): void {
    if (this.isBroken) return;
    this.isBroken = true;
    this.#stopTimer();
    this.#socket.destroy();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }
}
