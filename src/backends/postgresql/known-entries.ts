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
  /** Time of the reading, as `performance.now()`. */
  readonly at: number;
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
    const at = performance.now();
    for (const [index, uri] of uris.entries()) {
      const rows = reading.then((all) => all[index]);
      // The statement that needs the rows reports the failure.
      rows.catch(() => {});
      this.#known.set(uri, { list, at, rows });
    }
  }

  /**
   * Takes over what earlier units of the transaction have read for this one, but nothing from before it began to wait: few
   * changes of entries lock no list, and a request sees all that were made before it.
   *
   * @param since when it began to wait, as `performance.now()`
   */
  inherit(earlier: KnownEntries, since: number): void {
    for (const [uri, known] of earlier.#known) {
      if (known.at >= since && this.#locks.hasNamed(known.list)) this.#known.set(uri, known);
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
