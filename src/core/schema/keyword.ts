// The interface between keywords of JSON Schema and the compiler, and the drafts, which `$schema` identifies.
import { getKey, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { Check, Failure } from './run.ts';
import type { SafePattern } from './safe-pattern.ts';

/** Draft 3, 4, 6, 7, 2019-09 or 2020-12; comparable, later drafts are greater. */
export type Dialect = 3 | 4 | 6 | 7 | 2019 | 2020;

const names: readonly (readonly [RegExp, Dialect])[] = [
  [/^https?:\/\/json-schema\.org\/draft-03\/schema#?$/, 3],
  [/^https?:\/\/json-schema\.org\/draft-04\/schema#?$/, 4],
  [/^https?:\/\/json-schema\.org\/draft-06\/schema#?$/, 6],
  [/^https?:\/\/json-schema\.org\/draft-07\/schema#?$/, 7],
  [/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, 2019],
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, 2020],
];

/** Returns the draft of a schema: draft 7 when `$schema` is absent or unknown. */
export function dialectOf(schema: JsonObject): Dialect {
  const name = getKey(schema, '$schema');
  if (typeof name !== 'string') return 7;
  return names.find(([pattern]) => pattern.test(name))?.[1] ?? 7;
}

export interface Compiler {
  readonly dialect: Dialect;
  /**
   * Returns the check of a schema.
   *
   * @throws UnusableSchema
   */
  check(schema: JsonValue): Check;
  /**
   * Returns a pattern of the schema, compiled once.
   *
   * @throws UnusableSchema when it is not supported, or the patterns of the schema together are too complex
   */
  pattern(text: string): SafePattern;
}

/**
 * Makes the check of one keyword.
 *
 * @param value value of the keyword
 * @param schema schema with the keyword, for keywords that depend on others
 * @returns `undefined` when the keyword has no effect in this form
 * @throws UnusableSchema when the keyword cannot have this value
 */
export type Keyword = (value: JsonValue, schema: JsonObject, compiler: Compiler) => Check | undefined;

export interface KeywordRow {
  readonly make: Keyword;
  /** First draft with the keyword; default: all. */
  readonly since?: Dialect;
  readonly until?: Dialect;
}

export function fail(keyword: string, reason: string): Failure {
  return { keyword, reason };
}

/** Characters of text whose inspection costs as much as one step. */
export const charsPerStep = 32;
