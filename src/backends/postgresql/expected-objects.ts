// Objects that the entries of a batch will write one after another. The unit of work reads them together when the first of
// them is needed under the lock of their list, so the others cost no round trips.
import { isStorableText } from '../../base/json.ts';
import type { ExpectedObjects } from '../../contracts/database.ts';
import { keyOfList, type ListName } from '../../core/lists/list-key.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';

/** Maximum number of objects that one statement reads for a unit. */
const chunkObjects = 64;

/** Objects whose permission entries are read together. */
export interface UrisOfList {
  /** Name of the list that the objects are in. */
  readonly list: ListName;
  readonly uris: readonly ObjectUri[];
}

interface ExpectedUris {
  readonly list: ListName;
  /** URIs whose entries were not read yet. */
  readonly uris: Set<ObjectUri>;
}

export class ExpectedObjectsOfUnit {
  /** Name of the list → ids that were not read yet. */
  readonly #ids = new Map<ListName, Set<string>>();
  /** URI → the URIs that are read with it. */
  readonly #uris = new Map<ObjectUri, ExpectedUris>();

  add({ list, ids, uris }: ExpectedObjects): void {
    const name = keyOfList(list);
    const expected = this.#ids.get(name) ?? new Set<string>();
    this.#ids.set(name, expected);
    // The server refuses other texts, and with them the transaction.
    for (const id of ids) if (isStorableText(id)) expected.add(id);
    const group: ExpectedUris = { list: name, uris: new Set(uris.filter(isStorableText)) };
    for (const uri of group.uris) this.#uris.set(uri, group);
  }

  /** Returns the id, and others of the list to read with it if it is expected. */
  idsWith(list: ListName, id: string): readonly string[] {
    const expected = this.#ids.get(list);
    return expected?.has(id) === true ? firstOf(expected, [id]) : [id];
  }

  /** Returns the first ids of a list that were not read yet. */
  firstIds(list: ListName): readonly string[] {
    return firstOf(this.#ids.get(list) ?? [], []);
  }

  /** Whether the entries of an object are expected, and were not read yet. */
  hasUri(uri: ObjectUri): boolean {
    return this.#uris.has(uri);
  }

  /** Returns the first URIs in a list whose entries were not read yet. */
  firstUris(list: ListName): readonly ObjectUri[] {
    const uris: ObjectUri[] = [];
    for (const [uri, group] of this.#uris) {
      if (uris.length === chunkObjects) break;
      if (group.list === list) uris.push(uri);
    }
    return uris;
  }

  /** Notes that an object of a list was read. */
  forgetId(list: ListName, id: string): void {
    this.#ids.get(list)?.delete(id);
  }

  /**
   * Returns the URIs whose entries are to be read with those of this one, itself included, and forgets them. Returns
   * `undefined` if none are expected.
   *
   * @param isLocked returns whether a list is locked, or its lock was sent
   */
  takeUrisWith(uri: ObjectUri, isLocked: (list: ListName) => boolean): UrisOfList | undefined {
    const group = this.#uris.get(uri);
    if (group === undefined || !isLocked(group.list)) return undefined;
    const uris = firstOf(group.uris, [uri]);
    for (const each of uris) {
      group.uris.delete(each);
      this.#uris.delete(each);
    }
    return { list: group.list, uris };
  }
}

/** Returns the given items and the first others, up to a chunk. */
function firstOf<T>(items: Iterable<T>, given: readonly T[]): readonly T[] {
  const chosen = new Set(given);
  for (const item of items) {
    if (chosen.size === chunkObjects) break;
    chosen.add(item);
  }
  return [...chosen];
}
