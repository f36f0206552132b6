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
  /** Seconds left, or a negative number when the key is absent. */
  ttl(key: string): Promise<number>;
  /** Gives an existing key a new time to live; no error when absent. */
  expire(key: string, ttlSeconds: number): Promise<void>;
  flush(): Promise<void>;
  /** As `Database.initializeSchema`. */
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  close(): Promise<void>;
}
