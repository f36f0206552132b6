// Objects that a unit of work has read without a lock since it last got a list. While it waited for the list, others may have
// changed what it had read before. The entries of a batch read the same few objects each.
import type { ListKey, StoredObject } from '../objects/stored.ts';
import { keyOfObject } from './list-key.ts';

export class RecentObjects {
  readonly #objects = new Map<string, StoredObject>();
  #lists = 0;

  /** @param lists number of lists that the unit has */
  find(lists: number, list: ListKey, id: string): StoredObject | undefined {
    if (lists === this.#lists) return this.#objects.get(keyOfObject(list, id));
    this.clear();
    this.#lists = lists;
    return undefined;
  }

  /** Keeps an object that was read after `find` had not found it. */
  keep(lists: number, list: ListKey, object: StoredObject): void {
    if (lists === this.#lists) this.#objects.set(keyOfObject(list, object.id), object);
  }

  clear(): void {
    this.#objects.clear();
  }
}
