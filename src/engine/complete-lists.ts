// Lists whose declared indexes were all complete a moment ago. Indexes stay complete as long as the object that declares them
// is not written, so a query need not read their states again.
import { keyOfList, type ListName } from '../core/lists/list-key.ts';
import type { ListKey } from '../core/objects/stored.ts';

const maxLists = 10_000;

/**
 * Time after which the states are read again: clients may give an object an earlier timestamp once more, with other indexes
 * in between, and other processes only see the timestamp.
 */
const freshMs = 1000;

interface Known {
  /** Timestamp of the object that declares the indexes. */
  readonly declaredAt: number;
  readonly readAt: number;
}

export class CompleteLists {
  readonly #known = new Map<ListName, Known>();

  has(list: ListKey, declaredAt: number, now: number): boolean {
    const known = this.#known.get(keyOfList(list));
    return known?.declaredAt === declaredAt && now >= known.readAt && now < known.readAt + freshMs;
  }

  add(list: ListKey, declaredAt: number, now: number): void {
    if (this.#known.size >= maxLists) this.#known.clear();
    this.#known.set(keyOfList(list), { declaredAt, readAt: now });
  }

  forget(list: ListKey): void {
    this.#known.delete(keyOfList(list));
  }
}
