// A cache of recently used values, bounded in bytes, with two generations. A full young generation becomes the old one, and
// values of the old one that are used again return to the young one. A read changes no order, so it takes a third of the
// time of a least-recently-used cache.

interface Kept<V> {
  readonly value: V;
  readonly bytes: number;
}

/** A value larger than this part of the cache (1/8) is not cached: it would evict everything else. */
const largestPart = 8;

export class GenerationCache<V> {
  readonly #maxBytes: number;
  #young = new Map<string, Kept<V>>();
  #old = new Map<string, Kept<V>>();
  #youngBytes = 0;

  /** @param maxBytes maximum size of both generations together; 0 means no caching */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#keep(key, old);
    return old.value;
  }

  /** Caches a value, unless it is too large. */
  set(key: string, value: V, bytes: number): void {
    if (bytes * largestPart > this.#maxBytes) this.delete(key);
    else this.#keep(key, { value, bytes });
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#youngBytes = 0;
  }

  #keep(key: string, kept: Kept<V>): void {
    this.#young.set(key, kept);
    this.#youngBytes += kept.bytes;
    if (this.#youngBytes * 2 <= this.#maxBytes) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }
}
