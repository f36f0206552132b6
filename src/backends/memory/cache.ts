// The cache contract in memory: texts with an expiry. The oldest ones are evicted when all together are too large.
import type { Clock } from '../../base/clock.ts';
import { formatJson, parseStoredJson, type JsonValue } from '../../base/json.ts';
import { requireStorable } from '../../contracts/errors.ts';
import type { CacheBackend } from '../../contracts/cache.ts';

export interface MemoryCacheOptions {
  readonly clock: Clock;
  /** Prefix of every key; counts towards the size. */
  readonly prefix?: string;
  /** Size in bytes of all keys and values at which eviction starts. */
  readonly maxSizeBytes?: number;
}

interface CachedValue {
  readonly text: string;
  readonly sizeBytes: number;
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

const defaultMaxSizeBytes = 512 * 1024;
/** Eviction ends at this share of the maximum size, so it does not run again at once. */
const shareKept = 0.8;

/** Returns a new cache, which is lost when the process ends. */
export function createMemoryCache(options: MemoryCacheOptions): CacheBackend {
  return new MemoryCache(options);
}

class MemoryCache implements CacheBackend {
  readonly name = 'memory';
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #maxSizeBytes: number;
  /** In the order of their writes, the oldest first. */
  readonly #values = new Map<string, CachedValue>();
  #sizeBytes = 0;

  constructor({ clock, prefix = '', maxSizeBytes = defaultMaxSizeBytes }: MemoryCacheOptions) {
    this.#clock = clock;
    this.#prefix = prefix;
    this.#maxSizeBytes = maxSizeBytes;
  }

  async set(key: string, value: JsonValue, ttlSeconds: number): Promise<void> {
    requireStorable(key);
    const name = this.#prefix + key;
    const text = formatJson(value);
    const sizeBytes = Buffer.byteLength(name) + Buffer.byteLength(text);
    this.#remove(name);
    // A value that would evict everything else is not stored.
    if (sizeBytes > this.#maxSizeBytes * shareKept) return;
    this.#values.set(name, { text, sizeBytes, expiresAt: this.#expiry(ttlSeconds) });
    this.#sizeBytes += sizeBytes;
    if (this.#sizeBytes > this.#maxSizeBytes) this.#evict();
  }

  async get(key: string): Promise<JsonValue | undefined> {
    const cached = this.#find(key);
    return cached === undefined ? undefined : parseStoredJson(cached.text);
  }

  async delete(key: string): Promise<JsonValue | undefined> {
    const cached = this.#find(key);
    this.#remove(this.#prefix + key);
    return cached === undefined ? undefined : parseStoredJson(cached.text);
  }

  async advance(key: string, by: number, from: number, ttlSeconds: number): Promise<number> {
    const cached = this.#find(key);
    const moment = Math.max(from, cached === undefined ? from : Number(cached.text)) + by;
    await this.set(key, moment, ttlSeconds);
    return moment;
  }

  async expire(key: string, ttlSeconds: number): Promise<void> {
    const cached = this.#find(key);
    if (cached !== undefined) this.#values.set(this.#prefix + key, { ...cached, expiresAt: this.#expiry(ttlSeconds) });
  }

  async flush(): Promise<void> {
    this.#values.clear();
    this.#sizeBytes = 0;
  }

  async initializeSchema(): Promise<readonly string[]> {
    return [];
  }

  async close(): Promise<void> {
    await this.flush();
  }

  #expiry(ttlSeconds: number): number {
    return this.#clock.now() + ttlSeconds * 1000;
  }

  #find(key: string): CachedValue | undefined {
    const name = this.#prefix + key;
    const cached = this.#values.get(name);
    if (cached === undefined || cached.expiresAt > this.#clock.now()) return cached;
    this.#remove(name);
    return undefined;
  }

  #remove(name: string): void {
    const cached = this.#values.get(name);
    if (cached === undefined) return;
    this.#values.delete(name);
    this.#sizeBytes -= cached.sizeBytes;
  }

  /** Removes expired values first, then the oldest. */
  #evict(): void {
    const now = this.#clock.now();
    for (const [name, { expiresAt }] of this.#values) if (expiresAt <= now) this.#remove(name);
    for (const name of this.#values.keys()) {
      if (this.#sizeBytes <= this.#maxSizeBytes * shareKept) break;
      this.#remove(name);
    }
  }
}
