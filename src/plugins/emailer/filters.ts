// Filters of a hook: an exact value, or a regular expression if it begins with `^`.
import { LRUCache } from 'lru-cache';
import { compileSafePattern, type SafePattern } from '../../core/schema/safe-pattern.ts';

export const filterNames = ['event', 'action', 'resource_name', 'id', 'record_id', 'collection_id'] as const;

export type FilterName = (typeof filterNames)[number];

export interface Filter {
  readonly name: FilterName;
  /** @param values accepted names of the value; empty when the object has no such property */
  readonly matches: (values: readonly string[]) => boolean;
}

/** Compiled patterns. Every change uses the same few. */
const compiled = new LRUCache<string, SafePattern>({ max: 500 });

/**
 * Creates a filter.
 *
 * @throws UnsupportedPattern
 */
export function createFilter(name: FilterName, wanted: string): Filter {
  if (!wanted.startsWith('^')) {
    // Existing hooks name events with their module: `kinto.core.events.AfterResourceChanged`.
    const text = name === 'event' ? wanted.slice(wanted.lastIndexOf('.') + 1) : wanted;
    return { name, matches: (values) => values.includes(text) };
  }
  let pattern = compiled.get(wanted);
  if (pattern === undefined) {
    // The pattern must also be valid alone. Otherwise one of its parentheses could close the added one.
    compileSafePattern(wanted);
    pattern = compileSafePattern(`^(?:${wanted})`);
    compiled.set(wanted, pattern);
  }
  const found = pattern;
  return { name, matches: (values) => values.some((value) => found.test(value)) };
}
