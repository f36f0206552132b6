// Short-lived values shared by all processes: one-time tokens, verified logins, counters. Writes are independent of the
// unit of work, and eviction is allowed at any time.
import type { JsonValue } from '../base/json.ts';

export interface CacheBackend {
  /** What logs and heartbeats call it. */
  readonly name: string;
  /** As in `Database`. */
  readonly needsMigration?: boolean;
  /** Stores a value for so many seconds (fractions allowed), replacing any earlier one. */
  set(key: string, value: JsonValue, ttlSeconds: number): Promise<void>;
  /** The value, or `undefined` when absent or expired. */
  get(key: string): Promise<JsonValue | undefined>;
  /** Takes the value out: of two concurrent callers exactly one gets it, the other `undefined`. */
  delete(key: string): Promise<JsonValue | undefined>;
  /**
   * Adds a whole number, negative or not, to a number that was stored before, and answers the sum. An absent or expired
   * key counts as 0 and gets the time to live; that of a key that is there stays as it is. Of concurrent callers none is
   * lost. Only for keys that hold nothing but such sums.
   */
  increment(key: string, by: number, ttlSeconds: number): Promise<number>;
  /**
   * Moves a stored moment on: stores `max(stored, from) + by` with the time to live, and returns it. An absent or expired
   * key counts as `from`. Of concurrent callers none is lost. Numbers are whole and below 2^53. Only for keys that hold
   * nothing but such moments.
   */
  advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number>;
  /** Seconds left, or a negative number when the key is absent. */
  ttl(key: string): Promise<number>;
  /** Gives an existing key a new time to live; no error when absent. */
  expire(key: string, ttlSeconds: number): Promise<void>;
  flush(): Promise<void>;
  /** As `Database.initializeSchema`. */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  /** As `Database.checkIntegrity`. */
  checkIntegrity?(): Promise<readonly string[]>;
  close(): Promise<void>;
}
