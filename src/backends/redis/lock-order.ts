// The order in which units of work on Redis lock several lists (decision 30).
import { compareLists } from '../../core/objects/list-order.ts';
import type { ListKey } from '../../core/objects/stored.ts';

/**
 * Compares as `compareLists` does, but counters come last. Nearly all writes in a bucket change its counters at their end. A
 * unit that locked them first would make all others wait.
 */
export function compareLocks(a: ListKey, b: ListKey): number {
  return Number(isCounter(a)) - Number(isCounter(b)) || compareLists(a, b);
}

/** Counters are in lists of the objects that they count. Their parent has pairs of a folder and an id. */
function isCounter({ kind, parent }: ListKey): boolean {
  return kind === 'quota' && parent.split('/').length % 2 === 1;
}
