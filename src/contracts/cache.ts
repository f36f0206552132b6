// Short-lived values that all processes share: one-time tokens, verified logins, rate limits. Writes are independent of the unit
// of work. The cache may evict any entry at any time.
import type { JsonValue } from '../base/json.ts';

export interface CacheBackend {
  /** Name in logs and heartbeats. */
  readonly name: string;
  /** See `Database.needsMigration`. */
  readonly needsMigration?: boolean;
  /** Stores a value for a number of seconds (fractions allowed), replacing any earlier one. */
  set(key: string, value: JsonValue, ttlSeconds: number): Promise<void>;
  /** Returns the value, or `undefined` when it is absent or expired. */
  get(key: string): Promise<JsonValue | undefined>;
  /** Removes and returns the value. Of concurrent calls exactly one gets it, the others `undefined`. */
  delete(key: string): Promise<JsonValue | undefined>;
  /**
   * Advances a stored point in time: stores `max(stored, from) + by` with the time to live, and returns it. An absent or
   * expired key counts as `from`. Concurrent calls are all counted. Numbers are integers below 2^53. Only for keys with such
   * points in time.
   */
  advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number>;
  /** Sets the time to live of an existing key; no error when it is absent. */
  expire(key: string, ttlSeconds: number): Promise<void>;
  flush(): Promise<void>;
  /** See `Database.initializeSchema`. */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  /** See `Database.checkIntegrity`. */
  checkIntegrity?(): Promise<readonly string[]>;
  close(): Promise<void>;
}
