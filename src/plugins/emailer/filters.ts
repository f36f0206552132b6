// What a hook is restricted to: a text that must be the value, or a regular expression when it begins with `^`.
import { LRUCache } from 'lru-cache';
import { compileSafePattern, type SafePattern } from '../../core/schema/safe-pattern.ts';

export const filterNames = ['event', 'action', 'resource_name', 'id', 'record_id', 'collection_id'] as const;

export type FilterName = (typeof filterNames)[number];

export interface Filter {
  readonly name: FilterName;
  /** @param values under any of which the thing is known; none when it has no such property */
  readonly matches: (values: readonly string[]) => boolean;
}

/** The same few patterns are asked for with every change. */
const compiled = new LRUCache<string, SafePattern>({ max: 500 });

/**
 * @throws UnsupportedPattern
 */
export function createFilter(name: FilterName, wanted: string): Filter {
  if (!wanted.startsWith('^')) {
    // Existing hooks name events with the module that they come from: `kinto.core.events.AfterResourceChanged`.
    const text = name === 'event' ? wanted.slice(wanted.lastIndexOf('.') + 1) : wanted;
    return { name, matches: (values) => values.includes(text) };
  }
  let pattern = compiled.get(wanted);
  if (pattern === undefined) {
    // By itself it must be one as well, lest a parenthesis of its own closes the added one.
    compileSafePattern(wanted);
    // All alternatives of it begin where the text does.
    pattern = compileSafePattern(`^(?:${wanted})`);
    compiled.set(wanted, pattern);
  }
  const found = pattern;
  return { name, matches: (values) => values.some((value) => found.test(value)) };
}
