// The one error class of the client.

/** Where a failure comes from. */
export type ErrorKind =
  /** The service responded with a status of 400 or more. */
  | 'http'
  /** No response arrived: the service is out of reach, or the connection was cut. */
  | 'network'
  /** The response did not arrive within the time limit. */
  | 'timeout'
  /** The caller aborted the operation. */
  | 'abort'
  /** The response is not what the protocol defines, such as an HTML page of a proxy. */
  | 'parse'
  /** A validator refused an object. */
  | 'validation';

/** One fault of an invalid request (number 107). */
export interface Fault {
  readonly location: string;
  readonly name: string | null;
  readonly description: string;
}

/** Members of an error besides its kind and message. */
export interface ErrorFields {
  readonly status?: number;
  readonly errno?: number | undefined;
  readonly details?: unknown;
  readonly retryAfterMs?: number | undefined;
  readonly issues?: readonly { readonly message: string }[];
  readonly cause?: unknown;
}

/** Every operation of the client fails with this error. */
export class CofferError extends Error {
  override readonly name = 'CofferError';
  readonly kind: ErrorKind;
  /** Status of the response; 0 without a response. */
  declare readonly status: number;
  /** Number of the error, more specific than the status. */
  declare readonly errno: number | undefined;
  /** A list of `Fault` after an invalid request; `{ existing }` after 412; otherwise as the reference of errors says. */
  declare readonly details: unknown;
  /** Milliseconds until the service accepts the request again, if it says so. */
  declare readonly retryAfterMs: number | undefined;
  /** What a validator has found. */
  declare readonly issues: readonly { readonly message: string }[];

  constructor(kind: ErrorKind, message: string, fields: ErrorFields = {}) {
    super(message);
    this.kind = kind;
    Object.assign(this, { status: 0, issues: [] }, fields);
  }

  /**
   * Whether the service itself has responded. Its errors have a number. Another response may be the page of a proxy, for example
   * during a deployment, and says nothing about the object or the list, except that a request is too large, or needs a login.
   */
  get isFromService(): boolean {
    return this.errno !== undefined || [401, 413, 414, 431].includes(this.status);
  }

  /** The current object after a failed precondition (412), if the caller may read it. */
  get existing(): ({ readonly id: string; readonly last_modified: number } & Record<string, unknown>) | undefined {
    return (this.details as { existing?: CofferError['existing'] } | null | undefined)?.existing;
  }
}
