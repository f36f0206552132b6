// States of records that arrive after a later state was pushed or received: RxDB must not take them. It compares a state that it receives
// with the collection at the moment when it stores it. Only then is it known which writes were pushed meanwhile. And states that
// arrive while a document has an unsent edit: RxDB ignores them.
import type { AnyConflictHandler } from './any.ts';
import type { Document } from './shape.ts';

/** Timestamp of a state, on its way through RxDB, which copies documents. */
const timestampOf = Symbol('last_modified');

type Compare = AnyConflictHandler['isEqual'];

// Contexts of comparisons. RxDB does not document them: tests fail if they are renamed, and the package accepts only versions that
// were tested.

/** RxDB asks whether the collection has a received state already. */
export const takesOver = 'downstream-check-if-equal-1';
/** RxDB asks whether the document has no edit. If it has one, RxDB ignores the received state. */
const keepsEdit = 'downstream-check-if-equal-0';
/** RxDB asks whether an edit was taken back. If so, it is not pushed. */
const endsEdit = 'upstream-check-if-equal';
const maxEntries = 10_000;

type Marked = Document & { [timestampOf]?: number };

export class LateStates {
  readonly #keyOf: (document: Document) => string;
  /** By primary key, the timestamp of the latest state that was pushed, found by a push, or passed to RxDB. */
  readonly #reached = new Map<string, number>();
  /**
   * Primary keys of documents for which RxDB may have ignored a received state, until a push shows what the service has. At most one
   * for each document with an edit.
   */
  readonly #ignored = new Set<string>();
  readonly #pulled = new WeakMap<object, number>();

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

  /** Modifier of RxDB for documents that were pulled: takes the mark off the copy that will be stored. */
  readonly unmark = (document: Marked): Document => {
    const { [timestampOf]: timestamp } = document;
    if (timestamp !== undefined) this.#pulled.set(document, timestamp);
    delete document[timestampOf];
    return document;
  };

  /**
   * Returns a comparison for which late states are equal to what the collection has, so that RxDB ignores them. Documents of which
   * RxDB may have ignored a state are pushed, also without an edit.
   */
  ignoring(isEqual: Compare): Compare {
    return (one, other, context) => {
      const key = this.#keyOf(one);
      // In other contexts, a document may be one that RxDB has stored since.
      const timestamp = context === takesOver ? this.#pulled.get(one) : undefined;
      if (timestamp !== undefined && this.isLate(key, timestamp)) return true;
      const result = isEqual(one, other, context);
      if (context === keepsEdit && !result) this.mayIgnore(key);
      return result && !(context === endsEdit && this.mayHaveIgnored(key));
    };
  }

  /** Called when RxDB has an edit of a document: it ignores states that it receives for it. */
  mayIgnore(key: string): void {
    this.#ignored.add(key);
  }

  /** Returns whether RxDB may have ignored a state of the document. */
  mayHaveIgnored(key: string): boolean {
    return this.#ignored.has(key);
  }

  /** Called when a push finds that the service has the state of the collection. */
  settle(key: string): void {
    this.#ignored.delete(key);
  }

  /** Forgets what was pushed and received, because the service may have lost it. */
  clear(): void {
    this.#reached.clear();
  }
}
