// Caches the permission entries of expected objects in a unit of work, which reads those of one list together. They are used
// while the list is locked, so no other unit changes them. They are dropped when the unit itself changes them.
import type { ListName } from '../../core/lists/list-key.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Row } from './connection.ts';
import type { UrisOfList } from './expected-objects.ts';

/** Rows of permission and principal; `undefined` if they are too many to be read with those of other objects. */
type Rows = readonly Row[] | undefined;

interface Known {
  readonly list: ListName;
  readonly rows: Promise<Rows>;
}

/** The locks of the unit. */
interface Locks {
  hasNamed(list: ListName): boolean;
}

export class KnownEntries {
  readonly #locks: Locks;
  readonly #known = new Map<ObjectUri, Known>();

  constructor(locks: Locks) {
    this.#locks = locks;
  }

  /** Returns the entries of an object; `undefined` if they are not known. */
  find(objectId: ObjectUri): Promise<Rows> | undefined {
    const known = this.#known.get(objectId);
    return known !== undefined && this.#locks.hasNamed(known.list) ? known.rows : undefined;
  }

  /**
   * Keeps the entries of several objects, which one statement reads.
   *
   * @param reading entries of each object, in their order
   */
  keep({ list, uris }: UrisOfList, reading: Promise<readonly Rows[]>): void {
    for (const [index, uri] of uris.entries()) {
      const rows = reading.then((all) => all[index]);
      // The statement that needs the rows reports the failure.
      rows.catch(() => {});
      this.#known.set(uri, { list, rows });
    }
  }

  /** Drops the entries of these objects. */
  forget(objectIds: readonly ObjectUri[]): void {
    if (this.#known.size > 0) for (const objectId of objectIds) this.#known.delete(objectId);
  }

  /** Drops all entries, when the changed ones are unknown. */
  forgetAll(): void {
    this.#known.clear();
  }
}
