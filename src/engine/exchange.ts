// Requests and responses as plain values, independent of any HTTP library: the same over a socket and in a batch.
import { formatJson, JsonSyntaxError, type JsonLimits, type JsonValue } from '../base/json.ts';
import { largeTextChars, parseInSteps } from '../base/json-steps.ts';
import { parseRequestJson } from '../base/request-json.ts';
import { runFromNow, type Steps } from '../base/steps.ts';

/** Header names are lower-case; repeated headers are joined as HTTP specifies. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>;
export type ResponseHeaders = Record<string, string | readonly string[]>;

export interface ServiceRequest {
  /** As sent; may be an unsupported method. */
  readonly method: string;
  /** Path and query as sent, percent escapes included. */
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly body: RequestBody;
  /** `http://host:port` under which the client reaches the service, without trailing slash. */
  readonly origin: string;
  /** Network address of the client: the nearest one that is not a trusted proxy. Absent without a socket. */
  readonly clientAddress?: string;
  /** Correlation id for logs. */
  readonly id: string;
  /**
   * Calls the listener when the client has closed the connection; returns what ends that. Absent without a socket.
   *
   * @param listener is called with `false` when it is not certain that the client does not read any longer
   */
  readonly whenGone?: (listener: (isCertain: boolean) => void) => () => void;
  /** Memory account of the outer request; absent without a socket. */
  readonly memory?: MemoryAccount;
  /** Objects that this entry and others of its batch write in one list; absent for other requests. */
  readonly siblings?: Siblings | undefined;
}

/** Objects of one list that entries of a batch write one after another. The first entry announces them to the backend. */
export class Siblings {
  #ids: string[] = [];

  /** Adds the id of an object, as it is in the decoded path. */
  add(id: string): void {
    this.#ids.push(id);
  }

  /** Returns the ids on the first call, and nothing on later ones. */
  take(): readonly string[] {
    return this.#ids.splice(0);
  }
}

/** The memory that one outer request has reserved of a limited budget. */
export interface MemoryAccount {
  /**
   * Raises the memory for the small parts of a body, while they arrive and until the request ends, to that of a small body of
   * this size. Never waits.
   *
   * @throws ServiceError overloaded
   */
  holdSmall(bytes: number): void;
  /** Gives back the memory of `holdSmall`, when that for the whole body is reserved. */
  endSmall(): void;
  /**
   * Raises the reservation of the request, besides its body, to a number of bytes. A lower number has no effect.
   *
   * @returns `undefined` when the bytes are reserved at once
   * @throws ServiceError requestTooLarge, or overloaded, also by rejection after a while
   */
  reserve(bytes: number): Promise<void> | undefined;
  /**
   * Reserves without waiting, for requests that hold locks.
   *
   * @throws ServiceError overloaded
   */
  reserveNow(bytes: number): void;
  /**
   * Reserves memory for large stored text.
   *
   * @throws WorkAwaited when the memory is not available at once; ServiceError requestTooLarge
   */
  admit(bytes: number): void;
  /**
   * Reserves like `admit` memory for many objects that are in memory together.
   *
   * @throws WorkAwaited; ServiceError requestTooLarge for more than the whole budget
   */
  admitWhole(bytes: number): void;
  /** Keeps what is reserved now to the end of the request: it is in use in all attempts at it. */
  keep(): void;
  /** Gives back all but the memory of the body and what is kept, before the request waits, is undone and runs again. */
  giveBack(): void;
  /**
   * Counts characters of stored text that a request reads or rewrites. Entries of a batch share one limit.
   *
   * @throws ServiceError requestTooLarge
   */
  takeStored(chars: number): void;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /**
   * Text of the body, `''` for none; JSON unless a `Content-Type` header says otherwise. A long text may come as an array of
   * pieces, which are encoded one at a time. Files are bytes or a stream.
   */
  readonly body: ResponseBody;
  /** Number of the error in the body, for logs; absent without an error. */
  readonly errno?: number | undefined;
}

export type ResponseBody = string | readonly string[] | Uint8Array | AsyncIterable<Uint8Array> | OpenBody | LaterBody;

/** A body that goes on for as long as the connection lasts. The request is finished when it begins. */
export class OpenBody {
  /** Called once the head of the response is sent. */
  readonly open: (connection: OpenConnection) => void;

  constructor(open: OpenBody['open']) {
    this.open = open;
  }
}

/** What an open body does with its connection. */
export interface OpenConnection {
  /** Number of bytes that were written and that the client has not taken yet. */
  readonly bufferedBytes: number;
  write(bytes: Uint8Array): void;
  /**
   * Reserves memory for bytes that the client has yet to take.
   *
   * @returns a function that releases it; `undefined` when others hold too much
   */
  readonly reserve: (bytes: number) => (() => void) | undefined;
  /** Calls the task each time the client has taken everything that was written. */
  onDrain(task: () => void): void;
  /** Calls the task when the connection has ended, on either side. */
  onClose(task: () => void): void;
  /** Ends the body after what was written. */
  end(): void;
  /** Closes the connection at once. */
  destroy(): void;
}

/** A response that is known only later. The request is finished meanwhile: it holds no memory and no place. */
export class LaterBody {
  /**
   * Returns the response.
   *
   * @param signal aborted when the client is gone
   */
  readonly later: (signal: AbortSignal) => Promise<ServiceResponse>;

  constructor(later: LaterBody['later']) {
    this.later = later;
  }
}

/** A response that a batch can contain. */
export interface TextResponse extends ServiceResponse {
  readonly body: string;
}

interface BodySource {
  readonly text?: string;
  readonly value?: JsonValue;
  readonly limits?: JsonLimits;
  readonly stream?: AsyncIterable<Uint8Array>;
}

/** A request body that is parsed when first needed. */
export class RequestBody {
  static readonly none: RequestBody = new RequestBody({ text: '' });

  readonly #text: string | undefined;
  readonly #limits: JsonLimits | undefined;
  readonly #stream: AsyncIterable<Uint8Array> | undefined;
  #value: JsonValue | undefined;
  #error: JsonSyntaxError | undefined;
  #releases: (() => Promise<void>)[] = [];

  private constructor({ text, value, limits, stream }: BodySource) {
    this.#text = text;
    this.#value = value;
    this.#limits = limits;
    this.#stream = stream;
  }

  /** Creates the body from bytes of a client. Invalid UTF-8 is reported when the body is parsed. */
  static ofBytes(bytes: Uint8Array, limits: JsonLimits): RequestBody {
    if (bytes.length === 0) return RequestBody.none;
    try {
      return new RequestBody({ text: utf8.decode(bytes), limits });
    } catch {
      const body = new RequestBody({ limits });
      body.#error = new JsonSyntaxError('the body is not valid UTF-8');
      return body;
    }
  }

  /** Creates the body from a value inside an outer body, as for an entry of a batch. */
  static ofValue(value: JsonValue): RequestBody {
    return new RequestBody({ value });
  }

  /** Creates the body from a form with files, which is not held in memory as a whole. */
  static ofStream(stream: AsyncIterable<Uint8Array>): RequestBody {
    const body = new RequestBody({ stream });
    body.#error = new JsonSyntaxError('the body is a form and not JSON');
    return body;
  }

  /** The bytes of a form with files as they arrive, to be read once; `undefined` for other bodies. */
  get stream(): AsyncIterable<Uint8Array> | undefined {
    return this.#stream;
  }

  /**
   * Adds a task that runs once the request has its final response: for resources that repeated attempts share, such as the
   * received parts of a stream.
   */
  onRelease(task: () => Promise<void>): void {
    this.#releases.push(task);
  }

  /** Runs the tasks of `onRelease`, after the outer request has its final response; returns `undefined` without tasks. */
  release(): Promise<void> | undefined {
    if (this.#releases.length === 0) return undefined;
    return runAll(this.#releases.splice(0));
  }

  /** Length of a body that arrived as text, in characters; 0 for other bodies. */
  get length(): number {
    return this.#text?.length ?? 0;
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }

  /** Whether it is the body of an outer request, not of an entry of a batch, and is not empty. */
  get isOfRequest(): boolean {
    return this.#text !== undefined && this.#text !== '';
  }

  /** Whether its text is so long that it is read in steps. */
  get isLarge(): boolean {
    return this.#text !== undefined && this.#text.length >= largeTextChars;
  }

  /**
   * Returns the JSON value of a body that is not empty.
   *
   * @throws JsonSyntaxError
   */
  parse(): JsonValue {
    if (this.#error !== undefined) throw this.#error;
    if (this.#value === undefined) {
      try {
        this.#value = parseRequestJson(this.#text ?? '', this.#limits);
      } catch (error) {
        if (error instanceof JsonSyntaxError) this.#error = error;
        throw error;
      }
    }
    return this.#value;
  }

  /** Returns the JSON value; `undefined` for an empty body, and for one that is not JSON, which the handler refuses. */
  parseQuietly(): JsonValue | undefined {
    try {
      return this.isEmpty ? undefined : this.parse();
    } catch (error) {
      if (error instanceof JsonSyntaxError) return undefined;
      throw error;
    }
  }

  /**
   * Returns the JSON value as `parse` does, in steps if the body is large.
   *
   * @throws JsonSyntaxError
   */
  *read(): Steps<JsonValue> {
    if (this.isLarge && this.#isUnread) {
      try {
        this.#value = yield* parseInSteps(this.#text!, this.#limits);
      } catch (error) {
        if (error instanceof JsonSyntaxError) this.#error = error;
        throw error;
      }
    }
    return this.parse();
  }

  /** Reads a large body, so that `parse` returns or throws at once; returns `undefined` for other bodies. */
  load(): Promise<void> | undefined {
    return this.isLarge && this.#isUnread ? this.#load() : undefined;
  }

  async #load(): Promise<void> {
    try {
      await runFromNow(this.read(), 'normal');
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
    }
  }

  get #isUnread(): boolean {
    return this.#value === undefined && this.#error === undefined;
  }

  /** For logs at debug level only. */
  toString(): string {
    return this.#text ?? (this.#value === undefined ? '' : formatJson(this.#value));
  }
}

async function runAll(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  for (const task of tasks) await task();
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Creates the request that work of the service itself belongs to, when no client has sent one. */
export function internalRequest(id: string): ServiceRequest {
  return { method: 'PUT', target: '/', headers: {}, body: RequestBody.none, origin: '', id };
}

/** Creates a JSON response. */
export function jsonResponse(status: number, value: JsonValue, headers: ResponseHeaders = {}): TextResponse {
  return { status, headers, body: formatJson(value) };
}

/** Returns the media type in a `Content-Type` header, in lower case and without parameters. */
export function mediaType(header: string): string {
  const end = header.indexOf(';');
  return (end === -1 ? header : header.slice(0, end)).trim().toLowerCase();
}
