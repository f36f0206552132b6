// Security state of accounts and logins, which must not be lost: counters of failed attempts, one-time codes, known addresses.
// Unlike a cache, the store never evicts a live entry; when it is full, it refuses new entries.

/** Key of an entry. */
export interface SecurityKey {
  /** Purpose of the entry, such as `login`. Limits, keys and refusals of different purposes are independent. */
  readonly purpose: string;
  /** At most 100 ASCII characters, unique for the purpose. Callers derive it from names and secrets with an HMAC. */
  readonly key: string;
}

/** Key of an entry that may be new, with its share of the limits. */
export interface SecurityEntry extends SecurityKey {
  /**
   * The requester that the entry counts against: a group of addresses, or an account. At most 100 ASCII characters, no blanks.
   * `undefined` for none.
   */
  readonly requester: string | undefined;
  /** Maximum number of live entries of the requester for the purpose, when it is lower than the configured one. */
  readonly maxPerRequester?: number;
  /**
   * Whether `maxEntries` does not apply, because the entries of the purpose are limited otherwise, for example by the number of
   * accounts. Default: it applies.
   */
  readonly isBoundElsewhere?: boolean;
}

export interface SecurityStateLimits {
  /** Maximum number of live entries per purpose. */
  readonly maxEntries: number;
  /** Maximum number of live entries of one requester per purpose. */
  readonly maxEntriesPerRequester: number;
}

/**
 * Each call is atomic. It takes effect immediately for all processes that share the store, independently of the unit of work
 * of the request. An expired entry counts as absent. All methods throw `BackendUnavailable` when the store cannot be reached.
 *
 * New entries are refused with `SecurityStateFull` when the requester or the purpose has reached its limit of live entries. A
 * key with a live entry is never refused. Concurrent calls may exceed a limit by one entry each.
 */
export interface SecurityState {
  /** Name of the backend, for logs and metrics. */
  readonly name: string;
  /** See `Database.needsMigration`. */
  readonly needsMigration?: boolean;
  /**
   * Adds 1 to a counter below the limit. An absent counter counts as 0 and gets the time to live; later calls do not extend it.
   * Of concurrent calls exactly as many succeed as the limit allows.
   *
   * @param limit at least 1
   * @returns `undefined` when 1 was added; otherwise the seconds until the counter expires
   * @throws SecurityStateFull
   */
  increment(
    entry: SecurityEntry,
    options: { readonly limit: number; readonly ttlSeconds: number },
  ): Promise<number | undefined>;
  /** Subtracts 1 from a counter. A counter that reaches 0 is deleted; an absent one stays absent. */
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
  /** Returns the value; `undefined` when it is absent. Not for counters. */
  get(key: SecurityKey): Promise<string | undefined>;
  /**
   * Replaces a value by another one. The time to live stays. Of concurrent calls exactly one replaces it.
   *
   * @returns whether it was replaced; otherwise the entry is absent or has another value, which then stays
   */
  replace(key: SecurityKey, from: string, to: string): Promise<boolean>;
  /**
   * Removes the entry when it has this value. Of concurrent calls exactly one removes it.
   *
   * @returns whether it was removed; otherwise the entry is absent or has another value, which then stays
   */
  take(key: SecurityKey, value: string): Promise<boolean>;
  /** Removes an entry; no error when it is absent. */
  remove(key: SecurityKey): Promise<void>;
  /** Removes all entries of all purposes. */
  flush(): Promise<void>;
  /** See `Database.initializeSchema`. */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  close(): Promise<void>;
}
