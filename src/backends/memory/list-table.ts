// All lists with their clocks and contents, and the only code that changes them. Every change belongs to a unit of work,
// which can undo it. The indexes always agree with the maps.
import type { Steps } from '../../base/steps.ts';
import { requireStorable } from '../../contracts/errors.ts';
import type { Deletion } from '../../contracts/storage.ts';
import { emptyState, moveClock, moveHorizon, type ListChange, type ListState } from '../../core/lists/list-state.ts';
import type { ListKey, StoredObject, Tombstone } from '../../core/objects/stored.ts';
import type { ListParent, ObjectUri } from '../../core/objects/uris.ts';
import { createIdMap, createNumberMap, createTextMap, pairsWithPrefix, type OrderedMap } from './ordered-map.ts';
import { IndexedObject, KeyMaps } from './key-maps.ts';
import type { MemoryUnit } from './unit-queue.ts';

/** Number of objects that become tombstones without a pause. */
const removalsPerStep = 500;

/** Live objects and tombstones of one list, in the order of their ids and in that of their timestamps. */
export class ListContents {
  /** Live objects by id, unordered, for single look-ups. */
  readonly live: Map<string, StoredObject>;
  readonly liveById: OrderedMap<string, StoredObject>;
  readonly liveByTime: OrderedMap<number, StoredObject>;
  readonly dead: OrderedMap<string, Tombstone>;
  readonly deadByTime: OrderedMap<number, Tombstone>;
  /** Live objects by their keys in declared indexes. */
  readonly byKey: KeyMaps;

  /** @param other contents to begin with: the ordered maps are copied, which costs nothing, and `live` is shared */
  constructor(other?: ListContents) {
    this.live = other?.live ?? new Map<string, StoredObject>();
    this.liveById = other?.liveById.clone() ?? createIdMap();
    this.liveByTime = other?.liveByTime.clone() ?? createNumberMap();
    this.dead = other?.dead.clone() ?? createIdMap();
    this.deadByTime = other?.deadByTime.clone() ?? createNumberMap();
    this.byKey = new KeyMaps(other?.byKey);
  }

  get isEmpty(): boolean {
    return this.live.size === 0 && this.dead.size === 0;
  }
}

/** The contents of all empty lists, which are many after the deletion of a bucket. A list gets its own with its first entry. */
const noContents = new ListContents();

/** One list. */
export interface ObjectList extends ListKey, ListState {
  readonly contents: ListContents;
  /** Changes with each change of the contents, and is never the same in two lists. */
  readonly version: number;
}

/** What a write does to clock and horizon. */
type Move = Pick<ListChange, 'clock' | 'horizon'>;

class MutableList implements ObjectList {
  readonly kind: string;
  readonly parent: ListParent;
  clock: number | undefined = undefined;
  horizon = 0;
  contents = noContents;
  version: number;

  constructor({ kind, parent }: ListKey, version: number) {
    this.kind = kind;
    this.parent = parent;
    this.version = version;
  }

  get live(): number {
    return this.contents.live.size;
  }

  get dead(): number {
    return this.contents.dead.size;
  }
}

type ListsByParent = Map<string, MutableList>;

export class ListTable {
  /** kind → parent → list. */
  #kinds = new Map<string, ListsByParent>();
  /** parent → lists with contents, ordered, so that a cascade visits nothing but the lists below its URI. */
  #filled = createTextMap<Set<MutableList>>();
  #lastVersion = 0;
  #flushes = 0;

  /** How often all lists were deleted. */
  get flushes(): number {
    return this.#flushes;
  }

  find(key: ListKey): ObjectList | undefined {
    return this.#find(key);
  }

  /** Returns all lists of a kind, or of all kinds. */
  *lists(kind?: string): Iterable<ObjectList> {
    const kinds = kind === undefined ? [...this.#kinds.values()] : [this.#kinds.get(kind)];
    for (const byParent of kinds) if (byParent !== undefined) yield* byParent.values();
  }

  /** Returns the lists with contents whose parent is the URI or lies below it. */
  listsBelow(uri: ObjectUri): readonly ObjectList[] {
    const exact = this.#filled.get(uri);
    const below = pairsWithPrefix(this.#filled, `${uri}/`);
    return [...(exact ?? []), ...below.flatMap(([, lists]) => [...lists])];
  }

  /** Moves clock and horizon on, and creates the list when it is absent. */
  move(key: ListKey, move: Move, unit: MemoryUnit): void {
    const list = this.#ensure(key, unit);
    this.#record(list, move, unit);
  }

  /**
   * Stores a live object, in place of the object or tombstone of that id.
   *
   * @param move what the write does to clock and horizon
   * @param isFresh neither exists
   */
  put(key: ListKey, given: StoredObject, move: Move, unit: MemoryUnit, isFresh = false): void {
    const object = given.keys === undefined ? given : new IndexedObject(given, given.keys);
    requireStorable(object.id);
    // JSON text is storable: what is not is escaped in it. This joins the parts of a small text, which takes less memory than
    // the parts. A large one stays in parts: its history entry shares them, and a copy would take as long as the write.
    if (!object.isLarge) requireStorable(object.text);
    const list = this.#ensure(key, unit);
    const { live, dead } = list.contents;
    const before = isFresh ? undefined : live.get(object.id);
    const tombstone = isFresh ? undefined : dead.get(object.id);
    if (before !== undefined) this.#dropLive(list, before);
    if (tombstone !== undefined) this.#dropDead(list, tombstone);
    this.#addLive(list, object);
    this.#record(list, move, unit, () => {
      this.#dropLive(list, object);
      if (before !== undefined) this.#addLive(list, before);
      if (tombstone !== undefined) this.#addDead(list, tombstone);
    });
  }

  /**
   * Removes a live object, and stores the tombstone when one is given.
   *
   * @param move what the write does to clock and horizon
   */
  remove(key: ListKey, object: StoredObject, tombstone: Tombstone | undefined, move: Move, unit: MemoryUnit): void {
    const list = this.#ensure(key, unit);
    this.#dropLive(list, object);
    if (tombstone !== undefined) this.#addDead(list, tombstone);
    this.#record(list, move, unit, () => {
      if (tombstone !== undefined) this.#dropDead(list, tombstone);
      this.#addLive(list, object);
    });
  }

  /**
   * Replaces many live objects by their tombstones. Most of the work is done in steps, on copies that no reader sees. The
   * last step puts the copies in place.
   */
  *removeAll(key: ListKey, deletions: readonly Deletion[], unit: MemoryUnit): Steps<void> {
    const list = this.#ensure(key, unit);
    const before = list.contents;
    const after = new ListContents(before);
    for (const [index, { old, tombstone }] of deletions.entries()) {
      if (index > 0 && index % removalsPerStep === 0) yield;
      after.liveById.delete(old.id);
      after.liveByTime.delete(old.lastModified);
      after.byKey.drop(old);
      after.dead.set(tombstone.id, tombstone);
      after.deadByTime.set(tombstone.lastModified, tombstone);
    }
    for (const { old } of deletions) before.live.delete(old.id);
    list.contents = after;
    this.#change(list);
    unit.record(() => {
      for (const { old } of deletions) before.live.set(old.id, old);
      list.contents = before;
      this.#change(list);
    });
  }

  /** Stores the tombstone of an id that has neither an object nor a tombstone. */
  mark(key: ListKey, tombstone: Tombstone, unit: MemoryUnit): void {
    requireStorable(tombstone.id);
    const list = this.#ensure(key, unit);
    this.#addDead(list, tombstone);
    unit.record(() => this.#dropDead(list, tombstone));
  }

  /** Deletes a tombstone. */
  forget(key: ListKey, tombstone: Tombstone, unit: MemoryUnit): void {
    const list = this.#ensure(key, unit);
    this.#dropDead(list, tombstone);
    unit.record(() => this.#addDead(list, tombstone));
  }

  /** Empties a list together with its parent, in one step whatever its size. */
  empty(key: ListKey, now: number, unit: MemoryUnit): void {
    const list = key instanceof MutableList ? key : this.#ensure(key, unit);
    const contents = list.contents;
    const state = emptyState(list, now);
    this.#unfill(list);
    list.contents = noContents;
    this.#change(list);
    this.#record(list, state, unit, () => {
      list.contents = contents;
      this.#change(list);
      if (!contents.isEmpty) this.#fill(list);
    });
  }

  /** Deletes all lists with their clocks. */
  flush(unit: MemoryUnit): void {
    const [kinds, filled] = [this.#kinds, this.#filled];
    this.#kinds = new Map();
    this.#filled = createTextMap();
    this.#flushes++;
    unit.record(() => {
      this.#flushes--;
      this.#kinds = kinds;
      this.#filled = filled;
    });
  }

  #find({ kind, parent }: ListKey): MutableList | undefined {
    return this.#kinds.get(kind)?.get(parent);
  }

  #ensure(key: ListKey, unit: MemoryUnit): MutableList {
    const known = this.#find(key);
    if (known !== undefined) return known;
    const { kind, parent } = key;
    requireStorable(parent);
    let byParent = this.#kinds.get(kind);
    if (byParent === undefined) this.#kinds.set(kind, (byParent = new Map()));
    const list = new MutableList(key, ++this.#lastVersion);
    byParent.set(parent, list);
    unit.record(() => this.#kinds.get(kind)?.delete(parent));
    return list;
  }

  /** Moves clock and horizon on, and records how the unit undoes the write. */
  #record(list: MutableList, move: Move, unit: MemoryUnit, undo?: () => void): void {
    const { clock, horizon } = list;
    list.clock = moveClock(clock, move.clock);
    list.horizon = moveHorizon(horizon, move.horizon);
    unit.record(() => {
      list.clock = clock;
      list.horizon = horizon;
      undo?.();
    });
  }

  #change(list: MutableList): void {
    list.version = ++this.#lastVersion;
  }

  #addLive(list: MutableList, object: StoredObject): void {
    this.#change(list);
    if (list.contents.isEmpty) this.#fill(list);
    list.contents.live.set(object.id, object);
    list.contents.liveById.set(object.id, object);
    list.contents.liveByTime.set(object.lastModified, object);
    list.contents.byKey.add(object);
  }

  #dropLive(list: MutableList, object: StoredObject): void {
    this.#change(list);
    list.contents.live.delete(object.id);
    list.contents.liveById.delete(object.id);
    list.contents.liveByTime.delete(object.lastModified);
    list.contents.byKey.drop(object);
    if (list.contents.isEmpty) this.#unfill(list);
  }

  #addDead(list: MutableList, tombstone: Tombstone): void {
    this.#change(list);
    if (list.contents.isEmpty) this.#fill(list);
    list.contents.dead.set(tombstone.id, tombstone);
    list.contents.deadByTime.set(tombstone.lastModified, tombstone);
  }

  #dropDead(list: MutableList, tombstone: Tombstone): void {
    this.#change(list);
    list.contents.dead.delete(tombstone.id);
    list.contents.deadByTime.delete(tombstone.lastModified);
    if (list.contents.isEmpty) this.#unfill(list);
  }

  #fill(list: MutableList): void {
    if (list.contents.live === noContents.live) list.contents = new ListContents();
    const lists = this.#filled.get(list.parent);
    if (lists === undefined) this.#filled.set(list.parent, new Set([list]));
    else lists.add(list);
  }

  #unfill(list: MutableList): void {
    const lists = this.#filled.get(list.parent);
    if (lists?.delete(list) && lists.size === 0) this.#filled.delete(list.parent);
  }
}
