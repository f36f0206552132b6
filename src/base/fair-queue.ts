// A fair queue for an exclusive resource. The next item belongs to the party that has used the resource least. Items of one
// party keep their order. Heavy users yield to light ones.

interface Party<T> {
  /** In order of arrival. */
  readonly items: T[];
  /** Use of the resource so far, in the unit of `charge`; comparable with `#level`. */
  spent: number;
}

/** Number of known parties from which on those without waiting items are forgotten. */
const maxParties = 1000;

export class FairQueue<T> {
  readonly #parties = new Map<string | undefined, Party<T>>();
  #length = 0;
  /** Number of parties with waiting items. */
  #waiting = 0;
  /**
   * Use of a party that had waited all the time and received a fair share. A new party starts at this level, without a claim
   * to earlier shares. The level rises with every charge, so a stream of new parties cannot starve a waiting one.
   */
  #level = 0;

  get length(): number {
    return this.#length;
  }

  /** @param name name of the party; all callers without a name (`undefined`) are one party */
  push(name: string | undefined, item: T): void {
    const party = this.#party(name);
    if (party.items.length === 0) {
      party.spent = Math.max(party.spent, this.#level);
      this.#waiting++;
    }
    party.items.push(item);
    this.#length++;
  }

  /** Returns the next item; `undefined` when the queue is empty. */
  get first(): T | undefined {
    return this.#nextParty()?.items[0];
  }

  /**
   * Removes and returns the next item; `undefined` for none.
   *
   * @param isReady whether a party may be next; default: each may
   */
  shift(isReady?: (name: string | undefined) => boolean): T | undefined {
    const next = this.#nextParty(isReady);
    if (next === undefined) return undefined;
    this.#level = Math.max(this.#level, next.spent);
    this.#length--;
    if (next.items.length === 1) this.#waiting--;
    return next.items.shift();
  }

  /** Removes an item that waits; has no effect when it does not. */
  remove(name: string | undefined, item: T): void {
    const party = this.#parties.get(name);
    const index = party?.items.indexOf(item) ?? -1;
    if (party === undefined || index === -1) return;
    party.items.splice(index, 1);
    this.#length--;
    if (party.items.length === 0) this.#waiting--;
  }

  /** Whether another party has so many items that the named one may take the place of one of them. */
  canDisplace(name: string | undefined): boolean {
    return this.#longest(name) !== undefined;
  }

  /** Removes and returns the last item of the party with the most; `undefined` when the named one `canDisplace` none. */
  displace(name: string | undefined): T | undefined {
    const longest = this.#longest(name);
    if (longest === undefined) return undefined;
    this.#length--;
    return longest.items.pop();
  }

  /** Adds to the use of a party. Forgets all use when no party waits, because then no share is contested. */
  charge(name: string | undefined, cost: number): void {
    if (this.#waiting === 0) {
      this.#parties.clear();
      return;
    }
    const party = this.#party(name);
    party.spent += cost;
    this.#level += cost / (this.#waiting + (party.items.length === 0 ? 1 : 0));
  }

  /** Removes and returns all items. */
  clear(): readonly T[] {
    const all = [...this.#parties.values()].flatMap(({ items }) => items);
    this.#parties.clear();
    this.#length = 0;
    this.#waiting = 0;
    return all;
  }

  /** Returns the party with the most items, if it still has as many as the named one after they exchange a place. */
  #longest(name: string | undefined): Party<T> | undefined {
    let longest: Party<T> | undefined;
    let length = (this.#parties.get(name)?.items.length ?? 0) + 1;
    for (const party of this.#parties.values()) {
      if (party.items.length <= length) continue;
      longest = party;
      ({ length } = party.items);
    }
    return longest;
  }

  #nextParty(isReady: (name: string | undefined) => boolean = () => true): Party<T> | undefined {
    let next: Party<T> | undefined;
    for (const [name, party] of this.#parties) {
      const isNext = party.items.length > 0 && (next === undefined || party.spent < next.spent);
      if (isNext && isReady(name)) next = party;
    }
    return next;
  }

  #party(name: string | undefined): Party<T> {
    const known = this.#parties.get(name);
    if (known !== undefined) return known;
    if (this.#parties.size >= maxParties) this.#forgetIdle();
    const party = { items: [], spent: this.#level };
    this.#parties.set(name, party);
    return party;
  }

  #forgetIdle(): void {
    for (const [name, { items }] of this.#parties) if (items.length === 0) this.#parties.delete(name);
  }
}
