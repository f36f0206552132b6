// The form in which every keyword of JSON Schema is implemented, and what it may ask of the compiler.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Dialect } from './dialect.ts';
import type { Check, Failure } from './run.ts';
import type { SafePattern } from './safe-pattern.ts';

export interface Compiler {
  readonly dialect: Dialect;
  /**
   * The check of a schema.
   *
   * @throws UnusableSchema
   */
  check(schema: JsonValue): Check;
  /**
   * A pattern of the schema, compiled once.
   *
   * @throws UnusableSchema when it cannot be run, or the patterns of the schema are too much together
   */
  pattern(text: string): SafePattern;
}

/**
 * Makes the check of one keyword.
 *
 * @param value what the keyword says
 * @param schema the schema it stands in, for keywords that look at each other
 * @returns `undefined` when the keyword has nothing to say in this form
 * @throws UnusableSchema when the keyword cannot have this value
 */
export type Keyword = (value: JsonValue, schema: JsonObject, compiler: Compiler) => Check | undefined;

export interface KeywordRow {
  readonly make: Keyword;
  /** First draft that has the keyword; default all. */
  readonly since?: Dialect;
  readonly until?: Dialect;
}

export function fail(keyword: string, reason: string): Failure {
  return { keyword, reason };
}

/** Characters of text that cost as much to look at as one step. */
export const charsPerStep = 32;

/** Something of the client's, short enough for a message. */
export function abbreviate(text: string, maxChars = 200): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1).toWellFormed()}…`;
}
