// Settings whose names hold regular expressions, `signer.main-workspace.quicksuggest-(\w+).to_review_enabled`: they speak
// for all collections that match, whenever those are created.
import { LRUCache } from 'lru-cache';
import { compileSafePattern, UnsupportedPattern, type SafePattern } from '../../core/schema/safe-pattern.ts';
import type { SettingsFamily } from '../../settings/families.ts';
import { flag } from '../../settings/readers.ts';
import type { CollectionId } from './routes.ts';

/** Without a parenthesis a name is no pattern; a dot ends an expression. */
const form = /^signer\.([^.]+)\.([^.]+)\.to_review_enabled$/;

export const patternFamily: SettingsFamily = {
  form: 'signer.<regexp>.<regexp>.to_review_enabled',
  sentence:
    '`signer.to_review_enabled` for all collections whose bucket and id match; the name has parentheses, and no dots in the expressions. An expression matches at the beginning of an id, and the whole id when it ends with $. Of several names that match a collection, its own included, the last one in the file counts.',
  pattern: /^signer\.(?=[^.]*\.?[^.]*\()[^.]+\.[^.]+\.to_review_enabled$/,
  // Names of variables cannot hold expressions.
  environmentPattern: /^(?!)/,
  reader: flag(),
};

/** Returns whether a name of a setting holds regular expressions. */
export function isPattern(name: string): boolean {
  return patternFamily.pattern.test(name);
}

/** Returns whether the regular expressions in the name match the collection. */
export function matchesPattern(name: string, { bucket, collection }: CollectionId): boolean {
  const expressions = isPattern(name) ? expressionsOf(name) : undefined;
  return expressions !== undefined && expressions.bucket.test(bucket) && expressions.collection.test(collection);
}

/** Names that look like patterns. Those that are none must not pass as unknown settings: nobody would review then. */
const intended = /^signer\..*[^A-Za-z0-9_.-].*\.to_review_enabled$/s;

/**
 * Checks the patterns among names of settings.
 *
 * @throws Error naming the one that cannot be used
 */
export function requirePatterns(names: readonly string[]): void {
  for (const name of names) {
    if (isPattern(name)) expressionsOf(name);
    else if (intended.test(name)) {
      throw new Error(
        `${name} is not understood. Patterns are ${patternFamily.form}, with parentheses and without dots: (\\w+) or ([^/]*) in place of (.*).`,
      );
    }
  }
}

interface Expressions {
  readonly bucket: SafePattern;
  readonly collection: SafePattern;
}

/** By name; compiling takes long, and settings do not change. */
const compiled = new LRUCache<string, Expressions>({ max: 1000 });

function expressionsOf(name: string): Expressions {
  let expressions = compiled.get(name);
  if (expressions === undefined) {
    const [, bucket = '', collection = ''] = form.exec(name) ?? [];
    try {
      expressions = { bucket: atBeginning(bucket), collection: atBeginning(collection) };
    } catch (error) {
      if (!(error instanceof UnsupportedPattern)) throw error;
      throw new Error(`${name} holds no regular expression that can be used: ${error.message}.`, { cause: error });
    }
    compiled.set(name, expressions);
  }
  return expressions;
}

function atBeginning(expression: string): SafePattern {
  return compileSafePattern(`^(?:${expression})`);
}
