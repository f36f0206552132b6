// Ordered maps, and the only import of the B+ tree package. It is CommonJS with a default export that loaders unwrap
// differently (Node returns the module, test runners the class), so it is required instead of imported.
import { createRequire } from 'node:module';
import type btree from 'sorted-btree';
import { compareText } from '../../core/query/compare.ts';

const { default: Tree } = createRequire(import.meta.url)('sorted-btree') as typeof btree;

/** A map that iterates in the order of its keys, from any key, in either direction. */
export type OrderedMap<K, V> = btree.default<K, V>;

/** Creates a map in the order of a comparison. */
export function createMap<K, V>(compare: (a: K, b: K) => number): OrderedMap<K, V> {
  return new Tree<K, V>(undefined, compare);
}

/** Creates a map ordered by number. */
export function createNumberMap<V>(): OrderedMap<number, V> {
  return new Tree<number, V>(undefined, (a, b) => a - b);
}

/** Creates a map ordered by UTF-16 units, which keeps texts with a common prefix together. */
export function createTextMap<V>(): OrderedMap<string, V> {
  return new Tree<string, V>(undefined, (a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Creates a map ordered by code point, the order in which lists are sorted. */
export function createIdMap<V>(): OrderedMap<string, V> {
  return new Tree<string, V>(undefined, compareText);
}

/** Returns the pairs whose key starts with the prefix, as an array, so that the map may change during a visit. */
export function pairsWithPrefix<V>(map: OrderedMap<string, V>, prefix: string): readonly (readonly [string, V])[] {
  const found: [string, V][] = [];
  for (const pair of map.entries(prefix)) {
    if (!pair[0].startsWith(prefix)) break;
    found.push(pair);
  }
  return found;
}
