// Texts that stand for lists and objects, as keys of maps.
import type { ListKey } from '../objects/stored.ts';

/** Returns a text of its own for each list. With the length of the kind in front, no two are alike. */
export function keyOfList({ kind, parent }: ListKey): string {
  return `${kind.length} ${kind}${parent}`;
}

/** Returns a text of its own for each object of each list. */
export function keyOfObject({ kind, parent }: ListKey, id: string): string {
  return `${kind.length} ${parent.length} ${kind}${parent}${id}`;
}
