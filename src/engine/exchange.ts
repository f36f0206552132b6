// A request and its response as plain values, free of any HTTP library: the same whether they came over a socket or
// out of a batch.
import { formatJson, JsonSyntaxError, type JsonLimits, type JsonValue } from '../base/json.ts';
import { largeTextChars, parseInSteps } from '../base/json-steps.ts';
import { parseRequestJson } from '../base/request-json.ts';
import { runFromNow, type Steps } from '../base/steps.ts';

/** Header names are lower-case; repeated headers are joined as HTTP says. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>;
export type ResponseHeaders = Record<string, string | readonly string[]>;

export interface ServiceRequest {
  /** As sent; may be one that nothing serves. */
  readonly method: string;
  /** Path and query as sent, percent escapes included. */
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly body: RequestBody;
  /** `http://host:port` by which the client reaches the service, without trailing slash. */
  readonly origin: string;
  /** Network address of the client, the nearest one that no trusted proxy speaks for; absent without a socket. */
  readonly clientAddress?: string;
  /** Correlation id for logs. */
  readonly id: string;
  /** What the outer request may hold in memory; absent without a socket. */
  readonly memory?: MemoryAccount;
}

/** What one outer request holds in memory, where that is limited. */
export interface MemoryAccount {
  /**
   * Reserves so many bytes for the request besides its body; fewer than before change nothing.
   *
   * @returns `undefined` when that was done at once
   * @throws ServiceError requestTooLarge, or overloaded, also by rejection after a while
   */
  reserve(bytes: number): Promise<void> | undefined;
  /**
   * Reserves without waiting, where something is locked already.
   *
   * @throws ServiceError overloaded
   */
  reserveNow(bytes: number): void;
  /**
   * Reserves for stored text that was found to be large.
   *
   * @throws MemoryAwaited when that is not possible at once; ServiceError requestTooLarge
   */
  admit(bytes: number): void;
  /**
   * Counts characters of stored text that a request reads or rewrites; entries of a batch have a limit together.
   *
   * @throws ServiceError requestTooLarge
   */
  takeStored(chars: number): void;
}

/**
 * The request needs memory that others hold. Its work is undone and dropped, and it is run again as a whole when so much is
 * reserved: what it has read so far would take memory while it waits.
 */
export class MemoryAwaited extends Error {
  /** Resolves when the memory is reserved; rejects with a ServiceError. */
  readonly reserve: () => Promise<void> | undefined;

  constructor(reserve: MemoryAwaited['reserve']) {
    super('the request waits for memory');
    this.name = 'MemoryAwaited';
    this.reserve = reserve;
  }
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /**
   * Text of the body, `''` for none; JSON unless a `Content-Type` header says otherwise. Files come as bytes, or piece
   * by piece.
   */
  readonly body: ResponseBody;
  /** Number of the error in the body, for logs; absent when it holds none. */
  readonly errno?: number | undefined;
}

export type ResponseBody = string | Uint8Array | AsyncIterable<Uint8Array>;

/** A response as a resource gives it, and a batch can hold it. */
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

  /** Of bytes sent by a client; invalid UTF-8 is found out when it is parsed. */
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

  /** Of a value that was part of an outer body, such as an entry of a batch. */
  static ofValue(value: JsonValue): RequestBody {
    return new RequestBody({ value });
  }

  /** Of a form with files, which is too large to be held as a whole. */
  static ofStream(stream: AsyncIterable<Uint8Array>): RequestBody {
    const body = new RequestBody({ stream });
    body.#error = new JsonSyntaxError('the body is a form and not JSON');
    return body;
  }

  /** The bytes of a form with files as they arrive; can be read once. `undefined` for bodies of other types. */
  get stream(): AsyncIterable<Uint8Array> | undefined {
    return this.#stream;
  }

  /**
   * Runs once the request is answered, or has failed for good: for what was put aside of a body that came as a stream,
   * and is needed again when the request is run again.
   */
  onRelease(task: () => Promise<void>): void {
    this.#releases.push(task);
  }

  /** To be called by whoever answers the outer request, when that is done; `undefined` when there is nothing to do. */
  release(): Promise<void> | undefined {
    if (this.#releases.length === 0) return undefined;
    return runAll(this.#releases.splice(0));
  }

  /** Characters of a body that came as a text; 0 of others. */
  get length(): number {
    return this.#text?.length ?? 0;
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }

  /** Whether it came by itself, and not as an entry of a batch, and is not empty. */
  get isOfRequest(): boolean {
    return this.#text !== undefined && this.#text !== '';
  }

  /** Whether its text is so long that it should be read in steps. */
  get isLarge(): boolean {
    return this.#text !== undefined && this.#text.length >= largeTextChars;
  }

  /**
   * The JSON value of a body that is not empty.
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

  /**
   * What `parse` returns, in steps where the body is large.
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

  /** Reads a large body ahead, so that `parse` returns or throws at once; `undefined` where it does so anyway. */
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

/** A JSON response. */
export function jsonResponse(status: number, value: JsonValue, headers: ResponseHeaders = {}): TextResponse {
  return { status, headers, body: formatJson(value) };
}

/** The media type of a `Content-Type` header, lower-case and without parameters. */
export function mediaType(header: string): string {
  const end = header.indexOf(';');
  return (end === -1 ? header : header.slice(0, end)).trim().toLowerCase();
}
