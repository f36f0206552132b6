// Rows of committed state that were read, cached for as long as they are true. Three rules make it so:
//
// 1. Every cached row was read in the snapshot that short reads share, or in an earlier one that has the same row. The cache
//    is read and written only while that snapshot is open (`Snapshots`), never across an `await`.
// 2. A unit of work notes its changes in the `Changes` of its group, before it makes them, and whether or not it is rolled
//    back later. All of them are removed at the moment when reads move on to a snapshot with the commit of the group.
// 3. When another process has committed to the file, the cache is emptied before the first read that sees the commit.
//
// A unit that cannot cheaply name its changes notes "everything". So the cache removes too much at times, never too little.
// Absent rows are not cached, except permission entries and memberships, of which an object or a user may have none.
//
// Permission entries and memberships that are too many are cached in part: whether a principal is among them.
import { ByteCache } from '../../base/byte-cache.ts';
import { charsOf, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import { keyOfList, keyOfObject, type ListName } from '../../core/lists/list-key.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { PageText } from '../../contracts/storage.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { maxListPart, type SmallList } from '../../core/query/small-list.ts';
import type { ListRow } from './lists.ts';

/** A part of a list, and the cached row of the list at that moment. They are valid together only. */
export interface CachedPage {
  readonly row: ListRow;
  readonly page: PageText;
}

/** The live objects of a small list, and the cached row of the list at that moment; `undefined` for a list that is not small. */
export interface CachedContents {
  readonly row: ListRow;
  readonly small: SmallList | undefined;
}

/**
 * Stands for permission entries or memberships that are too many to cache. Each read makes a new one, to which the answers
 * about single principals belong. When it is removed from the cache, none of these answers can be found any more.
 */
export class TooMany {
  static #count = 0;
  readonly number = ++TooMany.#count;
}

/** Characters and, for each text, object and place in the table, about as many bytes as they take. */
const bytesOfFact = 400;
const bytesOfText = 120;
/** Bytes of the name of a list, at most, and its place. */
const bytesOfContents = 1000;
/** Maximum number of changes that a group notes one by one; beyond it, it notes everything. */
const maxChanges = 10_000;
const defaultMostPrincipals = 200;

export class ReadCache {
  readonly #lists: ByteCache<ListRow>;
  readonly #objects: ByteCache<StoredObject>;
  readonly #pages: ByteCache<CachedPage>;
  readonly #contents: ByteCache<CachedContents>;
  readonly #entries: ByteCache<ObjectPermissions | TooMany>;
  readonly #principals: ByteCache<readonly Principal[] | TooMany>;
  readonly #answers: ByteCache<boolean>;
  /** Maximum number of cached principals in the permission entries of one object, or of groups of one user. */
  readonly maxPrincipals: number;

  /** @param maxBytes approximate size of the cache; 0: nothing is cached */
  constructor(maxBytes: number, maxPrincipals: number = defaultMostPrincipals) {
    this.maxPrincipals = maxPrincipals;
    this.#objects = new ByteCache(maxBytes * 0.35);
    this.#pages = new ByteCache(maxBytes * 0.23);
    this.#contents = new ByteCache(maxBytes * 0.2, maxListPart);
    this.#entries = new ByteCache(maxBytes * 0.1);
    this.#lists = new ByteCache(maxBytes * 0.07);
    this.#principals = new ByteCache(maxBytes * 0.03);
    this.#answers = new ByteCache(maxBytes * 0.02);
  }

  /** Returns the row of the list from the cache, or else from the database. */
  listRow(list: ListKey, read: () => ListRow | undefined): ListRow | undefined {
    const key = keyOfList(list);
    const known = this.#lists.get(key);
    if (known !== undefined) return known;
    const row = read();
    if (row !== undefined) this.#lists.set(key, row, key.length + bytesOfFact);
    return row;
  }

  /** Returns the live object. Its parsed attributes are not cached. */
  object(list: ListKey, id: string, read: () => StoredObject | undefined): StoredObject | undefined {
    const key = keyOfObject(list, id);
    const known = this.#objects.get(key);
    if (known !== undefined) return copyOf(known);
    const object = read();
    if (object !== undefined) this.#objects.set(key, copyOf(object), key.length + object.text.length + bytesOfFact);
    return object;
  }

  /** Returns a cached part of a list, unless the list has changed since. */
  page(list: ListKey, part: string, row: ListRow): PageText | undefined {
    const known = this.#pages.get(keyOfObject(list, part));
    // Another row, even an equal one, was read later. The list may have changed in between.
    return known?.row === row ? known.page : undefined;
  }

  /** Caches a part of a list. */
  keepPage(list: ListKey, part: string, remembered: CachedPage): void {
    const key = keyOfObject(list, part);
    const { text, last } = remembered.page;
    const chars = text.length + (last === undefined ? 0 : charsOf(last));
    this.#pages.set(key, remembered, key.length + chars + bytesOfFact);
  }

  /** Returns the contents of a small list, unless the list has changed since. */
  contents(list: ListKey, row: ListRow): CachedContents | undefined {
    const known = this.#contents.get(keyOfList(list));
    return known?.row === row ? known : undefined;
  }

  /** Caches the contents of a list. Their parsed attributes are kept as well. */
  keepContents(list: ListKey, remembered: CachedContents): void {
    const key = keyOfList(list);
    const size = bytesOfContents + (remembered.small?.bytes ?? 0);
    this.#contents.set(key, remembered, size);
  }

  /** Returns all permission entries of an object, unless they are too many. */
  entries(objectId: ObjectUri, read: () => ObjectPermissions | TooMany): ObjectPermissions | TooMany {
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

  /** Returns the principals of a user, or of `system.Authenticated`, unless they are too many. */
  principals(userId: Principal, read: () => readonly Principal[] | TooMany): readonly Principal[] | TooMany {
    const known = this.#principals.get(userId);
    if (known !== undefined) return known;
    const principals = read();
    const size = userId.length + (principals instanceof TooMany ? 0 : textSize(principals));
    this.#principals.set(userId, principals, size + bytesOfFact);
    return principals;
  }

  /**
   * Whether any of the texts is among permission entries or memberships that are too many to cache.
   *
   * @param part names a part of them, such as one permission; may be empty
   * @param read returns the texts that are. It is called with the texts of unknown answer, when no known answer is positive
   */
  hasAny<Text extends string>(
    whole: TooMany,
    part: string,
    texts: readonly Text[],
    read: (unknown: readonly Text[]) => readonly Text[],
  ): boolean {
    const prefix = `${whole.number} ${part.length} ${part}`;
    const unknown: Text[] = [];
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

  /** Removes what a group of units of work has changed. */
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
    for (const cache of [
      this.#lists,
      this.#objects,
      this.#pages,
      this.#contents,
      this.#entries,
      this.#principals,
      this.#answers,
    ]) {
      cache.clear();
    }
  }
}

/** The changes of the units of one group. */
export class Changes {
  #isEverything = false;
  readonly lists = new Set<ListName>();
  readonly objects = new Set<string>();
  readonly entries = new Set<string>();
  readonly principals = new Set<string>();

  get isEverything(): boolean {
    return this.#isEverything;
  }

  /** Notes a change of the state or the contents of a list. Every change of an object is one of its list as well. */
  ofList(list: ListKey): void {
    this.#add(this.lists, keyOfList(list));
  }

  /** Notes a change of an object that may have existed before. */
  ofObject(list: ListKey, id: string): void {
    this.ofList(list);
    this.#add(this.objects, keyOfObject(list, id));
  }

  /** Notes a change of the permission entries of an object. */
  ofEntries(objectId: ObjectUri): void {
    this.#add(this.entries, objectId);
  }

  /** Notes a change of the principals of a user. */
  ofPrincipals(userId: Principal): void {
    this.#add(this.principals, userId);
  }

  /** Notes that anything may have changed. */
  ofEverything(): void {
    this.#isEverything = true;
    for (const keys of [this.lists, this.objects, this.entries, this.principals]) keys.clear();
  }

  #add(keys: Set<string>, key: string): void {
    if (this.#isEverything) return;
    keys.add(key);
    if (keys.size > maxChanges) this.ofEverything();
  }
}

function copyOf({ id, lastModified, text }: StoredObject): StoredObject {
  return new StoredObject(id, lastModified, text);
}

function textSize(texts: readonly string[]): number {
  let size = 0;
  for (const text of texts) size += bytesOfText + text.length;
  return size;
}
