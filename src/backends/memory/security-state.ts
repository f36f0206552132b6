// The contract of security state in memory, for services whose objects are in memory too. It is lost with the process.
import type { Clock } from '../../base/clock.ts';
import { SecurityStateFull } from '../../contracts/errors.ts';
import type { SecurityEntry, SecurityKey, SecurityState, SecurityStateLimits } from '../../contracts/security-state.ts';
import { createNumberMap } from './ordered-map.ts';

export interface MemorySecurityStateOptions extends SecurityStateLimits {
  readonly clock: Clock;
}

interface Live {
  readonly requester: string | undefined;
  /** A number is the count of a counter. */
  value: string | number;
  readonly expiresAt: number;
}

/** The entries of one purpose. */
class Partition {
  readonly entries = new Map<string, Live>();
  readonly #counts = new Map<string, number>();
  /** Keys by the time at which their entries expire. */
  readonly #expiries = createNumberMap<Set<string>>();

  countOf(requester: string): number {
    return this.#counts.get(requester) ?? 0;
  }

  set(key: string, entry: Live): void {
    this.remove(key);
    const { requester, expiresAt } = entry;
    this.entries.set(key, entry);
    if (requester !== undefined) this.#counts.set(requester, this.countOf(requester) + 1);
    const keys = this.#expiries.get(expiresAt);
    if (keys === undefined) this.#expiries.set(expiresAt, new Set([key]));
    else keys.add(key);
  }

  remove(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    const { requester, expiresAt } = entry;
    if (requester !== undefined) {
      const left = this.countOf(requester) - 1;
      if (left > 0) this.#counts.set(requester, left);
      else this.#counts.delete(requester);
    }
    const keys = this.#expiries.get(expiresAt);
    keys?.delete(key);
    if (keys?.size === 0) this.#expiries.delete(expiresAt);
  }

  removeExpired(now: number): void {
    for (let first = this.#expiries.minKey(); first !== undefined && first <= now; first = this.#expiries.minKey()) {
      for (const key of this.#expiries.get(first) ?? []) this.remove(key);
    }
  }
}

/** Creates an empty store, which is lost when the process ends. */
export function createMemorySecurityState(options: MemorySecurityStateOptions): SecurityState {
  return new MemorySecurityState(options);
}

class MemorySecurityState implements SecurityState {
  readonly name = 'memory';
  readonly #clock: Clock;
  readonly #limits: SecurityStateLimits;
  readonly #partitions = new Map<string, Partition>();

  constructor({ clock, ...limits }: MemorySecurityStateOptions) {
    this.#clock = clock;
    this.#limits = limits;
  }

  async increment(
    entry: SecurityEntry,
    { limit, ttlSeconds }: { readonly limit: number; readonly ttlSeconds: number },
  ): Promise<number | undefined> {
    const known = this.#find(entry);
    if (known === undefined) {
      this.#insert(entry, 1, ttlSeconds);
      return undefined;
    }
    const count = Number(known.value);
    if (count >= limit) return (known.expiresAt - this.#clock.now()) / 1000;
    known.value = count + 1;
    return undefined;
  }

  async decrement(key: SecurityKey): Promise<void> {
    const known = this.#find(key);
    if (known === undefined) return;
    if (Number(known.value) > 1) known.value = Number(known.value) - 1;
    else this.#partition(key).remove(key.key);
  }

  async put(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<void> {
    const known = this.#find(entry);
    if (known === undefined) this.#insert(entry, value, ttlSeconds);
    else this.#set(entry, { ...known, value, expiresAt: this.#expiry(ttlSeconds) });
  }

  async add(entry: SecurityEntry, value: string, ttlSeconds: number): Promise<boolean> {
    if (this.#find(entry) !== undefined) return false;
    this.#insert(entry, value, ttlSeconds);
    return true;
  }

  async get(key: SecurityKey): Promise<string | undefined> {
    const known = this.#find(key);
    return known === undefined ? undefined : String(known.value);
  }

  async replace(key: SecurityKey, from: string, to: string): Promise<boolean> {
    const known = this.#find(key);
    if (known === undefined || known.value !== from) return false;
    known.value = to;
    return true;
  }

  async take(key: SecurityKey, value: string): Promise<boolean> {
    if (this.#find(key)?.value !== value) return false;
    this.#partition(key).remove(key.key);
    return true;
  }

  async remove(key: SecurityKey): Promise<void> {
    this.#partition(key).remove(key.key);
  }

  async flush(): Promise<void> {
    this.#partitions.clear();
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

  #find(key: SecurityKey): Live | undefined {
    const known = this.#partitions.get(key.purpose)?.entries.get(key.key);
    return known !== undefined && known.expiresAt > this.#clock.now() ? known : undefined;
  }

  #insert(entry: SecurityEntry, value: string | number, ttlSeconds: number): void {
    const { purpose, requester, maxPerRequester = Infinity, isBoundElsewhere = false } = entry;
    const partition = this.#partition(entry);
    partition.removeExpired(this.#clock.now());
    const share = Math.min(maxPerRequester, this.#limits.maxEntriesPerRequester);
    if (requester !== undefined && partition.countOf(requester) >= share) {
      throw new SecurityStateFull(purpose, 'requester', ttlSeconds);
    }
    const isFull = !isBoundElsewhere && partition.entries.size >= this.#limits.maxEntries;
    if (isFull) throw new SecurityStateFull(purpose, 'purpose', ttlSeconds);
    this.#set(entry, { requester, value, expiresAt: this.#expiry(ttlSeconds) });
  }

  #set(key: SecurityKey, entry: Live): void {
    this.#partition(key).set(key.key, entry);
  }

  #partition({ purpose }: Pick<SecurityKey, 'purpose'>): Partition {
    let partition = this.#partitions.get(purpose);
    if (partition === undefined) {
      partition = new Partition();
      this.#partitions.set(purpose, partition);
    }
    return partition;
  }
}
