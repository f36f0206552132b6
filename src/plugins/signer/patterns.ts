// Settings with regular expressions in their names, such as
// `signer.main-workspace.quicksuggest-(\w+).to_review_enabled`. They apply to all matching collections, including later
// ones.
import { LRUCache } from 'lru-cache';
import { compileSafePattern, UnsupportedPattern, type SafePattern } from '../../core/schema/safe-pattern.ts';
import type { SettingsFamily } from '../../settings/families.ts';
import { flag } from '../../settings/readers.ts';
import type { CollectionId } from './routes.ts';

/** A name without a parenthesis is not a pattern. A dot ends an expression. */
const form = /^signer\.([^.]+)\.([^.]+)\.to_review_enabled$/;

export const patternFamily: SettingsFamily = {
  form: 'signer.<regexp>.<regexp>.to_review_enabled',
  sentence:
    '`signer.to_review_enabled` for all collections whose bucket and id match. The name must contain parentheses, and the expressions must not contain dots. An expression matches the beginning of an id, or the whole id if it ends with $. If several names match a collection, its own included, the last one in the file applies.',
  pattern: /^signer\.(?=[^.]*\.?[^.]*\()[^.]+\.[^.]+\.to_review_enabled$/,
  // Names of environment variables cannot contain expressions.
  environmentPattern: /^(?!)/,
  reader: flag(),
};

/** Returns whether the name of a setting contains regular expressions. */
export function isPattern(name: string): boolean {
  return patternFamily.pattern.test(name);
}

/** Returns whether the regular expressions in the name match the collection. */
export function matchesPattern(name: string, { bucket, collection }: CollectionId): boolean {
  const expressions = isPattern(name) ? expressionsOf(name) : undefined;
  return expressions !== undefined && expressions.bucket.test(bucket) && expressions.collection.test(collection);
}

/** Names that look like patterns. Ignoring an invalid one as an unknown setting would disable reviews. */
const intended = /^signer\..*[^A-Za-z0-9_.-].*\.to_review_enabled$/s;

/**
 * Checks the patterns among the names of settings.
 *
 * @throws Error with the name of the first invalid pattern
 */
export function requirePatterns(names: readonly string[]): void {
  for (const name of names) {
    if (isPattern(name)) expressionsOf(name);
    else if (intended.test(name)) {
      throw new Error(
        `${name} is not a valid pattern. The form is ${patternFamily.form}, with parentheses and without dots: use (\\w+) or ([^/]*) instead of (.*).`,
      );
    }
  }
}

interface Expressions {
  readonly bucket: SafePattern;
  readonly collection: SafePattern;
}

/** Compiled patterns by name. Compilation is slow, and settings do not change. */
const compiled = new LRUCache<string, Expressions>({ max: 1000 });

function expressionsOf(name: string): Expressions {
  let expressions = compiled.get(name);
  if (expressions === undefined) {
    const [, bucket = '', collection = ''] = form.exec(name) ?? [];
    try {
      expressions = { bucket: atBeginning(bucket), collection: atBeginning(collection) };
    } catch (error) {
      if (!(error instanceof UnsupportedPattern)) throw error;
      throw new Error(`${name} contains an unsupported regular expression: ${error.message}.`, { cause: error });
    }
    compiled.set(name, expressions);
  }
  return expressions;
}

function atBeginning(expression: string): SafePattern {
  return compileSafePattern(`^(?:${expression})`);
}
