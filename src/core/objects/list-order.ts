// The order of lists: parents before their descendants. Several lists are locked in this order.
import { compareText } from '../query/compare.ts';
import type { ListKey } from './stored.ts';

/** Compares by parent, then by kind, both by code point. */
export function compareLists(a: ListKey, b: ListKey): number {
  return compareText(a.parent, b.parent) || compareText(a.kind, b.kind);
}
