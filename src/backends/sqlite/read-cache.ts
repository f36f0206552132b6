// What reads of committed state have found, kept for as long as it is true. Three rules make it so:
//
// 1. Whatever stands here was read in the snapshot that short reads share, or in an earlier one, and the two say the same
//    about it. It is read and written only while that snapshot is open (`Snapshots`), never across an `await`.
// 2. A unit of work notes what it changes in the `Changes` of its group, before it does, and whether or not it is undone
//    later. All of that is forgotten in the same moment in which reads move on to a snapshot with the commit of the group.
// 3. When anybody else has committed to the file, everything is forgotten before the first read that sees it.
//
// Where a unit cannot say cheaply what it changes, it says "everything". So what is forgotten may be too much, never too
// little. Things that are not there are not remembered, except entries and memberships, of which there may be none.
//
// Entries and memberships that are too many to be kept are known in part: a principal that was asked about is in or not.
import { GenerationCache } from '../../base/generation-cache.ts';
import { StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { PageText } from '../../contracts/storage.ts';
import type { StoredListRow } from './lists.ts';

/** A part of a list, and the row of the list as it was remembered then: the two go together. */
export interface CachedPage {
  readonly row: StoredListRow;
  readonly page: PageText;
}

/**
 * Stands for entries or memberships that are too many to be kept. Another one each time that they are read, and what was
 * found out about them belongs to it: when they are forgotten, nothing that is remembered can be reached any more.
 */
export class TooMany {
  static #count = 0;
  readonly number = ++TooMany.#count;
}

/** Characters and, for each text, object and place in the table, about as many bytes as they take. */
const bytesOfFact = 400;
const bytesOfText = 120;
/** A group that changes more than this has changed everything. */
const mostChanges = 10_000;
const defaultMostPrincipals = 200;

export class ReadCache {
  readonly #lists: GenerationCache<StoredListRow>;
  readonly #objects: GenerationCache<StoredObject>;
  readonly #pages: GenerationCache<CachedPage>;
  readonly #entries: GenerationCache<ObjectPermissions | TooMany>;
  readonly #principals: GenerationCache<readonly string[] | TooMany>;
  readonly #answers: GenerationCache<boolean>;
  /** More principals in the entries of one object, or more groups of one user, are not kept. */
  readonly mostPrincipals: number;

  /** @param maxBytes about how much all of it may take; 0: nothing is remembered */
  constructor(maxBytes: number, mostPrincipals: number = defaultMostPrincipals) {
    this.mostPrincipals = mostPrincipals;
    this.#objects = new GenerationCache(maxBytes * 0.35);
    this.#pages = new GenerationCache(maxBytes * 0.33);
    this.#entries = new GenerationCache(maxBytes * 0.15);
    this.#lists = new GenerationCache(maxBytes * 0.1);
    this.#principals = new GenerationCache(maxBytes * 0.05);
    this.#answers = new GenerationCache(maxBytes * 0.02);
  }

  /** The row of the list, from memory or else from the database. */
  listRow(list: ListKey, read: () => StoredListRow | undefined): StoredListRow | undefined {
    const key = keyOfList(list);
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const row = read();
    if (row !== undefined) this.#lists.set(key, row, key.length + bytesOfFact);
    return row;
  }

  /** The live object. What its attributes are parsed into is not kept with it. */
  object(list: ListKey, id: string, read: () => StoredObject | undefined): StoredObject | undefined {
    const key = keyOfObject(list, id);
    const known = this.#objects.get(key);
    if (known !== undefined) return copyOf(known);
    const object = read();
    if (object !== undefined) this.#objects.set(key, copyOf(object), key.length + object.text.length + bytesOfFact);
    return object;
  }

  /** A part of a list that has been kept, if nothing of the list has changed since. */
  page(list: ListKey, part: string, row: StoredListRow): PageText | undefined {
    const known = this.#pages.get(keyOfObject(list, part));
    // Another row, even one that says the same, was read later: something may have changed in between.
    return known?.row === row ? known.page : undefined;
  }

  /** Keeps a part of a list. */
  keepPage(list: ListKey, part: string, remembered: CachedPage): void {
    const key = keyOfObject(list, part);
    this.#pages.set(key, remembered, key.length + remembered.page.text.length + bytesOfFact);
  }

  /** All entries of an object, unless they are too many. */
  entries(objectId: string, read: () => ObjectPermissions | TooMany): ObjectPermissions | TooMany {
    const known = this.#entries.get(objectId);
    if (known !== undefined) return known;
    const entries = read();
    let size = objectId.length;
    if (!(entries instanceof TooMany)) {
      for (const [permission, principals] of Object.entries(entries)) size += permission.length + textSize(principals);
    }
    this.#entries.set(objectId, entries, size + bytesOfFact);
    return entries;
  }

  /** What a user, or `system.Authenticated`, was given by itself, unless it is too much. */
  principals(userId: string, read: () => readonly string[] | TooMany): readonly string[] | TooMany {
    const known = this.#principals.get(userId);
    if (known !== undefined) return known;
    const principals = read();
    const size = userId.length + (principals instanceof TooMany ? 0 : textSize(principals));
    this.#principals.set(userId, principals, size + bytesOfFact);
    return principals;
  }

  /**
   * Whether any of the texts belongs to what is too much to be kept.
   *
   * @param part of it that is meant, such as one of many entries; may be empty
   * @param read which of the texts do: those that nobody has asked for yet, and only when none of the others does
   */
  hasAny(
    whole: TooMany,
    part: string,
    texts: readonly string[],
    read: (unknown: readonly string[]) => readonly string[],
  ): boolean {
    const prefix = `${whole.number} ${part.length} ${part}`;
    const unknown: string[] = [];
    for (const text of texts) {
      const known = this.#answers.get(prefix + text);
      if (known === true) return true;
      if (known === undefined) unknown.push(text);
    }
    if (unknown.length === 0) return false;
    const found = new Set(read(unknown));
    for (const text of unknown) {
      const key = prefix + text;
      this.#answers.set(key, found.has(text), key.length + bytesOfText);
    }
    return found.size > 0;
  }

  /** Forgets what a group of units of work has changed. */
  forget(changes: Changes): void {
    if (changes.isEverything) {
      this.forgetAll();
      return;
    }
    for (const key of changes.lists) this.#lists.delete(key);
    for (const key of changes.objects) this.#objects.delete(key);
    for (const objectId of changes.entries) this.#entries.delete(objectId);
    for (const userId of changes.principals) this.#principals.delete(userId);
  }

  forgetAll(): void {
    for (const shelf of [this.#lists, this.#objects, this.#pages, this.#entries, this.#principals, this.#answers]) {
      shelf.clear();
    }
  }
}

/** What the units of one group change. */
export class Changes {
  #isEverything = false;
  readonly lists = new Set<string>();
  readonly objects = new Set<string>();
  readonly entries = new Set<string>();
  readonly principals = new Set<string>();

  get isEverything(): boolean {
    return this.#isEverything;
  }

  /** The clock, the counts or the contents of a list. Every change of an object is one of its list as well. */
  ofList(list: ListKey): void {
    this.#add(this.lists, keyOfList(list));
  }

  /** An object that may have been there before. */
  ofObject(list: ListKey, id: string): void {
    this.ofList(list);
    this.#add(this.objects, keyOfObject(list, id));
  }

  /** Entries of an object. */
  ofEntries(objectId: string): void {
    this.#add(this.entries, objectId);
  }

  /** What a user was given. */
  ofPrincipals(userId: string): void {
    this.#add(this.principals, userId);
  }

  /** Anything. */
  ofEverything(): void {
    this.#isEverything = true;
    for (const keys of [this.lists, this.objects, this.entries, this.principals]) keys.clear();
  }

  #add(keys: Set<string>, key: string): void {
    if (this.#isEverything) return;
    keys.add(key);
    if (keys.size > mostChanges) this.ofEverything();
  }
}

/** A text of its own for each list: with the length before it, no two are alike. */
export function keyOfList({ kind, parent }: ListKey): string {
  return `${kind.length} ${kind}${parent}`;
}

/** The same for each object, or part, of a list. */
export function keyOfObject({ kind, parent }: ListKey, id: string): string {
  return `${kind.length} ${parent.length} ${kind}${parent}${id}`;
}

function copyOf({ id, lastModified, text }: StoredObject): StoredObject {
  return new StoredObject(id, lastModified, text);
}

function textSize(texts: readonly string[]): number {
  let size = 0;
  for (const text of texts) size += bytesOfText + text.length;
  return size;
}
