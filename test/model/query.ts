// Query strings of lists: filters, order, pages and fields, and the page that they select. querying.md §3 to §5.
import { requireNone, type Ask, type Issue, type NextPage } from './exchange.ts';
import { readFilter, readTime, readValue, type FilterRules, type Test } from './filters.ts';
import { parseJson } from './numbers.ts';
import { readSelector } from './selectors.ts';
import { readTerms, scoreOf } from './text.ts';
import { compare, isMap, member, project, valueAt, type Json, type JsonMap } from './json.ts';

interface SortKey {
  readonly field: string;
  readonly isDescending: boolean;
}

/** How a list differs from those of records. */
export interface QueryRules extends FilterRules {
  /** Objects have this and no `last_modified`. */
  readonly key?: string;
}

export interface Query {
  readonly tests: readonly Test[];
  /** Whether tombstones are among what is asked for. */
  readonly withGone: boolean;
  readonly sort: readonly SortKey[];
  readonly limit: number;
  /** Values of the sort keys at the last object of the page before. */
  readonly after: readonly (Json | undefined)[] | undefined;
  readonly nonce: string | undefined;
  readonly fields: readonly string[] | undefined;
  /** Terms of the text search. */
  readonly terms: ReturnType<typeof readTerms>;
  /** Returns how well an object matches the search; `undefined` for one that does not match. Absent without a search. */
  readonly scoreOf?: (map: JsonMap) => number | undefined;
}

const reserved = ['_filter', '_q', '_since', '_before', '_to', '_limit', '_sort', '_token', '_fields'];

/** The decoded pairs of a query. */
export function pairsOf({ target }: Ask): readonly (readonly [string, string])[] {
  const at = target.indexOf('?');
  return at === -1 ? [] : [...new URLSearchParams(target.slice(at + 1))];
}

/** What is wrong with a query at first sight, before anything is known of the list. */
export function checkQuery(ask: Ask, { horizon, key: ownKey }: QueryRules): readonly Issue[] {
  const issues: Issue[] = [];
  const pairs = pairsOf(ask);
  const unstorable = pairs.filter(([key, value]) => !key.startsWith('_') && value.includes('\0'));
  for (const key of new Set(unstorable.map(([each]) => each))) issues.push(['querystring', key]);
  for (const name of reserved.filter((each) => !(each === '_fields' && ask.method === 'DELETE'))) {
    const values = pairs.filter(([key]) => key === name).map(([, value]) => value);
    if (values.length > 1) issues.push(['querystring', name]);
    const value = values.at(-1);
    if (value === undefined) continue;
    const isCondition = name === '_filter' || name === '_q';
    if (isCondition && value === '' && ask.method === 'DELETE') issues.push(['querystring', name]);
    if (name === '_q' && value !== '' && ownKey !== undefined) issues.push(['querystring', name]);
    const isTime = name === '_since' || name === '_before' || name === '_to';
    if (isTime && readTime(value, horizon) === undefined) issues.push(['querystring', name]);
    if (name === '_limit' && !/^(?:\d*|"\d*")$/.test(value)) issues.push(['querystring', name]);
  }
  return issues;
}

/** @throws Refusal for what is wrong with its meaning */
export function readQuery(ask: Ask, rules: QueryRules): Query {
  const issues: Issue[] = [];
  const pairs = pairsOf(ask);
  const find = (name: string): string | undefined => {
    const text = pairs.find(([key]) => key === name)?.[1];
    const value = text === undefined ? '' : readValue(text);
    return (typeof value === 'string' ? value : text) || undefined;
  };
  const selector = pairs.find(([key]) => key === '_filter')?.[1] ?? '';
  const selected = selector === '' ? [] : readSelector(selector, rules);
  if (selected === undefined) issues.push(['querystring', '_filter']);
  const filters = pairs
    .filter(([name]) => !name.startsWith('_'))
    .flatMap(([name, text]) => {
      const read = readFilter(name, text, rules);
      if (read === undefined) issues.push(['querystring', name]);
      return read ?? [];
    });
  filters.push(...(selected ?? []));
  for (const [name, operator] of [
    ['_since', 'gt'],
    ['_before', 'lt'],
    ['_to', 'lt'],
  ] as const) {
    const text = find(name);
    const bound = text === undefined ? undefined : readFilter(`${operator}_last_modified`, text, rules);
    if (bound !== undefined) filters.push(bound);
  }
  const counted = rules.key === undefined ? filters : filters.filter(({ field }) => field !== 'last_modified');
  const text = pairs.find(([key]) => key === '_q')?.[1] ?? '';
  const terms = text === '' ? undefined : readTerms(text);
  if (text !== '' && terms === undefined) issues.push(['querystring', '_q']);
  const isRanked = text !== '' && ask.method !== 'DELETE';
  const scored = isRanked ? { ...rules, knownFields: rules.knownFields && [...rules.knownFields, '_score'] } : rules;
  const sort = readSort(find('_sort') ?? (isRanked ? '-_score' : ''), scored, issues);
  const fields =
    ask.method === 'DELETE'
      ? undefined
      : find('_fields')
          ?.split(',')
          .filter((name) => name !== '');
  if (fields?.some((name) => !isShown(name, rules)) === true) issues.push(['querystring', 'Invalid _fields parameter']);
  const token = find('_token');
  const position = token === undefined ? undefined : readToken(token, sort);
  if (token !== undefined && position === undefined) issues.push(['querystring', null]);
  requireNone(issues);
  return {
    tests: counted.map(({ test }) => test),
    withGone: counted.some(({ field }) => field === 'last_modified'),
    sort,
    limit: Number((find('_limit') ?? '0').replaceAll('"', '')) || 10_000,
    after: position?.values,
    nonce: position?.nonce,
    fields,
    terms,
  };
}

/** The query in a list where these fields are searched. */
export function searching(query: Query, fields: readonly string[]): Query {
  const { tests, terms = [] } = query;
  const find = (map: JsonMap): number | undefined => scoreOf(map, terms, fields);
  return { ...query, tests: [...tests, (map) => find(map) !== undefined], scoreOf: find };
}

/** Objects have their score as an attribute while they are searched. */
function valueIn(map: JsonMap, field: string, { scoreOf: find }: Query): Json | undefined {
  return field === '_score' && find !== undefined ? find(map) : valueAt(map, field);
}

function isShown(name: string, { knownFields, listFields = [] }: QueryRules): boolean {
  if (knownFields === undefined) return true;
  return [...knownFields, ...listFields, 'id', 'last_modified', 'deleted'].includes(name.split('.')[0]!);
}

/** Only the first key of a name decides anything, and nothing after a name that no two objects share. */
function readSort(text: string, rules: QueryRules, issues: Issue[]): readonly SortKey[] {
  const { key = 'last_modified', knownFields } = rules;
  const keys: SortKey[] = [];
  for (const part of [...text.split(','), `-${key}`]) {
    const match = /^([-+ ]?)([\w.]+)$/.exec(part);
    if (match === null) continue;
    const [, sign, field = ''] = match;
    if (rules.key !== undefined && field === 'last_modified') continue;
    if (knownFields?.includes(field.split('.')[0]!) === false) issues.push(['querystring', null]);
    if (!keys.some((known) => known.field === field)) keys.push({ field, isDescending: sign === '-' });
  }
  const last = keys.findIndex(({ field }) => field === key || (rules.key === undefined && field === 'id'));
  return keys.slice(0, last + 1);
}

/** querying.md §4.3: base64 of JSON. */
export function decodeToken(token: string): JsonMap | undefined {
  try {
    const content = parseJson(Buffer.from(token, 'base64').toString('utf8')) as Json;
    return isMap(content) ? content : undefined;
  } catch {
    // Anything may come in place of a token.
    return undefined;
  }
}

function readToken(
  token: string,
  sort: readonly SortKey[],
): { values: (Json | undefined)[]; nonce: string } | undefined {
  const content = decodeToken(token);
  const last = content === undefined ? undefined : member(content, 'last_object');
  const nonce = content === undefined ? undefined : member(content, 'nonce');
  if (!isMap(last) || typeof nonce !== 'string' || typeof member(content!, 'offset') !== 'number') return undefined;
  const values = sort.map(({ field }) => member(last, field));
  return values.at(-1) === undefined ? undefined : { values, nonce };
}

/** Order of two positions. */
function compareBy(
  sort: readonly SortKey[],
  a: readonly (Json | undefined)[],
  b: readonly (Json | undefined)[],
): number {
  const differences = sort.map(({ isDescending }, index) => compare(a[index], b[index]) * (isDescending ? -1 : 1));
  return differences.find((difference) => difference !== 0) ?? 0;
}

/** The objects, or tombstones, that a page holds, and whether there are more. */
export function selectPage(all: readonly JsonMap[], query: Query): { page: readonly JsonMap[]; more: boolean } {
  const { sort, after, limit } = query;
  const placed = filter(all, query).map((map) => ({ map, at: sort.map(({ field }) => valueIn(map, field, query)) }));
  const rest = placed
    .filter(({ at }) => after === undefined || compareBy(sort, at, after) > 0)
    .sort((a, b) => compareBy(sort, a.at, b.at));
  return { page: rest.slice(0, limit).map(({ map }) => map), more: rest.length > limit };
}

/** Everything that passes. */
export function filter(all: readonly JsonMap[], { tests }: Query): readonly JsonMap[] {
  return all.filter((map) => tests.every((test) => test(map)));
}

/** As a page shows it. */
export function shown(map: JsonMap, { fields }: Query): JsonMap {
  return fields === undefined ? map : project(map, fields);
}

/** The address of the page after the one that ends with this object. */
export function nextPage(ask: Ask, path: string, query: Query, last: JsonMap): NextPage {
  const kept = pairsOf(ask).filter(([name]) => name !== '_limit' && name !== '_token');
  const values = query.sort.flatMap(({ field }): [string, Json][] => {
    const value = valueIn(last, field, query);
    return value === undefined ? [] : [[field, value]];
  });
  return { path, query: [...kept, ['_limit', String(query.limit)]], last: Object.fromEntries(values) };
}
