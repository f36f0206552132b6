// The one order of lists: parents before what lies below them, which also is the order in which several lists are locked.
import { compareText } from '../query/compare.ts';
import type { ListKey } from './stored.ts';

/** By parent, then by kind, both by code point. */
export function compareLists(a: ListKey, b: ListKey): number {
  return compareText(a.parent, b.parent) || compareText(a.kind, b.kind);
}
