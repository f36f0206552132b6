// A cache of the most recently used values, bounded in bytes. The caller states the size of each value.
import { LRUCache } from 'lru-cache';

/** By default, a value larger than this part of the cache (1/8) is not cached: it would evict too many others. */
const defaultLargestPart = 8;

export class ByteCache<V extends object | boolean | number> {
  readonly #values: LRUCache<string, V> | undefined;

  /** @param maxBytes maximum size of all values together; 0 means no caching */
  constructor(maxBytes: number, largestPart: number = defaultLargestPart) {
    const maxSize = Math.floor(maxBytes);
    const maxEntrySize = Math.floor(maxBytes / largestPart);
    this.#values = maxEntrySize < 1 ? undefined : new LRUCache({ maxSize, maxEntrySize });
  }

  get(key: string): V | undefined {
    return this.#values?.get(key);
  }

  /** Caches a value. One that is too large is not cached, and neither is the value before it. */
  set(key: string, value: V, bytes: number): void {
    this.#values?.set(key, value, { size: bytes });
  }

  delete(key: string): void {
    this.#values?.delete(key);
  }

  clear(): void {
    this.#values?.clear();
  }
}
