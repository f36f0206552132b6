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
  /** `_filter`: a selector, not parsed yet; `undefined` when absent or empty. */
  readonly selector: string | undefined;
  /** `_q`: a text query, not parsed yet; `undefined` when absent or empty. */
  readonly text: string | undefined;
  /** Whether objects can be in the order of their scores. */
  readonly isRanked: boolean;
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
  /** `_gone`: also returns markers of changed objects that the filters exclude. */
  readonly gone: boolean;
  /** `_live`: the response goes on with later changes, or waits for the next one; `undefined` when absent. */
  readonly live: LiveTransport | undefined;
  /** `_explain`: the response reports how the query was answered. */
  readonly explain: boolean;
  /** `_wait`: seconds for which a long poll waits; `undefined` when absent. */
  readonly waitSeconds: number | undefined;
}

/** `sse`: a stream of server-sent events. `poll`: one response, as soon as something has changed. */
export type LiveTransport = 'sse' | 'poll';

export const liveTransports: readonly LiveTransport[] = ['sse', 'poll'];

/** Lists accept all parameters, deletions of lists those that select objects, and single objects `_fields` only. */
export type ParameterUse = 'list' | 'deletion' | 'object';

const reservedByUse: Readonly<Record<ParameterUse, ReadonlySet<string>>> = {
  list: new Set(reservedNames),
  deletion: new Set(['_filter', '_q', '_since', '_before', '_to', '_limit', '_sort', '_token', '_explain']),
  object: new Set(['_fields']),
};

const nothingAsked: ListParameters = {
  issues: [],
  filters: [],
  selector: undefined,
  text: undefined,
  isRanked: false,
  since: undefined,
  before: [],
  usesDeprecatedTo: false,
  limit: undefined,
  sort: undefined,
  token: undefined,
  fields: undefined,
  gone: false,
  explain: false,
  live: undefined,
  waitSeconds: undefined,
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
  const selector = given.get('_filter') === '' ? undefined : given.get('_filter');
  const text = given.get('_q') === '' ? undefined : given.get('_q');
  // A client that fills in a condition wrongly does not intend to delete the whole list.
  if (options.use === 'deletion') {
    for (const name of ['_filter', '_q'] as const) {
      if (given.get(name) === '') issues.push(issueOf(name, 'empty: leave it out to delete without this condition'));
    }
  }
  const usesDeprecatedTo = given.has('_to');
  const gone = read('_gone', parseFlag) ?? false;
  const explain = read('_explain', parseFlag) ?? false;
  const live = read('_live', parseTransport);
  const waitSeconds = read('_wait', parseWait);
  checkLive(given, issues);
  return {
    issues: uniqueIssues(issues),
    filters,
    selector,
    text,
    isRanked: text !== undefined && options.use === 'list' && !gone,
    since,
    before,
    usesDeprecatedTo,
    limit,
    sort,
    token,
    fields,
    gone,
    explain,
    live,
    waitSeconds,
  };
}

class Refused {
  readonly description: string;

  constructor(description: string) {
    this.description = description;
  }
}

/** Reports parameters that make no sense together. */
function checkLive(given: ReadonlyMap<string, string>, issues: Issue[]): void {
  const live = given.get('_live');
  if (live === undefined) {
    if (given.has('_wait')) issues.push(issueOf('_wait', 'only a long poll waits: send _live=poll as well'));
    if (given.has('_gone') && !given.has('_since')) {
      issues.push(issueOf('_gone', 'only changes since a timestamp can be gone: send _since as well'));
    }
    return;
  }
  for (const name of ['_sort', '_limit', '_token'] as const) {
    if (given.has(name)) issues.push(issueOf(name, 'not accepted with _live, which sends all changes in their order'));
  }
  if (live !== 'poll' && given.has('_wait')) issues.push(issueOf('_wait', 'only _live=poll waits'));
  if (live === 'poll' && !given.has('_since')) {
    issues.push(issueOf('_since', 'required with _live=poll: the ETag of the list as last received'));
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

function parseFlag(text: string): boolean | Refused {
  return text === 'true' ? true : text === 'false' ? false : new Refused('expected true or false');
}

function parseTransport(text: string): LiveTransport | Refused {
  return liveTransports.find((each) => each === text) ?? new Refused('expected sse or poll');
}

/** Maximum number of seconds that a long poll may wait: below the time after which most proxies give up. */
export const maxWaitSeconds = 60;

function parseWait(text: string): number | Refused {
  const seconds = integer.test(text) ? Number(unquote(text)) : 0;
  return seconds >= 1 && seconds <= maxWaitSeconds
    ? seconds
    : new Refused(`expected seconds from 1 to ${maxWaitSeconds}`);
}

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

/** Returns the JSON value of a text, or else the text itself; `undefined` for JSON that cannot be stored. */
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

/** Whether the text is JSON, which may have more levels and larger numbers than the service accepts. */
export function isJson(text: string): boolean {
  if (!mayBeJson.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const mayBeJson = /^[\s"[{\d]|^-\d|^(?:true|false|null)\s*$/;

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
