// Errors of the client.
import type { CofferError } from '@coffer/client';

/** Returns whether an error comes from the client, with this status if one is given. An application may have several copies of it. */
export function isFailure(error: unknown, ...statuses: readonly number[]): error is CofferError {
  const { name, status } = (error ?? {}) as Partial<CofferError>;
  return name === 'CofferError' && (statuses.length === 0 || statuses.includes(status!));
}

/** Returns whether the service itself, and no proxy, has refused a request with one of these statuses. */
export function isRefusal(error: unknown, ...statuses: readonly number[]): error is CofferError {
  return isFailure(error, ...statuses) && error.isFromService;
}

/** Another object has the value of a unique index. Other conflicts with 409 are over when the request is repeated. */
export function isTaken(error: unknown): boolean {
  return isFailure(error, 409) && (error.details as { field?: unknown } | undefined)?.field !== undefined;
}

/** Object missing: number 110. A missing parent has another number. */
export function isMissing(error: unknown): boolean {
  return isFailure(error, 404) && error.errno === 110;
}

/** Returns how many milliseconds the service asks to wait. */
export function retryAfterOf(error: unknown): number {
  return isFailure(error) ? (error.retryAfterMs ?? 0) : 0;
}
