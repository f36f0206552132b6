// Filters of a hook: an exact value, or a regular expression if it begins with `^`.
import { LRUCache } from 'lru-cache';
import { compileSafePattern, UnsupportedPattern, type SafePattern } from '../../core/schema/safe-pattern.ts';
import type { MatchingBudget } from './matching-budget.ts';

export const filterNames = ['event', 'action', 'resource_name', 'id', 'record_id', 'collection_id'] as const;

export type FilterName = (typeof filterNames)[number];

export interface Filter {
  readonly name: FilterName;
  /** @param values accepted names of the value; empty when the object has no such property */
  readonly matches: (values: readonly string[], tests: PatternTests) => boolean;
}

/** Compiled patterns. Every change uses the same few. */
const compiled = new LRUCache<string, SafePattern>({ max: 500 });

/** The tests of one change. Hooks often have equal patterns, and `id` is mostly equal to `record_id`. */
export class PatternTests {
  readonly #budget: MatchingBudget;
  readonly #results = new Map<SafePattern, Map<string, boolean>>();

  constructor(budget: MatchingBudget) {
    this.#budget = budget;
  }

  test(pattern: SafePattern, value: string): boolean {
    let results = this.#results.get(pattern);
    if (results === undefined) this.#results.set(pattern, (results = new Map<string, boolean>()));
    let result = results.get(value);
    if (result === undefined) {
      this.#budget.spend(pattern.stepsFor(value));
      result = pattern.test(value);
      results.set(value, result);
    }
    return result;
  }
}

/**
 * Maximum work of compiling the distinct patterns of one object, in characters and compiled instructions: about 20 ms.
 * Hooks are validated inside a transaction.
 */
const maxPatternWork = 20_000;

/** Maximum work for the patterns of all objects that a batch saves in one list. */
export const maxSharedPatternWork = 100_000;

/** Creates the filters of all hooks of one object. */
export class FilterFactory {
  readonly #maxWork: number;
  readonly #shared: FilterFactory | undefined;
  readonly #patterns = new Map<string, SafePattern>();
  #work = 0;

  /** @param options.shared factory of several objects, whose limit applies too */
  constructor(options: { readonly maxWork?: number; readonly shared?: FilterFactory } = {}) {
    this.#maxWork = options.maxWork ?? maxPatternWork;
    this.#shared = options.shared;
  }

  /** Work of the distinct patterns so far. */
  get work(): number {
    return this.#work;
  }

  /**
   * Creates a filter.
   *
   * @throws UnsupportedPattern also when the patterns of the object are too complex together
   */
  create(name: FilterName, wanted: string): Filter {
    if (!wanted.startsWith('^')) {
      // Existing hooks name events with their module: `kinto.core.events.AfterResourceChanged`.
      const text = name === 'event' ? wanted.slice(wanted.lastIndexOf('.') + 1) : wanted;
      return { name, matches: (values) => values.includes(text) };
    }
    const pattern = this.#find(wanted);
    return { name, matches: (values, tests) => values.some((value) => tests.test(pattern, value)) };
  }

  #find(wanted: string): SafePattern {
    let pattern = this.#patterns.get(wanted);
    if (pattern === undefined) {
      // Counted before and after, because the number of instructions is known only when most of the work is done.
      this.#spend(wanted.length);
      pattern = this.#shared === undefined ? compileFilter(wanted) : this.#shared.#find(wanted);
      this.#spend(pattern.size);
      this.#patterns.set(wanted, pattern);
    }
    return pattern;
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work > this.#maxWork) {
      throw new UnsupportedPattern('the regular expressions of all hooks together are too complex');
    }
  }
}

/** @throws UnsupportedPattern */
function compileFilter(wanted: string): SafePattern {
  let pattern = compiled.get(wanted);
  if (pattern === undefined) {
    // The pattern must also be valid alone. Otherwise one of its parentheses could close the added one.
    compileSafePattern(wanted);
    pattern = compileSafePattern(`^(?:${wanted})`);
    compiled.set(wanted, pattern);
  }
  return pattern;
}
