// A fair queue for an exclusive resource. The next item belongs to the group that has used the resource least, and in it to the
// party that has. Items of one party keep their order. Heavy users yield to light ones, and many users of one network, whose
// names may be those of one person, to those of others.

/** Use of the resource by a party or a group. */
interface Share {
  /** In the unit of `charge`; comparable within one `Level`. */
  spent: number;
}

/** What the shares of one level have spent together. */
class Level {
  /**
   * Use of a share that had waited all the time and received a fair part. A new share starts here, without a claim to earlier
   * parts. It rises with every charge, so a stream of new shares cannot starve a waiting one.
   */
  value = 0;
  /** Number of shares with waiting items. */
  waiting = 0;

  enter(share: Share): void {
    share.spent = Math.max(share.spent, this.value);
    this.waiting++;
  }

  serve(share: Share): void {
    this.value = Math.max(this.value, share.spent);
  }

  charge(share: Share, cost: number, isWaiting: boolean): void {
    share.spent += cost;
    this.value += cost / (this.waiting + (isWaiting ? 0 : 1));
  }
}

interface Group extends Share {
  readonly ofParties: Level;
  /** Number of known parties. */
  parties: number;
  /** Number of waiting items. */
  length: number;
}

interface Party<T> extends Share {
  readonly group: Group;
  /** In order of arrival. */
  readonly items: T[];
}

/** Number of known parties from which on those without waiting items are forgotten. */
const maxParties = 1000;

/** Returns the group of a party: what stands before the first space of its name, or the whole name. */
export function groupOf(name: string | undefined): string | undefined {
  const end = name?.indexOf(' ') ?? -1;
  return end === -1 ? name : name!.slice(0, end);
}

export class FairQueue<T> {
  readonly #parties = new Map<string | undefined, Party<T>>();
  readonly #groups = new Map<string | undefined, Group>();
  readonly #ofGroups = new Level();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /**
   * @param name name of the party, after that of its group and a space; all callers without a name (`undefined`) are one party
   */
  push(name: string | undefined, item: T): void {
    const party = this.#party(name);
    const { group } = party;
    if (group.length++ === 0) this.#ofGroups.enter(group);
    if (party.items.push(item) === 1) group.ofParties.enter(party);
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
    this.#ofGroups.serve(next.group);
    next.group.ofParties.serve(next);
    return this.#take(next, 0);
  }

  /** Removes an item that waits; has no effect when it does not. */
  remove(name: string | undefined, item: T): void {
    const party = this.#parties.get(name);
    const index = party?.items.indexOf(item) ?? -1;
    if (party !== undefined && index !== -1) this.#take(party, index);
  }

  /** Whether others have so many items that the named party may take the place of one of them. */
  canDisplace(name: string | undefined): boolean {
    return this.#longest(name) !== undefined;
  }

  /**
   * Removes and returns the last item of the party with the most, in the group with the most; `undefined` when the named party
   * `canDisplace` none.
   */
  displace(name: string | undefined): T | undefined {
    const longest = this.#longest(name);
    return longest && this.#take(longest, longest.items.length - 1);
  }

  /** Adds to the use of a party. Forgets all use when no party waits, because then no share is contested. */
  charge(name: string | undefined, cost: number): void {
    if (this.#length === 0) {
      this.#parties.clear();
      this.#groups.clear();
      return;
    }
    const party = this.#party(name);
    const { group } = party;
    this.#ofGroups.charge(group, cost, group.length > 0);
    group.ofParties.charge(party, cost, party.items.length > 0);
  }

  /** Removes and returns all items. */
  clear(): readonly T[] {
    const all = [...this.#parties.values()].flatMap(({ items }) => items);
    this.#parties.clear();
    this.#groups.clear();
    this.#ofGroups.waiting = 0;
    this.#length = 0;
    return all;
  }

  #take(party: Party<T>, index: number): T {
    const { group, items } = party;
    const item = index === 0 ? items.shift() : items.splice(index, 1)[0];
    if (items.length === 0) group.ofParties.waiting--;
    if (--group.length === 0) this.#ofGroups.waiting--;
    this.#length--;
    return item!;
  }

  #nextParty(isReady: (name: string | undefined) => boolean = () => true): Party<T> | undefined {
    let next: Party<T> | undefined;
    for (const [name, party] of this.#parties) {
      if (party.items.length > 0 && (next === undefined || isBefore(party, next)) && isReady(name)) next = party;
    }
    return next;
  }

  /**
   * Returns the party with the most items, the latest of equal ones, if its group, or else the party, has more than one more
   * than those of the name.
   */
  #longest(name: string | undefined): Party<T> | undefined {
    const own = this.#groups.get(groupOf(name));
    let longest = own;
    for (const group of this.#groups.values()) {
      const difference = group.length - (longest?.length ?? 0);
      // Of equal ones the latest, because the others have waited for longer.
      if (difference > 0 || (difference === 0 && longest !== own)) longest = group;
    }
    if (longest === undefined || (longest !== own && longest.length <= (own?.length ?? 0) + 1)) return undefined;
    let length = longest === own ? (this.#parties.get(name)?.items.length ?? 0) + 2 : 1;
    let found: Party<T> | undefined;
    for (const party of this.#parties.values()) {
      if (party.group !== longest || party.items.length < length) continue;
      found = party;
      ({ length } = party.items);
    }
    return found;
  }

  #party(name: string | undefined): Party<T> {
    const known = this.#parties.get(name);
    if (known !== undefined) return known;
    if (this.#parties.size >= maxParties) this.#forgetIdle();
    const group = this.#group(groupOf(name));
    group.parties++;
    const party = { group, items: [], spent: group.ofParties.value };
    this.#parties.set(name, party);
    return party;
  }

  #group(name: string | undefined): Group {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { ofParties: new Level(), parties: 0, length: 0, spent: this.#ofGroups.value };
      this.#groups.set(name, group);
    }
    return group;
  }

  #forgetIdle(): void {
    for (const [name, { items, group }] of this.#parties) {
      if (items.length > 0) continue;
      this.#parties.delete(name);
      if (--group.parties === 0) this.#groups.delete(groupOf(name));
    }
  }
}

function isBefore<T>(a: Party<T>, b: Party<T>): boolean {
  return a.group.spent === b.group.spent ? a.spent < b.spent : a.group.spent < b.group.spent;
}
