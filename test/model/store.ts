// What the model remembers: lists with their clocks, objects and tombstones, and access-control entries. Timestamps are
// given out as overview.md §3.2 says.
import type { JsonMap } from './json.ts';

export interface Item {
  readonly lastModified: number;
  /** Without `id` and `last_modified`. */
  readonly data: JsonMap;
}

export interface List {
  /** `undefined`: never read nor written. */
  clock: number | undefined;
  readonly live: Map<string, Item>;
  /** Timestamps of tombstones by id. */
  readonly gone: Map<string, number>;
}

/** A file that can be read at its location. */
export interface StoredFile {
  readonly location: string;
  readonly content: string;
}

/** Principals by the name of the permission; no entry is empty. */
export type Entries = ReadonlyMap<string, ReadonlySet<string>>;

/** Two objects of a list would have one timestamp. */
export class Collision extends Error {}

export class Store {
  /** By path. */
  readonly lists: Map<string, List>;
  /** By URI of the object. */
  readonly entries: Map<string, Entries>;
  /** Page tokens of deletions that were given out and not used. */
  readonly nonces: Set<string>;
  /** By URI of the record. */
  readonly files: Map<string, StoredFile>;
  /** Of all files that there ever were. */
  readonly locations: Set<string>;

  constructor(from?: Store) {
    this.lists = new Map(
      Array.from(from?.lists ?? [], ([path, { clock, live, gone }]) => [
        path,
        { clock, live: new Map(live), gone: new Map(gone) },
      ]),
    );
    this.entries = new Map(from?.entries);
    this.nonces = new Set(from?.nonces);
    this.files = new Map(from?.files);
    this.locations = new Set(from?.locations);
  }

  list(path: string): List {
    const known = this.lists.get(path);
    if (known !== undefined) return known;
    const list: List = { clock: undefined, live: new Map(), gone: new Map() };
    this.lists.set(path, list);
    return list;
  }

  find(uri: string): Item | undefined {
    const at = uri.lastIndexOf('/');
    return this.lists.get(uri.slice(0, at))?.live.get(uri.slice(at + 1));
  }

  entriesOf(uri: string): Entries {
    return this.entries.get(uri) ?? new Map();
  }

  setEntries(uri: string, entries: Entries): void {
    const kept = [...entries].filter(([, principals]) => principals.size > 0);
    if (kept.length === 0) this.entries.delete(uri);
    else this.entries.set(uri, new Map(kept));
  }

  /** The clock of a list, which the first look at it sets going. */
  touch(path: string, now: number): number {
    const list = this.list(path);
    list.clock ??= now;
    return list.clock;
  }

  /** @throws Collision */
  put(path: string, id: string, data: JsonMap, now: number, wanted?: number): Item {
    const lastModified = this.#stamp(path, id, now, wanted);
    const item = { lastModified, data };
    const list = this.list(path);
    list.gone.delete(id);
    list.live.set(id, item);
    return item;
  }

  /**
   * A tombstone in place of the object; everything below it goes without a trace, and its entries.
   *
   * @throws Collision
   */
  remove(path: string, id: string, now: number, wanted?: number): number {
    const lastModified = this.#stamp(path, id, now, wanted);
    const list = this.list(path);
    list.live.delete(id);
    list.gone.set(id, lastModified);
    const uri = `${path}/${id}`;
    for (const known of [this.entries, this.files]) {
      for (const other of known.keys()) if (other === uri || other.startsWith(`${uri}/`)) known.delete(other);
    }
    for (const [below, child] of this.lists) {
      if (!below.startsWith(`${uri}/`)) continue;
      if (child.live.size > 0) child.clock = Math.max(now, (child.clock ?? 0) + 1);
      child.live.clear();
      child.gone.clear();
    }
    return lastModified;
  }

  #stamp(path: string, id: string, now: number, wanted: number | undefined): number {
    const list = this.list(path);
    const { clock } = list;
    const next = clock === undefined ? now : Math.max(now, clock + 1);
    const given = wanted === undefined || wanted === clock ? next : wanted;
    const others = [...list.live].filter(([other]) => other !== id).map(([, { lastModified }]) => lastModified);
    const tombs = [...list.gone].filter(([other]) => other !== id).map(([, lastModified]) => lastModified);
    if ([...others, ...tombs].includes(given)) throw new Collision();
    list.clock = Math.max(clock ?? given, given);
    return given;
  }
}
