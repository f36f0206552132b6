// The orders of lists: parents before their descendants, and the order in which several lists are locked.
import { compareText } from '../query/compare.ts';
import type { ListKey } from './stored.ts';

/** Compares by parent, then by kind, both by code point. */
export function compareLists(a: ListKey, b: ListKey): number {
  return compareText(a.parent, b.parent) || compareText(a.kind, b.kind);
}

/**
 * Compares by the order in which units of work on Redis lock several lists: that of `compareLists`, but counters last. Nearly
 * all writes in a bucket change its counters at their end. A unit that locked them first would make all others wait.
 */
export function compareLocks(a: ListKey, b: ListKey): number {
  return Number(isCounter(a)) - Number(isCounter(b)) || compareLists(a, b);
}

/** Counters are in lists of the objects that they count. Their parent has pairs of a folder and an id. */
function isCounter({ kind, parent }: ListKey): boolean {
  return kind === 'quota' && parent.split('/').length % 2 === 1;
}
