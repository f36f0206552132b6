// A request and its response as plain values, free of any HTTP library: the same whether they came over a socket or
// out of a batch.
import { formatJson, JsonSyntaxError, parseJson, type JsonLimits, type JsonValue } from '../base/json.ts';

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
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Text of the body, `''` for none. JSON unless a `Content-Type` header says otherwise. */
  readonly body: string;
}

/** A request body that is parsed when first needed. */
export class RequestBody {
  static readonly none: RequestBody = new RequestBody('', undefined, undefined);

  readonly #text: string | undefined;
  readonly #limits: JsonLimits | undefined;
  #value: JsonValue | undefined;
  #error: JsonSyntaxError | undefined;

  private constructor(text: string | undefined, value: JsonValue | undefined, limits: JsonLimits | undefined) {
    this.#text = text;
    this.#value = value;
    this.#limits = limits;
  }

  /** Of bytes sent by a client; invalid UTF-8 is found out when it is parsed. */
  static ofBytes(bytes: Uint8Array, limits: JsonLimits): RequestBody {
    if (bytes.length === 0) return RequestBody.none;
    try {
      return new RequestBody(utf8.decode(bytes), undefined, limits);
    } catch {
      const body = new RequestBody(undefined, undefined, limits);
      body.#error = new JsonSyntaxError('the body is not valid UTF-8');
      return body;
    }
  }

  /** Of a value that was part of an outer body, such as an entry of a batch. */
  static ofValue(value: JsonValue): RequestBody {
    return new RequestBody(undefined, value, undefined);
  }

  get isEmpty(): boolean {
    return this.#text === '';
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
        this.#value = parseJson(this.#text ?? '', this.#limits);
      } catch (error) {
        if (error instanceof JsonSyntaxError) this.#error = error;
        throw error;
      }
    }
    return this.#value;
  }

  /** For logs at debug level only. */
  toString(): string {
    return this.#text ?? (this.#value === undefined ? '' : formatJson(this.#value));
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A JSON response. */
export function jsonResponse(status: number, value: JsonValue, headers: ResponseHeaders = {}): ServiceResponse {
  return { status, headers, body: formatJson(value) };
}

/** The media type of a `Content-Type` header, lower-case and without parameters. */
export function mediaType(header: string): string {
  const end = header.indexOf(';');
  return (end === -1 ? header : header.slice(0, end)).trim().toLowerCase();
}
