// Query parameters of endpoints that are no lists of objects, and the positions of their pages. Unknown parameters are
// refused: nothing else uses these endpoints' query strings.
import { parseJson, type JsonValue, JsonSyntaxError } from '../base/json.ts';
import { invalidParameters, type Issue } from '../core/errors.ts';
import { issueOf } from '../core/query/parameters.ts';
import type { Context } from './context.ts';
import { queryParameter, type DescribedParameter } from './description.ts';

/** Reads the text of a parameter; returns `undefined` for a text that is not of the form. */
export interface ParameterReader<T> {
  readonly form: string;
  readonly read: (text: string) => T | undefined;
}

type ValuesOf<R extends Readonly<Record<string, ParameterReader<unknown>>>> = {
  readonly [K in keyof R]: R[K] extends ParameterReader<infer T> ? T | undefined : never;
};

/**
 * Reads the parameters of a request by name.
 *
 * @throws ServiceError invalidParameters for unknown, repeated and wrong ones
 */
export function readPlainParameters<R extends Readonly<Record<string, ParameterReader<unknown>>>>(
  { query }: Pick<Context, 'query'>,
  readers: R,
): ValuesOf<R> {
  const issues: Issue[] = [];
  const values = new Map<string, unknown>();
  for (const [name, text] of query) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    const shown = name.toWellFormed().slice(0, maxNameChars);
    if (reader === undefined) {
      const accepted = Object.keys(readers);
      issues.push(
        issueOf(shown, `unknown parameter; accepted are ${accepted.length === 0 ? 'none' : accepted.join(', ')}`),
      );
    } else if (values.has(name)) issues.push(issueOf(shown, 'given more than once'));
    else {
      const value = reader.read(text);
      if (value === undefined) issues.push(issueOf(shown, `expected ${reader.form}`));
      values.set(name, value);
    }
    if (issues.length === maxIssues) break;
  }
  if (issues.length > 0) throw invalidParameters(issues);
  return Object.fromEntries(Object.keys(readers).map((name) => [name, values.get(name)])) as ValuesOf<R>;
}

const maxIssues = 10;
const maxNameChars = 100;

/** Reads the maximum number of items of a page. */
export function limitOf(max: number): ParameterReader<number> {
  const form = `an integer from 1 to ${max}`;
  const read = (text: string): number | undefined => {
    const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    return limit >= 1 && limit <= max ? limit : undefined;
  };
  return { form, read };
}

/** Reads one of several words. */
export function oneOf<const T extends string>(...words: readonly T[]): ParameterReader<T> {
  return { form: words.join(', '), read: (text) => words.find((word) => word === text) };
}

/** Reads a time in milliseconds since 1970 UTC. */
export const timeParameter: ParameterReader<number> = {
  form: 'a time in milliseconds since 1970 UTC',
  read: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
};

const maxPositionChars = 4000;

/**
 * Reads a position that `formatPosition` has written.
 *
 * @param isPosition whether the value is a position of this kind
 */
export function positionOf<T extends JsonValue>(isPosition: (value: JsonValue) => value is T): ParameterReader<T> {
  return { form: 'a text as the service has sent it', read: (text) => parsePosition(text, isPosition) };
}

/** Parses a position; returns `undefined` for other texts. */
export function parsePosition<T extends JsonValue>(
  text: string,
  isPosition: (value: JsonValue) => value is T,
): T | undefined {
  if (text.length > maxPositionChars || !/^[\w-]+$/.test(text)) return undefined;
  try {
    const value = parseJson(Buffer.from(text, 'base64url').toString('utf8'));
    return isPosition(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** Formats a position as an opaque text for URLs. */
export function formatPosition(position: JsonValue): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** Returns the header with the URL of the next page: the same request with another `_token`. */
export function nextPageHeader(
  { request, path, query }: Pick<Context, 'request' | 'path' | 'query'>,
  versionPrefix: string,
  position: JsonValue | undefined,
): Record<string, string> {
  if (position === undefined) return {};
  const kept = query.filter(([name]) => name !== '_token');
  const pairs = [...kept, ['_token', formatPosition(position)] as const];
  const text = pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  return { 'Next-Page': `${request.origin}${versionPrefix}${path}?${text}` };
}

/** Describes `_limit`. */
export function describeLimit(max: number, byDefault: number): DescribedParameter {
  const schema = { type: 'integer', minimum: 1, maximum: max, default: byDefault };
  return queryParameter('_limit', 'Maximum number of items.', schema);
}

export const describedToken: DescribedParameter = queryParameter('_token', 'Position, from the header `Next-Page`.', {
  type: 'string',
});
