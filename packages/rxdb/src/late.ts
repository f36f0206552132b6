// States of records that arrive after a later state was pushed or received: RxDB must not take them. It compares a state that it receives
// with the collection at the moment when it stores it. Only then is it known which writes were pushed meanwhile.
import type { AnyConflictHandler } from './any.ts';
import type { Document } from './shape.ts';

/** Timestamp of a state, on its way through RxDB, which copies documents. */
const timestampOf = Symbol('last_modified');

type Compare = AnyConflictHandler['isEqual'];

/**
 * Context in which RxDB asks whether the collection has a received state already. RxDB does not document it: a test fails if
 * it is renamed, and the package accepts only versions that were tested.
 */
export const takesOver = 'downstream-check-if-equal-1';
const maxEntries = 10_000;

type Marked = Document & { [timestampOf]?: number };

export class LateStates {
  readonly #keyOf: (document: Document) => string;
  /** By primary key, the timestamp of the latest state that was pushed, found by a push, or passed to RxDB. */
  readonly #reached = new Map<string, number>();
  readonly #marked = new WeakMap<object, number>();

  constructor(keyOf: (document: Document) => string) {
    this.#keyOf = keyOf;
  }

  /** Called when RxDB gets to know a state. */
  reach(key: string, timestamp: number): void {
    const reached = Math.max(timestamp, this.#reached.get(key) ?? 0);
    this.#reached.delete(key);
    this.#reached.set(key, reached);
    if (this.#reached.size > maxEntries) this.#reached.delete(this.#reached.keys().next().value!);
  }

  /** Returns whether RxDB has had a later state. The same one is not late: its echo may bring the timestamp. */
  isLate(key: string, timestamp: number): boolean {
    return timestamp < (this.#reached.get(key) ?? 0);
  }

  /**
   * Marks a document with the timestamp of its state, before it is passed to RxDB. A change of the stream may wait in RxDB until
   * a later pull has ended.
   */
  mark(document: Document, timestamp: number): Document {
    this.reach(this.#keyOf(document), timestamp);
    return Object.assign(document, { [timestampOf]: timestamp });
  }

  /** Marks a state of the service that conflicts with an edit. It is the latest one that is known. */
  markConflict(document: Document): Document {
    return this.mark(document, this.#reached.get(this.#keyOf(document)) ?? 0);
  }

  /** Returns whether a state was marked, and RxDB has had a later one since then. */
  isReplaced(document: Document): boolean {
    const timestamp = this.#marked.get(document);
    return timestamp !== undefined && this.isLate(this.#keyOf(document), timestamp);
  }

  /** Modifier of RxDB for documents that were received: takes the mark off the copy that will be stored. */
  readonly unmark = (document: Marked): Document => {
    const { [timestampOf]: timestamp } = document;
    if (timestamp !== undefined) this.#marked.set(document, timestamp);
    delete document[timestampOf];
    return document;
  };

  /** Returns a comparison for which late states are equal to what the collection has, so that RxDB ignores them. */
  ignoring(isEqual: Compare): Compare {
    return (pulled, other, context) => {
      // In other contexts, a document may be one that RxDB has stored since.
      const isReplaced = context === takesOver && this.isReplaced(pulled);
      return isReplaced || isEqual(pulled, other, context);
    };
  }

  /** Forgets what was pushed and received, because the service may have lost it. */
  clear(): void {
    this.#reached.clear();
  }
}
