// One connection to one memcached server, which answers commands in order. It is opened by the first command, and again
// after a failure. A command under way when the connection breaks fails, because the server may have done it or not. Only
// reads are sent again.
import { connect, type Socket } from 'node:net';
import { AnswerReader, type Answer } from './answers.ts';
import { answerFailure, backlogFailure, connectionFailure, timeFailure, type MemcachedHost } from './errors.ts';

export interface ClientOptions {
  /** Time limit of each response, including the time to connect. */
  readonly timeoutSeconds: number;
  /** Maximum number of commands that wait on a connection before its first response; more are refused at once. */
  readonly maxBacklog: number;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  /** When the command times out, by `performance.now()`. */
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
   * @throws BackendUnavailable when no response arrives, or the response is an error of the server
   */
  async send(command: string, block?: string): Promise<Answer> {
    const text = block === undefined ? `${command}\r\n` : `${command}\r\n${block}\r\n`;
    const answer = await this.#open().send(text);
    if (/^(?:CLIENT_|SERVER_)?ERROR/.test(answer.line)) throw answerFailure(this.#place, answer.line);
    return answer;
  }

  /** Sends a command that only reads. It is sent again when the connection was or becomes broken. */
  async read(command: string): Promise<Answer> {
    const began = performance.now();
    const connection = this.#open();
    try {
      return await this.send(command);
    } catch (error) {
      if (!connection.hadAnswers || !connection.isBroken) throw error;
      // A server that was silent for this long will hardly respond now, and the caller has waited long enough.
      if (performance.now() - began > this.#options.timeoutSeconds * 500) throw error;
      return this.send(command);
    }
  }

  /** Ends the connection once every command has its response. */
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

/** Time that `close` waits for the responses under way. */
const maxFarewellMs = 1000;

class Connection {
  readonly #place: MemcachedHost;
  readonly #options: ClientOptions;
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  readonly #closed: Promise<void>;
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Whether it has ever received a response. Without one, the command is not sent again. */
  hadAnswers = false;
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

  async send(text: string): Promise<Answer> {
    const { timeoutSeconds, maxBacklog } = this.#options;
    if (!this.hadAnswers && this.#waiting.length >= maxBacklog) throw backlogFailure(this.#place);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, deadline: performance.now() + timeoutSeconds * 1000 });
      this.#timer ??= this.#startTimer(timeoutSeconds * 1000);
      this.#socket.write(text);
    });
  }

  async end(): Promise<void> {
    if (this.isBroken) return;
    this.#socket.end('quit\r\n');
    const patience = setTimeout(() => this.#break(timeFailure(this.#place)), maxFarewellMs);
    await this.#closed;
    clearTimeout(patience);
  }

  #receive(chunk: Buffer): void {
    let answers: readonly Answer[];
    try {
      answers = this.#reader.read(chunk);
    } catch (error) {
      this.#break(connectionFailure(this.#place, error instanceof Error ? error : new Error(String(error))));
      return;
    }
    for (const answer of answers) {
      this.hadAnswers = true;
      this.#waiting.shift()?.resolve(answer);
    }
    if (this.#waiting.length === 0) this.#stopTimer();
  }

  /** Responses arrive in order, so the first deadline belongs to the first command. */
  #startTimer(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const first = this.#waiting[0];
      this.#timer = undefined;
      if (first === undefined) return;
      const left = first.deadline - performance.now();
      // After a missing response the connection is useless: the next response would be taken for the missing one.
      if (left <= 0) this.#break(timeFailure(this.#place));
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
