// A client of event streams that keeps a copy of a list, as the protocol promises that it can: it applies each frame, and
// fetches the list again when a frame requires it.
import { fail } from 'node:assert';
import { request as sendRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { authorizationOf } from '../../src/testing/index.ts';

export interface Event {
  readonly event: string;
  readonly id: string | undefined;
  readonly retry: string | undefined;
  readonly data: any;
}

export interface OpenOptions {
  /** Name of a user; anonymous by default. */
  readonly auth?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Time after which an expected event counts as missing. */
const patienceMs = 20_000;

/** One connection. Events wait until they are taken with `next`. */
export class EventClient {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Body of a refusal; `undefined` when the stream opened. */
  readonly error: any;
  /** Number of comments received. */
  comments = 0;
  /** Milliseconds after which the server wants the client to reconnect, as last received. */
  retry: string | undefined;
  readonly #request: ClientRequest;
  readonly #response: IncomingMessage;
  readonly #events: Event[] = [];
  #pending = '';
  #hasEnded = false;
  #wake: () => void = () => undefined;

  private constructor(request: ClientRequest, response: IncomingMessage, error: unknown) {
    this.status = response.statusCode!;
    this.headers = response.headers;
    this.error = error;
    this.#request = request;
    this.#response = response;
    if (error !== undefined) return;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.#receive(text);
    });
    response.on('error', () => undefined);
    response.on('close', () => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  /** @param path with version prefix and query */
  static async open(origin: string, path: string, { auth, headers = {} }: OpenOptions = {}): Promise<EventClient> {
    const credentials = auth === undefined ? {} : { authorization: authorizationOf(auth) };
    const request = sendRequest(new URL(path, origin), {
      agent: false,
      headers: { accept: 'text/event-stream', ...credentials, ...headers },
    });
    request.end();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve);
      request.on('error', reject);
    });
    if (response.statusCode === 200) return new EventClient(request, response, undefined);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return new EventClient(request, response, JSON.parse(Buffer.concat(chunks).toString('utf8')));
  }

  /**
   * Takes the next event.
   *
   * @throws Error when none arrives
   */
  async next(): Promise<Event> {
    const event = await this.nextOrEnd();
    if (event === undefined) fail('the stream has ended');
    return event;
  }

  /** Takes the next event; `undefined` when the stream has ended. */
  async nextOrEnd(): Promise<Event | undefined> {
    if (this.error !== undefined) fail(`the stream was refused: ${JSON.stringify(this.error)}`);
    const deadline = Date.now() + patienceMs;
    while (this.#events.length === 0 && !this.#hasEnded) {
      const left = deadline - Date.now();
      if (left <= 0) fail(`no event arrived within ${patienceMs} ms`);
      await this.#change(left);
    }
    return this.#events.shift();
  }

  /** Number of events that were received and not taken. */
  get waiting(): number {
    return this.#events.length;
  }

  /** Takes events until the given one, and returns it. */
  async until(event: string): Promise<Event> {
    for (;;) {
      const next = await this.next();
      if (next.event === event) return next;
    }
  }

  /** Stops reading from the socket. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#request.destroy();
  }

  #change(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #receive(text: string): void {
    this.#pending += text;
    for (;;) {
      const end = this.#pending.indexOf('\n\n');
      if (end === -1) return;
      const block = this.#pending.slice(0, end);
      this.#pending = this.#pending.slice(end + 2);
      const fields = new Map<string, string>();
      for (const line of block.split('\n')) {
        const colon = line.indexOf(':');
        if (colon === 0) this.comments += 1;
        else fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
      }
      this.retry = fields.get('retry') ?? this.retry;
      if (!fields.has('event')) {
        // `EventSource` would take it as the place to resume from.
        if (fields.has('id')) fail(`a block without an event has the id ${fields.get('id')}`);
        continue;
      }
      this.#events.push({
        event: fields.get('event')!,
        id: fields.get('id'),
        retry: fields.get('retry'),
        data: JSON.parse(fields.get('data')!),
      });
      this.#wake();
    }
  }
}
