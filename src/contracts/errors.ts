// The ways a backend may fail. Each backend turns its driver's errors into these in one function at its edge.

import { isStorableText } from '../base/json.ts';
import type { ListKey } from '../core/objects/stored.ts';

/** Base of everything a backend throws on purpose. */
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
  /** What is wrong, in words that anybody may read: no hosts, no SQL, no credentials. Absent: the class of the cause. */
  readonly reason?: string | undefined;
  /** Whether it lasts until somebody changes something, so that waiting alone does not help. */
  readonly isLasting?: boolean | undefined;
}

/** The world's failure: unreachable, full, out of time. 503 with a retry hint; `cause` holds the driver's error. */
export class BackendUnavailable extends BackendError {
  /** `storage`, `permission`, `cache`, `mail`, or what else could not be reached. */
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

/** The store of security state refuses a new entry: 429 on the wire for the requester's own share, 503 for the purpose. */
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

/** The unit of work lost a race inside the database (deadlock, serialization) and may be run again from its start. */
export class TransactionConflict extends BackendError {
  /** Lists that the unit had locked or waited for. Locked in one order from the start, they cannot be fought over again. */
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
 * A text that cannot be stored: it holds a null character or a lone surrogate, which no backend takes, or the database
 * cannot index a text of its length. 400 on the wire. A method that would
 * store such a text, in whichever argument, throws this, at the latest when the unit of work commits. Every other method
 * throws this or finds nothing; none ever takes it for another text. A cache may store such a key instead, apart from all
 * others.
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
