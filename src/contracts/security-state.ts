// State that protects accounts and logins and must not get lost: counters of failed attempts, one-time codes, known
// addresses. Unlike a cache, the store never evicts a live entry; when it is full, it refuses new entries.

/** Names an entry. */
export interface SecurityKey {
  /** What the entry is for, such as `login`. Purposes are separate: limits, keys and refusals of one do not affect another. */
  readonly purpose: string;
  /** At most 100 ASCII characters, unique for the purpose. Callers derive it from names and secrets with an HMAC. */
  readonly key: string;
}

/** An entry that may be new. */
export interface SecurityEntry extends SecurityKey {
  /**
   * The requester whose limit the entry counts against: a group of addresses, or an account. At most 100 ASCII characters,
   * without blanks. `undefined`: no requester.
   */
  readonly requester: string | undefined;
  /** Maximum number of live entries of the requester for the purpose, where it is below the configured one. */
  readonly maxPerRequester?: number;
  /**
   * Whether `maxEntries` does not apply, because something else limits the entries of the purpose, such as the number of
   * accounts. Absent: it applies.
   */
  readonly isBoundElsewhere?: boolean;
}

export interface SecurityStateLimits {
  /** Maximum number of live entries per purpose. */
  readonly maxEntries: number;
  /** Maximum number of live entries of one requester per purpose. */
  readonly maxEntriesPerRequester: number;
}

/** An entry that was taken out, with what is needed to put it back. */
export interface TakenEntry extends SecurityKey {
  readonly requester: string | undefined;
  readonly value: string;
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

/**
 * Each call is atomic. It takes effect at once and for all processes that share the store, even when the unit of work of
 * the request is rolled back. An expired entry counts as absent. All methods throw `BackendUnavailable` when the store
 * cannot be reached.
 *
 * New entries are refused with `SecurityStateFull` when the requester or the purpose has reached its limit of live entries.
 * A key that has a live entry is never refused. Concurrent calls that add entries may exceed a limit by one entry each.
 */
export interface SecurityState {
  /** Name of the backend, for logs and metrics. */
  readonly name: string;
  /** As in `Database`. */
  readonly needsMigration?: boolean;
  /**
   * Adds 1 to a counter that is below the limit. An absent counter counts as 0 and lives for `ttlSeconds`; later calls do
   * not extend its life. Of concurrent calls exactly as many succeed as the limit allows.
   *
   * @param limit at least 1
   * @returns `undefined` when 1 was added; otherwise the seconds until the counter expires
   * @throws SecurityStateFull
   */
  increment(
    entry: SecurityEntry,
    options: { readonly limit: number; readonly ttlSeconds: number },
  ): Promise<number | undefined>;
  /** Takes 1 back from a counter. A counter that reaches 0 is deleted; an absent one stays absent. */
  decrement(key: SecurityKey): Promise<void>;
  /**
   * Stores a value, replacing an earlier one and its time to live.
   *
   * @param value at most 200 ASCII characters
   * @throws SecurityStateFull
   */
  put(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<void>;
  /**
   * Stores a value unless the key has one.
   *
   * @returns whether it was stored; of concurrent calls exactly one stores
   * @throws SecurityStateFull
   */
  add(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<boolean>;
  /** The value; `undefined` when absent. Not for counters. */
  get(key: SecurityKey): Promise<string | undefined>;
  /**
   * Removes the entry when it has this value. Of concurrent calls exactly one gets the entry.
   *
   * @returns `undefined` when the entry is absent or has another value, which then stays
   */
  take(key: SecurityKey, value: string): Promise<TakenEntry | undefined>;
  /** Puts back what `take` has returned, beyond the limits if need be. Does nothing when the key has a value again. */
  restore(entry: TakenEntry): Promise<void>;
  /** Removes an entry; no error when it is absent. */
  remove(key: SecurityKey): Promise<void>;
  /** Removes all entries of all purposes. */
  flush(): Promise<void>;
  /** As `Database.initializeSchema`. */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  close(): Promise<void>;
}
