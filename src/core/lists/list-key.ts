// Map keys of lists and objects.
import type { ListKey } from '../objects/stored.ts';

/** Returns a unique text per list. The length of the kind comes first, so that no two lists have the same text. */
export function keyOfList({ kind, parent }: ListKey): string {
  return `${kind.length} ${kind}${parent}`;
}

/** Returns a unique text per object of a list. */
export function keyOfObject({ kind, parent }: ListKey, id: string): string {
  return `${kind.length} ${parent.length} ${kind}${parent}${id}`;
}
