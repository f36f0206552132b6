// Hints about changes, which processes of one service send each other so that waiting clients learn of changes sooner. A hint
// may be lost, repeated or late: the clocks of the lists alone say what has changed.
import type { ListKey } from '../core/objects/stored.ts';
import type { ObjectUri } from '../core/objects/uris.ts';

/** What a commit has changed. */
export type ChangeHint =
  /** One list. */
  | { readonly list: ListKey }
  /** Lists whose parent is the URI or lies below it. */
  | { readonly below: ObjectUri }
  /** The store was flushed. */
  | { readonly flushed: true }
  /** Anything: hints may have been lost, or were too many to name. Includes a flush. */
  | { readonly any: true };

/** Hints of one process to the others that use the same database. Close it before the database. */
export interface ChangeHints {
  /**
   * Announces committed changes to the other processes. Returns at once and never throws. Hints of one moment are sent
   * together, each of them once, at most every 10 ms; very many of them become `any`. Hints that could not be sent become
   * `any` too, which is sent when that is possible again.
   */
  publish(hints: readonly ChangeHint[]): void;
  /**
   * Calls the listener with the hints of other processes, in the order received, and never with those of this process. The
   * listener gets `any` when the process has begun to receive, and again after each interruption.
   *
   * @returns a function that removes the listener
   */
  subscribe(listener: (hints: readonly ChangeHint[]) => void): () => void;
  /** Sends what is left to send, unless that takes long, and closes the connections. No listener is called any more. */
  close(): Promise<void>;
}
