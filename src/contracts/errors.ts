// The errors of backends. Each backend turns the errors of its driver into these in one function.

import { isStorableText } from '../base/json.ts';
import type { ListKey } from '../core/objects/stored.ts';

/** Base of all errors that backends throw deliberately. */
export class BackendError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A constraint would be violated: two objects of one list with the same timestamp (409 on the wire). */
export class IntegrityError extends BackendError {}

/** A live object with this id exists already. */
export class UnicityError extends IntegrityError {
  readonly field: string;

  constructor(field: string) {
    super(`an object with this ${field} exists`);
    this.field = field;
  }
}

/** A timestamp would have to be created while the backend is read-only (503 on the wire, naming the reason). */
export class ReadonlyError extends BackendError {}

export interface UnavailableOptions extends ErrorOptions {
  /** What is wrong, in words that clients may see: no hosts, no SQL, no credentials. Absent: the class of the cause. */
  readonly reason?: string | undefined;
  /** Whether the failure lasts until an operator acts, so that waiting does not help. */
  readonly isLasting?: boolean | undefined;
}

/** A failure outside the service: unreachable, full, timed out. 503 with a retry hint; `cause` holds the driver's error. */
export class BackendUnavailable extends BackendError {
  /** `storage`, `permission`, `cache`, `mail`, or another name of what could not be reached. */
  readonly backend: string;
  readonly reason: string | undefined;
  readonly isLasting: boolean;

  /** @param message for the log: what is wrong, and what can be done about it */
  constructor(backend: string, message: string, { reason, isLasting = false, ...options }: UnavailableOptions = {}) {
    super(message, options);
    this.backend = backend;
    this.reason = reason;
    this.isLasting = isLasting;
  }
}

/**
 * The store of security state refuses a new entry: 429 on the wire when the requester is at its limit, 503 for the purpose.
 */
export class SecurityStateFull extends BackendError {
  readonly scope: 'requester' | 'purpose';
  readonly retryAfterSeconds: number;

  /** @param ttlSeconds time to live of the entry that was refused */
  constructor(purpose: string, scope: SecurityStateFull['scope'], ttlSeconds: number) {
    super(
      scope === 'requester'
        ? `the requester has as many live entries for ${purpose} as security_state_max_entries_per_requester allows`
        : `there are as many live entries for ${purpose} as security_state_max_entries allows`,
    );
    this.scope = scope;
    // Other entries may expire long before this one would have.
    this.retryAfterSeconds = Math.max(1, Math.min(60, Math.ceil(ttlSeconds)));
  }
}

/** The unit of work failed on a conflict inside the database (deadlock, serialization). The caller may run it again. */
export class TransactionConflict extends BackendError {
  /**
   * Lists that the unit had locked or waited for. A retry that locks them first, in one order, cannot conflict over them.
   */
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
 * A text that cannot be stored: it contains a null character or a lone surrogate, which no backend accepts, or the database
 * cannot index a text of its length. 400 on the wire. A method that would store such a text, in any argument, throws this,
 * at the latest when the unit of work commits. Other methods throw this or find nothing, and never mistake the text for
 * another one. A cache may store such a key instead, separate from all others.
 */
export class UnstorableText extends BackendError {
  constructor(options?: ErrorOptions, message = 'null characters and lone surrogates cannot be stored') {
    super(message, options);
  }
}

/** @throws UnstorableText */
export function requireStorable(text: string): void {
  if (!isStorableText(text)) throw new UnstorableText();
}
