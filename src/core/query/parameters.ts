// Reads the shape of each parameter of a query string, before the list is known. Issues are collected and not thrown, since
// they are reported together with those of headers and body.
import { isStorableText, JsonSyntaxError, parseJson, type JsonValue } from '../../base/json.ts';
import type { Issue } from '../errors.ts';
import { reservedNames, suggestReserved, type ReservedName } from './suggestions.ts';

/** The parameters of a request to a list, as far as they can be read without knowing the list. */
export interface ListParameters {
  /** All issues so far. With at least one, the other members are incomplete. */
  readonly issues: readonly Issue[];
  /** Filter parameters in the order sent, not parsed yet. */
  readonly filters: readonly (readonly [name: string, value: string])[];
  /** `_since`: selects later changes only. */
  readonly since: number | undefined;
  /** `_before`, and its deprecated name `_to`: select earlier changes only. */
  readonly before: readonly number[];
  readonly usesDeprecatedTo: boolean;
  /** `_limit`; `undefined` when absent, empty or 0. */
  readonly limit: number | undefined;
  /** `_sort`, `_token` and `_fields`; `undefined` when absent or empty. */
  readonly sort: string | undefined;
  readonly token: string | undefined;
  readonly fields: string | undefined;
}

/** Lists accept all parameters, deletions of lists all but `_fields`, and single objects `_fields` only. */
export type ParameterUse = 'list' | 'deletion' | 'object';

const reservedByUse: Readonly<Record<ParameterUse, ReadonlySet<string>>> = {
  list: new Set(reservedNames),
  deletion: new Set(reservedNames.filter((name) => name !== '_fields')),
  object: new Set(['_fields']),
};

const nothingAsked: ListParameters = {
  issues: [],
  filters: [],
  since: undefined,
  before: [],
  usesDeprecatedTo: false,
  limit: undefined,
  sort: undefined,
  token: undefined,
  fields: undefined,
};

/**
 * Reads the decoded pairs of a query string. Unknown names that start with `_` are ignored, as are parameters that do not
 * apply to this use. A deletion refuses unknown names that resemble a condition, since ignoring one would delete more than
 * the client intends.
 *
 * @param options.now milliseconds since 1970 UTC
 */
export function parseParameters(
  pairs: readonly (readonly [name: string, value: string])[],
  options: { readonly now: number; readonly use: ParameterUse },
): ListParameters {
  if (pairs.length === 0) return nothingAsked;
  const issues: Issue[] = [];
  const filters: (readonly [string, string])[] = [];
  const given = new Map<string, string>();
  for (const pair of pairs) {
    const [name, value] = pair;
    const isReserved = reservedByUse[options.use].has(name);
    if (options.use === 'object' && !isReserved) continue;
    if (!isStorableText(name) || !isStorableText(value)) {
      issues.push(issueOf(name.toWellFormed(), 'null characters and lone surrogates are not allowed'));
    } else if (isReserved) {
      if (given.has(name)) issues.push(issueOf(name, 'given more than once'));
      given.set(name, value);
    } else if (!name.startsWith('_')) {
      filters.push(pair);
    } else if (options.use === 'deletion') {
      const meant = suggestReserved(name);
      if (meant !== undefined) issues.push(issueOf(name, `unknown parameter, did you mean ${meant}?`));
    }
  }
  const read = <T>(name: ReservedName, parse: (text: string) => T | Refused): T | undefined => {
    const text = given.get(name);
    if (text === undefined) return undefined;
    const value = parse(text);
    if (!(value instanceof Refused)) return value;
    issues.push(issueOf(name, value.description));
    return undefined;
  };
  const parseTime = (text: string): number | Refused => parseTimestamp(text, options.now) ?? badTimestamp;
  const since = read('_since', parseTime);
  const before = [read('_before', parseTime), read('_to', parseTime)].filter((time) => time !== undefined);
  const limit = read('_limit', parseLimit);
  const sort = read('_sort', parseText);
  const token = read('_token', parseText);
  const fields = read('_fields', parseText);
  const usesDeprecatedTo = given.has('_to');
  return { issues: uniqueIssues(issues), filters, since, before, usesDeprecatedTo, limit, sort, token, fields };
}

class Refused {
  readonly description: string;

  constructor(description: string) {
    this.description = description;
  }
}

export const timestampForm = 'expected a timestamp in milliseconds, not more than a day ahead';
const badTimestamp = new Refused(timestampForm);
const badLimit = new Refused('expected an integer from 0 to 2^63');

const dayMilliseconds = 24 * 60 * 60 * 1000;
const integer = /^(?:\d+|"\d+")$/;

/** Reads a timestamp, bare or in quotes as in entity tags; `undefined` for other text and from a day after `now` on. */
export function parseTimestamp(text: string, now: number): number | undefined {
  if (!integer.test(text)) return undefined;
  const timestamp = Number(unquote(text));
  return timestamp < now + dayMilliseconds ? timestamp : undefined;
}

const highestLimit = 2n ** 63n;
const highestLimitDigits = String(highestLimit).length;

function parseLimit(text: string): number | undefined | Refused {
  if (text === '' || text === '""') return undefined;
  if (!integer.test(text)) return badLimit;
  const digits = unquote(text).replace(/^0+/, '');
  if (digits === '') return undefined;
  return digits.length > highestLimitDigits || BigInt(digits) > highestLimit ? badLimit : Number(digits);
}

/** Reads names and tokens, which may be quoted like any JSON text. */
function parseText(text: string): string | undefined | Refused {
  const value = parseQueryValue(text);
  if (value === undefined) return new Refused('null characters and lone surrogates are not allowed');
  const content = typeof value === 'string' ? value : text;
  return content === '' ? undefined : content;
}

/** Returns the JSON value of a text, or else the text itself; `undefined` for JSON with text that cannot be stored. */
export function parseQueryValue(text: string): JsonValue | undefined {
  // Most values are plain words. Detecting them by a syntax error would take many times as long.
  if (!mayBeJson.test(text)) return text;
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError && error.path !== undefined) return undefined;
    if (error instanceof JsonSyntaxError) return text;
    throw error;
  }
}

const mayBeJson = /^[\s"[{\d-]|^(?:true|false|null)\s*$/;

function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1) : text;
}

export function issueOf(name: string | null, description: string): Issue {
  return { location: 'querystring', name, description };
}

/** Reports a repeated parameter once. */
function uniqueIssues(issues: readonly Issue[]): readonly Issue[] {
  if (issues.length < 2) return issues;
  const seen = new Map(issues.map((issue) => [`${issue.name} ${issue.description}`, issue]));
  return [...seen.values()];
}
