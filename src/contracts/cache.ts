// Short-lived values shared by all processes: one-time tokens, verified logins, counters. Writes are independent of the
// unit of work, and eviction is allowed at any time.
import type { JsonValue } from '../base/json.ts';

export interface CacheBackend {
  /** Name of the backend in logs and heartbeats. */
  readonly name: string;
  /** As in `Database`. */
  readonly needsMigration?: boolean;
  /** Stores a value for `ttlSeconds` (fractions allowed), and replaces an earlier one. */
  set(key: string, value: JsonValue, ttlSeconds: number): Promise<void>;
  /** Returns the value; `undefined` when absent or expired. */
  get(key: string): Promise<JsonValue | undefined>;
  /** Deletes the value and returns it. Of two concurrent callers exactly one gets it, the other `undefined`. */
  delete(key: string): Promise<JsonValue | undefined>;
  /**
   * Adds a whole number, negative or not, to a stored sum, and returns the new sum. An absent or expired key counts as 0
   * and gets the time to live; an existing key keeps its own. No concurrent call is lost. Only for keys that hold such
   * sums.
   */
  increment(key: string, by: number, ttlSeconds: number): Promise<number>;
  /**
   * Advances a stored instant: stores `max(stored, from) + by` with the time to live, and returns it. An absent or expired
   * key counts as `from`. No concurrent call is lost. Numbers are whole and below 2^53. Only for keys that hold such
   * instants.
   */
  advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number>;
  /** Returns the seconds left; a negative number when the key is absent. */
  ttl(key: string): Promise<number>;
  /** Sets the time to live of an existing key; no error when absent. */
  expire(key: string, ttlSeconds: number): Promise<void>;
  flush(): Promise<void>;
  /** As `Database.initializeSchema`. */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  /** As `Database.checkIntegrity`. */
  checkIntegrity?(): Promise<readonly string[]>;
  close(): Promise<void>;
}
