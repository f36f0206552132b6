// The table of errors: key, status, number and public message. Code throws a `ServiceError`; only the HTTP room knows the
// form of the body. See docs/reference/http-api/errors.md.
import { quoteText } from '../base/abbreviate.ts';

interface ErrorRow {
  readonly status: number;
  readonly errno: number;
  readonly error: string;
  /** Default public message; absent means that the body has no message. */
  readonly message?: string;
}

export const errorTable = {
  missingAuthToken: { status: 401, errno: 104, error: 'Unauthorized', message: 'Please authenticate to use this.' },
  accountsNeedAuthentication: {
    status: 401,
    errno: 999,
    error: 'Accounts can only be listed and deleted with authentication.',
    message: 'Please authenticate to use this.',
  },
  invalidParameters: { status: 400, errno: 107, error: 'Invalid parameters' },
  invalidPostedData: { status: 400, errno: 109, error: 'Bad Request' },
  malformedUrl: { status: 400, errno: 107, error: 'Bad Request', message: 'The URL holds invalid UTF-8.' },
  badRequest: { status: 400, errno: 107, error: 'Bad Request', message: 'The request is malformed.' },
  notAcceptable: { status: 406, errno: 107, error: 'Invalid parameters' },
  unsupportedMediaType: { status: 415, errno: 107, error: 'Invalid parameters' },
  missingObject: { status: 404, errno: 110, error: 'Not Found' },
  missingParent: { status: 404, errno: 111, error: 'Not Found' },
  unknownPath: { status: 404, errno: 111, error: 'Not Found', message: 'No endpoint matches this path.' },
  misdirectedRequest: {
    status: 421,
    errno: 107,
    error: 'Misdirected Request',
    message: 'The host that the request names is not accepted. The setting allowed_hosts lists the accepted hosts.',
  },
  requestTooLarge: { status: 413, errno: 113, error: 'Payload Too Large', message: 'The body is too large.' },
  headersTooLarge: {
    status: 431,
    errno: 113,
    error: 'Request Header Fields Too Large',
    message: 'The headers are too large.',
  },
  attachmentModified: {
    status: 400,
    errno: 999,
    error: 'Bad Request',
    message: 'The attributes of an attachment are read-only. Upload another file, or delete the attachment.',
  },
  requestTimeout: {
    status: 408,
    errno: 999,
    error: 'Request Timeout',
    message: 'The request took too long to arrive.',
  },
  preconditionFailed: {
    status: 412,
    errno: 114,
    error: 'Precondition Failed',
    message: 'The object was changed in the meantime.',
  },
  rangeNotSatisfiable: {
    status: 416,
    errno: 107,
    error: 'Range Not Satisfiable',
    message: 'The file does not have the requested range.',
  },
  methodNotAllowed: {
    status: 405,
    errno: 115,
    error: 'Method Not Allowed',
    message: 'The endpoint does not support this method.',
  },
  unknownVersion: {
    status: 404,
    errno: 116,
    error: 'Not Found',
    message: 'This version of the API is not served.',
  },
  changesForgotten: {
    status: 410,
    errno: 107,
    error: 'Gone',
    message: 'Deletions since that timestamp are no longer known completely. Request the whole list, without `_since`.',
  },
  clientAtCapacity: {
    status: 429,
    errno: 117,
    error: 'Too Many Requests',
    message: 'Too many attempts. Try again later.',
  },
  forbidden: { status: 403, errno: 121, error: 'Forbidden', message: 'Not allowed for this user.' },
  constraintViolated: {
    status: 409,
    errno: 122,
    error: 'Conflict',
    message: 'Another object of the list has this timestamp. The request may be retried.',
  },
  notUnique: { status: 409, errno: 122, error: 'Conflict' },
  backendUnavailable: {
    status: 503,
    errno: 201,
    error: 'Service Unavailable',
    message: 'The service is temporarily unavailable. The request may be retried.',
  },
  overloaded: {
    status: 503,
    errno: 201,
    error: 'Service Unavailable',
    message: 'The service is overloaded. The request may be retried.',
  },
  insufficientStorage: { status: 507, errno: 121, error: 'Insufficient Storage', message: 'A quota is exceeded.' },
  serviceDeprecated: { status: 410, errno: 202, error: 'Gone', message: 'This service has been closed.' },
  unexpected: {
    status: 500,
    errno: 999,
    error: 'Internal Server Error',
    message: 'An unexpected error occurred and was reported.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorKey = keyof typeof errorTable;

/** One fault of a request. */
export interface Issue {
  readonly location: 'body' | 'querystring' | 'header' | 'path' | 'method';
  /**
   * Dotted path inside the location; `''` for the whole body, `null` when the fault has no single name. The index of an array
   * item that fails its JSON schema is a number.
   */
  readonly name: string | number | null;
  readonly description: string;
  readonly errno?: number;
}

export interface ErrorOptions {
  readonly message?: string | undefined;
  /** Issues of a validation error, or an object such as `{id, resource_name}`; sent as JSON. */
  readonly details?: unknown;
  /** JSON text of the details, for details from storage; replaces `details`. */
  readonly detailsText?: string | undefined;
  /** Headers of the response. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly cause?: unknown;
}

/** An error that becomes an error response. */
export class ServiceError extends Error {
  readonly key: ErrorKey;
  readonly details: unknown;
  readonly detailsText: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Message for the client; `undefined` for none. */
  readonly publicMessage: string | undefined;

  constructor(key: ErrorKey, options: ErrorOptions = {}) {
    const row: ErrorRow = errorTable[key];
    super(options.message ?? row.message ?? row.error, { cause: options.cause });
    this.name = 'ServiceError';
    this.key = key;
    this.publicMessage = options.message ?? row.message;
    this.details = options.details;
    this.detailsText = options.detailsText;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorTable[this.key].status;
  }
}

/**
 * Returns the error for a missing object. Only for callers that are allowed to know that it is missing.
 *
 * @param key `missingObject` for the object of the request, `missingParent` for one of its parents
 * @param kind name of the kind, such as `record`
 */
export function notFound(key: 'missingObject' | 'missingParent', kind: string, id: string): ServiceError {
  return new ServiceError(key, {
    message: `The ${kind} ${quoteText(id)} does not exist.`,
    details: { id, resource_name: kind },
  });
}

/**
 * Returns the error for all faults of a request, sorted by name as the protocol requires (`null` as the text "None"). The
 * message describes the first one.
 */
export function invalidParameters(
  issues: readonly Issue[],
  key: 'invalidParameters' | 'unsupportedMediaType' | 'notAcceptable' = 'invalidParameters',
): ServiceError {
  const sorted = issues.toSorted((a, b) => compareText(nameText(a), nameText(b)));
  return new ServiceError(key, { message: describeIssue(sorted[0]!), details: sorted });
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function nameText({ name }: Issue): string {
  return name === null ? 'None' : String(name);
}

function describeIssue({ location, name, description }: Issue): string {
  if (name === null || name === '') return `${location}: ${description}`;
  if (description.includes(String(name))) return description;
  return `${name} in ${location}: ${description}`;
}
