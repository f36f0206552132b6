// Hints about what commits have changed, for those who follow lists. A hint shortens a wait; the clocks of lists decide.
import type { ListKey } from '../core/objects/stored.ts';

/** What a commit has changed: a list, all lists at or below an object, or everything. */
export type ChangeHint =
  | { readonly list: ListKey }
  | { readonly below: string }
  | { readonly flushed: true }
  /** Anything may have changed: hints were lost, or there were too many. */
  | { readonly any: true };

export interface ChangeHints {
  /** Announces changes to the other processes. Never waits and never throws: a lost hint costs time, no change. */
  publish(hints: readonly ChangeHint[]): void;
  /** Calls the listener with the hints of other processes, in the order received. Returns a function that ends it. */
  subscribe(listener: (hints: readonly ChangeHint[]) => void): () => Promise<void>;
  close(): Promise<void>;
}
