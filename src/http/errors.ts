// Where whatever was thrown becomes an error response. The only place that knows what an error body looks like.
import { formatJson, type JsonValue, type MutableJsonObject } from '../base/json.ts';
import {
  BackendError,
  BackendUnavailable,
  IntegrityError,
  ReadonlyError,
  SecurityStateFull,
  UnstorableText,
} from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import { errorTable, ServiceError, type ErrorKey } from '../core/errors.ts';
import type { ServiceResponse } from '../engine/exchange.ts';

export interface ErrorOptions {
  readonly retryAfterSeconds: number;
  /** Link for `info`; `undefined` for none. */
  readonly infoLink: string | undefined;
  /** Whether every error carries the link, not only those of status 500 and above. */
  readonly infoAll: boolean;
  /** `WWW-Authenticate` values of a 401. */
  readonly challenges: readonly string[];
  /** 406 for strict parity with the reference server, else 415. */
  readonly notAcceptableStatus: number;
}

/** A quota that is used up is the client's business; who has too much to do has no time for a line on each refusal. */
const expected: readonly ErrorKey[] = ['insufficientStorage', 'overloaded'];

/** The response for anything thrown; unexpected errors are logged with their stack. */
export function errorResponse(
  error: unknown,
  requestId: string,
  options: ErrorOptions,
  logger: Logger,
): ServiceResponse {
  const known = asServiceError(error);
  if (known.status >= 500 && !expected.includes(known.key)) logger.error({ err: error, rid: requestId }, known.message);
  const row: { status: number; errno: number; error: string } = errorTable[known.key];
  const status = known.key === 'notAcceptable' ? options.notAcceptableStatus : row.status;
  const body: MutableJsonObject = { code: status, errno: row.errno, error: row.error };
  if (known.publicMessage !== undefined) body['message'] = known.publicMessage;
  if (options.infoLink !== undefined && (status >= 500 || options.infoAll)) body['info'] = options.infoLink;
  if (known.details !== undefined) body['details'] = known.details as JsonValue;
  const headers: Record<string, string | readonly string[]> = { ...known.headers };
  if (status === 503 || status === 409) headers['Retry-After'] = String(options.retryAfterSeconds);
  if (status === 401 && options.challenges.length > 0) headers['WWW-Authenticate'] = options.challenges;
  const text = formatJson(body);
  const { detailsText } = known;
  const whole = detailsText === undefined ? text : `${text.slice(0, -1)},"details":${detailsText}}`;
  return { status, headers, body: whole, errno: row.errno };
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof IntegrityError) return new ServiceError('constraintViolated', { cause: error });
  if (error instanceof UnstorableText) {
    return new ServiceError('invalidParameters', { message: `In the request: ${error.message}.`, cause: error });
  }
  if (error instanceof ReadonlyError) return unavailable(error.message, error);
  if (error instanceof BackendUnavailable) {
    return unavailable(`The service is temporarily unavailable (${error.backend}: ${reasonOf(error)}).`, error);
  }
  if (error instanceof SecurityStateFull && error.scope === 'requester') {
    return new ServiceError('clientAtCapacity', {
      headers: { 'Retry-After': String(error.retryAfterSeconds) },
      cause: error,
    });
  }
  if (error instanceof BackendError)
    return unavailable(`The service is temporarily unavailable (${error.name}).`, error);
  return new ServiceError('unexpected', { cause: error });
}

function unavailable(sentence: string, cause: Error): ServiceError {
  const key: ErrorKey = 'backendUnavailable';
  return new ServiceError(key, { message: `${sentence} The request may be retried.`, cause });
}

/** What went wrong below, if the backend says it for everybody, or its class or code; never a text of somebody else. */
function reasonOf(error: BackendUnavailable): string {
  const { cause, reason } = error;
  if (reason !== undefined) return reason;
  if (!(cause instanceof Error)) return error.name;
  const code: unknown = (cause as { code?: unknown }).code;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : cause.name;
}
