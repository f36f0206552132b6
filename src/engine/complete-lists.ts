// Lists whose declared indexes were all complete a moment ago. Indexes stay complete as long as the object that declares them
// is not written, so a query need not read their states again.
import { keyOfList, type ListName } from '../core/lists/list-key.ts';
import type { ListKey } from '../core/objects/stored.ts';
import type { ListIndex } from '../core/query/ast.ts';

const maxLists = 10_000;

/**
 * Time after which the states are read again: clients may give an object an earlier timestamp once more, with other indexes
 * in between, and other processes only see the timestamp.
 */
const freshMs = 1000;

/** Complete indexes of a list. */
export interface Declared {
  /** Timestamp of the object that declares them. */
  readonly declaredAt: number;
  readonly indexes: readonly ListIndex[];
}

interface Known extends Declared {
  readonly readAt: number;
}

export class CompleteLists {
  readonly #known = new Map<ListName, Known>();

  /** Returns the indexes of a list that were complete a moment ago. They are those of the list if it is still declared the same. */
  find(list: ListKey, now: number): Declared | undefined {
    const known = this.#known.get(keyOfList(list));
    return known !== undefined && now >= known.readAt && now < known.readAt + freshMs ? known : undefined;
  }

  add(list: ListKey, declared: Declared, now: number): void {
    if (this.#known.size >= maxLists) this.#known.clear();
    this.#known.set(keyOfList(list), { ...declared, readAt: now });
  }

  forget(list: ListKey): void {
    this.#known.delete(keyOfList(list));
  }
}
