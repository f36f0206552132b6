// Who waits for something that one can have at a time. Whoever has had it for the shortest time is next, and what waits for
// one party does so in the order in which it came: who takes much waits longer, and others hardly notice.

interface Party<T> {
  /** The next one first. */
  readonly items: T[];
  /** What it has had, beyond what everybody has had who was there all the time; in the unit of `charge`. */
  spent: number;
}

/** Parties that wait for nothing are remembered while there are no more than so many. */
const mostParties = 1000;

export class FairQueue<T> {
  readonly #parties = new Map<string | undefined, Party<T>>();
  #length = 0;
  /** How many parties wait. */
  #waiting = 0;
  /**
   * What somebody would have had who had waited all the time and got a fair share. Who comes now begins there, with no claim to
   * what others had before; and as it rises with all that is given away, those who keep coming pass nobody for ever.
   */
  #level = 0;

  get length(): number {
    return this.#length;
  }

  /** @param name of the party; `undefined`: nobody in particular, which counts as one */
  push(name: string | undefined, item: T): void {
    const party = this.#party(name);
    if (party.items.length === 0) {
      party.spent = Math.max(party.spent, this.#level);
      this.#waiting++;
    }
    party.items.push(item);
    this.#length++;
  }

  /** Takes the next; `undefined` when there is none. */
  shift(): T | undefined {
    let next: Party<T> | undefined;
    for (const party of this.#parties.values()) {
      if (party.items.length > 0 && (next === undefined || party.spent < next.spent)) next = party;
    }
    if (next === undefined) return undefined;
    this.#level = Math.max(this.#level, next.spent);
    this.#length--;
    if (next.items.length === 1) this.#waiting--;
    return next.items.shift();
  }

  /** Counts what a party has had. Where nobody waits there is nothing to share, and all is forgotten. */
  charge(name: string | undefined, cost: number): void {
    if (this.#waiting === 0) {
      this.#parties.clear();
      return;
    }
    const party = this.#party(name);
    party.spent += cost;
    this.#level += cost / (this.#waiting + (party.items.length === 0 ? 1 : 0));
  }

  /** Takes all. */
  clear(): readonly T[] {
    const all = [...this.#parties.values()].flatMap(({ items }) => items);
    this.#parties.clear();
    this.#length = 0;
    this.#waiting = 0;
    return all;
  }

  #party(name: string | undefined): Party<T> {
    const known = this.#parties.get(name);
    if (known !== undefined) return known;
    if (this.#parties.size >= mostParties) this.#forgetIdle();
    const party = { items: [], spent: this.#level };
    this.#parties.set(name, party);
    return party;
  }

  #forgetIdle(): void {
    for (const [name, { items }] of this.#parties) if (items.length === 0) this.#parties.delete(name);
  }
}
