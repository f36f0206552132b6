// Map keys of lists and objects.
import type { ListKey } from '../objects/stored.ts';

declare const brand: unique symbol;

/** A text that names one list: key of maps, never stored. */
export type ListName = string & { readonly [brand]: 'ListName' };

/** Returns a unique text per list. The length of the kind comes first, so that no two lists have the same text. */
export function keyOfList({ kind, parent }: ListKey): ListName {
  return `${kind.length} ${kind}${parent}` as ListName;
}

/** Returns a unique text per object of a list. */
export function keyOfObject({ kind, parent }: ListKey, id: string): string {
  return `${kind.length} ${parent.length} ${kind}${parent}${id}`;
}
