// Pipelined connection to one memcached server, opened on demand and reopened after a failure. A pending write fails
// with its connection, because its effect is unknown. Only reads are retried.
import { connect, type Socket } from 'node:net';
import { ResponseParser, type MemcachedResponse } from './responses.ts';
import { responseFailure, backlogFailure, connectionFailure, timeoutFailure, type MemcachedHost } from './errors.ts';

export interface ClientOptions {
  /** Timeout of each response, including the time to connect. */
  readonly timeoutSeconds: number;
  /** Maximum number of commands waiting for the first response of a connection; more are refused at once. */
  readonly maxBacklog: number;
}

interface PendingCommand {
  readonly resolve: (response: MemcachedResponse) => void;
  readonly reject: (error: Error) => void;
  /** Deadline by the monotonic clock. */
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
   * Sends a command and returns the response.
   *
   * @throws BackendUnavailable without a response, or when the response is an error
   */
  async send(command: string, block?: string): Promise<MemcachedResponse> {
    const text = block === undefined ? `${command}\r\n` : `${command}\r\n${block}\r\n`;
    const response = await this.#open().send(text);
    if (/^(?:CLIENT_|SERVER_)?ERROR/.test(response.line)) throw responseFailure(this.#place, response.line);
    return response;
  }

  /** Sends a command that only reads, and retries it if the connection breaks. */
  async read(command: string): Promise<MemcachedResponse> {
    const startedAt = performance.now();
    const connection = this.#open();
    try {
      return await this.send(command);
    } catch (error) {
      if (!connection.hasResponded || !connection.isBroken) throw error;
      // After half of the timeout, a retry would make the caller wait too long.
      if (performance.now() - startedAt > this.#options.timeoutSeconds * 500) throw error;
      return this.send(command);
    }
  }

  /** Closes the connection after all pending responses. */
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

/** Maximum time that a close waits for pending responses. */
const closeTimeoutMs = 1000;

class Connection {
  readonly #place: MemcachedHost;
  readonly #options: ClientOptions;
  readonly #socket: Socket;
  readonly #reader = new ResponseParser();
  readonly #closed: Promise<void>;
  #waiting: PendingCommand[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Whether the server has responded on this connection. Reads on a connection without responses are not retried. */
  hasResponded = false;
  isBroken = false;

  constructor(place: MemcachedHost, options: ClientOptions) {
    this.#place = place;
    this.#options = options;
    const { host, port } = place;
    this.#socket = connect({ host, port, noDelay: true, keepAlive: true });
    this.#closed = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.#break(connectionFailure(this.#place, new Error('the connection was closed')));
        resolve();
      });
    });
    this.#socket.on('error', (error) => this.#break(connectionFailure(this.#place, error)));
    this.#socket.on('end', () =>
      this.#break(connectionFailure(this.#place, new Error('the server closed the connection'))),
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

  /** Starts the timer for the first command. Responses come in order, so its deadline is the earliest. */
  #startTimer(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const first = this.#waiting[0];
      this.#timer = undefined;
      if (first === undefined) return;
      const left = first.deadline - performance.now();
      // After a missing response the connection is unusable, because the next one would be assigned to the wrong
      // command.
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
