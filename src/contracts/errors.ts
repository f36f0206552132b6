// Failures of backends. Each backend converts the errors of its driver to these, in one function.

import { isStorableText } from '../base/json.ts';
import type { ListKey } from '../core/objects/stored.ts';

/** Base class of all intended errors of backends. */
export class BackendError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A constraint would be violated: two entries of one list with the same timestamp (409). */
export class IntegrityError extends BackendError {}

/** A live object with this id exists already. */
export class UnicityError extends IntegrityError {
  readonly field: string;

  constructor(field: string) {
    super(`an object with this ${field} exists`);
    this.field = field;
  }
}

/** A timestamp would have to be created while the backend is read-only (503 with the reason). */
export class ReadonlyError extends BackendError {}

export interface UnavailableOptions extends ErrorOptions {
  /** Public reason, without hosts, SQL and credentials. Absent: the class of the cause. */
  readonly reason?: string | undefined;
  /** Whether the failure lasts until an operator acts, so that waiting does not help. */
  readonly isLasting?: boolean | undefined;
  /**
   * Whether nothing of the unit of work was kept or will be, because the failure came before its commit. Default `false`: the
   * commit may have happened.
   */
  readonly isUndone?: boolean | undefined;
}

/** An external failure: unreachable, full, timed out. 503 with `Retry-After`; `cause` is the error of the driver. */
export class BackendUnavailable extends BackendError {
  /** The unavailable part: `storage`, `permission`, `cache`, `mail` or another one. */
  readonly backend: string;
  readonly reason: string | undefined;
  readonly isLasting: boolean;
  readonly isUndone: boolean;

  /** @param message message for the log: the fault and its remedy */
  constructor(backend: string, message: string, options: UnavailableOptions = {}) {
    const { reason, isLasting = false, isUndone = false, ...ofError } = options;
    super(message, ofError);
    this.backend = backend;
    this.reason = reason;
    this.isLasting = isLasting;
    this.isUndone = isUndone;
  }
}

/** The store of security state refuses a new entry: 429 when the requester's share is used up, 503 when the purpose's is. */
export class SecurityStateFull extends BackendError {
  readonly scope: 'requester' | 'purpose';
  readonly retryAfterSeconds: number;

  /** @param ttlSeconds time to live of the refused entry */
  constructor(purpose: string, scope: SecurityStateFull['scope'], ttlSeconds: number) {
    super(
      scope === 'requester'
        ? `the requester has as many live entries for ${purpose} as security_state_max_entries_per_requester allows`
        : `there are as many live entries for ${purpose} as security_state_max_entries allows`,
    );
    this.scope = scope;
    // Other entries may expire much earlier.
    this.retryAfterSeconds = Math.max(1, Math.min(60, Math.ceil(ttlSeconds)));
  }
}

/** The transaction failed by a deadlock or serialization conflict. The unit of work may be retried from its start. */
export class TransactionConflict extends BackendError {
  /** Lists that the unit had locked or waited for. A retry locks them in order at its start, which prevents another deadlock. */
  readonly lists: readonly ListKey[];

  constructor(
    message: string,
    { lists = [], ...options }: ErrorOptions & { readonly lists?: readonly ListKey[] } = {},
  ) {
    super(message, options);
    this.lists = lists;
  }
}

/**
 * A text cannot be stored: it contains a null character or a lone surrogate, or it is too long for an index of the database.
 * 400. A method that would store such a text, in any argument, throws this at the latest when the unit of work commits. All
 * other methods throw this or find nothing; none confuses the text with another one. A cache may store such a key if it keeps
 * it distinct.
 */
export class UnstorableText extends BackendError {
  constructor(options?: ErrorOptions, message = 'null characters and lone surrogates cannot be stored') {
    super(message, options);
  }
}

/** Returns whether a unit of work whose commit failed with this error has left no trace. Otherwise it may have been committed. */
export function leftNoTrace(error: unknown): boolean {
  return error instanceof TransactionConflict || (error instanceof BackendUnavailable && error.isUndone);
}

/** @throws UnstorableText */
export function requireStorable(text: string): void {
  if (!isStorableText(text)) throw new UnstorableText();
}
