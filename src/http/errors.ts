// Converts errors to responses. The only place that knows the form of error bodies.
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
import { WorkAwaited } from '../engine/work-ahead.ts';

export interface ErrorOptions {
  readonly retryAfterSeconds: number;
  /** URL for `info`; `undefined` for none. */
  readonly infoLink: string | undefined;
  /** Whether all errors have the URL, not only those with status 500 and above. */
  readonly infoAll: boolean;
  /** `WWW-Authenticate` values of a 401. */
  readonly challenges: readonly string[];
  /** Status for clients that do not accept JSON: 415, or 406 as in Kinto. */
  readonly notAcceptableStatus: number;
}

/** Errors with status 5xx that are not logged: exceeded quotas, and refusals under overload, which would add more load. */
const expected: readonly ErrorKey[] = ['insufficientStorage', 'overloaded'];

/** Returns the response for an error; logs unexpected errors with their stack. */
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
  // A retry cannot succeed while another object has the values.
  if (status === 503 || (status === 409 && known.key !== 'notUnique'))
    headers['Retry-After'] = String(options.retryAfterSeconds);
  if (status === 401 && options.challenges.length > 0) headers['WWW-Authenticate'] = options.challenges;
  const text = formatJson(body);
  const { detailsText } = known;
  const whole = detailsText === undefined ? text : `${text.slice(0, -1)},"details":${detailsText}}`;
  return { status, headers, body: whole, errno: row.errno };
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // Of work after the response has begun, which cannot be undone and repeated.
  if (error instanceof WorkAwaited) return new ServiceError('overloaded', { cause: error });
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
  return new ServiceError('backendUnavailable', { message: `${sentence} The request may be retried.`, cause });
}

/** Returns the public reason of a backend, otherwise the class or code of the cause; never a message of a driver. */
function reasonOf(error: BackendUnavailable): string {
  const { cause, reason } = error;
  if (reason !== undefined) return reason;
  if (!(cause instanceof Error)) return error.name;
  const code: unknown = (cause as { code?: unknown }).code;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : cause.name;
}
