// Resolves the parameters of a query string for a certain list into a query that storage can run.
import { invalidParameters, type Issue } from '../errors.ts';
import type { Condition, Field, Filter, PageQuery, SortKey } from './ast.ts';
import { QueryBudget } from './budget.ts';
import { parseTextQuery, type TextQuery, type TextSearch } from '../text/text-query.ts';
import { isTimestampField, lastModifiedField, parseField, scoreField } from './fields.ts';
import { parseFilter } from './filter-parameter.ts';
import { parseToken, type PageToken } from './page-token.ts';
import { issueOf, type ListParameters } from './parameters.ts';
import { parseFields, type Projection } from './project.ts';
import { defaultSelectorLimits, parseSelector, type SelectorLimits } from './selector.ts';
import { newestFirst } from './sort.ts';
import { timestampRangeOf } from './timestamp-range.ts';

/** Differences of a list from one of a schemaless kind, for which the defaults are meant. */
export interface ListTraits {
  /** Fields that objects of this list may have, for filters, sort and `_fields`. Absent means any. */
  readonly knownFields?: readonly string[] | undefined;
  /** Fields that filters and sorting must not reveal. */
  readonly hiddenFields?: readonly string[] | undefined;
  /** Further fields, which only `contains_` and `contains_any_` accept and no sort does. */
  readonly arrayFields?: readonly string[] | undefined;
  /** Fields whose filters are always compared as text; default `id`. */
  readonly textFields?: readonly string[] | undefined;
  /** Fields that every object has, with a different value in each; default `last_modified` and `id`. */
  readonly uniqueFields?: readonly string[] | undefined;
  /** Sort keys appended to every sort, the last by a unique field; default `last_modified` descending. */
  readonly tieBreakers?: readonly SortKey[] | undefined;
  /** Whether filters and sort keys on `last_modified` are validated and then dropped, as for objects without one. */
  readonly ignoreTimestamps?: boolean | undefined;
}

export interface QueryLimits {
  /** Setting `paginate_by`. */
  readonly paginateBy?: number | undefined;
  /** Setting `storage_max_fetch_size`. */
  readonly maxFetchSize: number;
  /** Setting `max_page_bytes`. */
  readonly maxPageBytes?: number | undefined;
  readonly maxFilters?: number | undefined;
  readonly selectors?: SelectorLimits | undefined;
  /** Maximum length of a text query, in characters. */
  readonly maxSearchChars?: number | undefined;
  readonly maxSortKeys?: number | undefined;
}

export interface QueryOptions {
  readonly traits: ListTraits;
  readonly limits: QueryLimits;
  /** Limits the work of the query; default: one with the default maximum. */
  readonly budget?: QueryBudget | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  /** Key of authenticated page tokens; without one, tokens are not authenticated. */
  readonly tokenKey?: Buffer | undefined;
}

/** A query for one page, with further values that the response needs. `limit` is the effective one, as in `Next-Page`. */
export interface ListQuery extends PageQuery {
  readonly budget: QueryBudget;
  readonly includeDeleted: boolean;
  /** The token that gave `after`. */
  readonly token: PageToken | undefined;
  readonly projection: Projection | undefined;
  /** The text query. */
  readonly text: TextQuery | undefined;
  /**
   * Conditions whose effect is marked: `filters` are those on the timestamp alone, and a live object that does not match these
   * is shown as gone. `undefined`: `filters` are all filters, and `text` selects as well.
   */
  readonly goneUnless: Marking | undefined;
}

/** Conditions that an object matches unless it is shown as gone. */
export interface Marking {
  readonly filters: readonly Filter[];
  readonly search?: TextSearch | undefined;
}

const defaultMaxFilters = 100;
const defaultMaxSortKeys = 20;
const storedUniqueFields: readonly string[] = ['last_modified', 'id'];
const storedTextFields: readonly string[] = ['id'];

/**
 * Returns the query of the parameters.
 *
 * @throws ServiceError invalidParameters with all issues, including those of the parameters themselves
 */
export function resolveQuery(parameters: ListParameters, options: QueryOptions): ListQuery {
  const { traits, limits } = options;
  const issues: Issue[] = [...parameters.issues];
  const asked = resolveFilters(parameters, options, issues);
  const search = readText(parameters, limits, issues);
  const sort = resolveSort(parameters, options, issues);
  const projection = readProjection(parameters.fields, traits, issues);
  const requiredFields = traits.uniqueFields ?? storedUniqueFields;
  const { token: text } = parameters;
  const token = text === undefined ? undefined : parseToken(text, sort, { requiredFields, key: options.tokenKey });
  if (text !== undefined && token === undefined) issues.push(issueOf(null, 'the page token is not valid here'));
  if (issues.length > 0) throw invalidParameters(issues);
  const filters = traits.ignoreTimestamps ? asked.filter(({ field }) => !isTimestampField(field)) : asked;
  const [selecting, marking] = parameters.gone ? splitFilters(filters) : [filters, []];
  const isMarked = marking.length > 0 || (parameters.gone && search !== undefined);
  return {
    filters: selecting,
    text: search,
    goneUnless: isMarked ? { filters: marking } : undefined,
    includeDeleted: filters.some(({ field }) => isTimestampField(field)),
    sort,
    limit: effectiveLimit(parameters.limit, limits),
    maxBytes: limits.maxPageBytes,
    after: token?.position,
    budget: options.budget ?? new QueryBudget(),
    token,
    projection,
  };
}

/** Splits filters into those that are ranges of timestamps, and the others. */
function splitFilters(filters: readonly Filter[]): readonly [readonly Filter[], readonly Filter[]] {
  const isRange = (filter: Filter): boolean => timestampRangeOf(filter) !== undefined;
  return [filters.filter(isRange), filters.filter((filter) => !isRange(filter))];
}

/** Default of the maximum length of a text query. */
const defaultMaxSearchChars = 500;

function readText({ text }: ListParameters, limits: QueryLimits, issues: Issue[]): TextQuery | undefined {
  if (text === undefined) return undefined;
  const { maxSearchChars = defaultMaxSearchChars } = limits;
  const query =
    text.length > maxSearchChars ? `more than ${maxSearchChars} characters (max_search_chars)` : parseTextQuery(text);
  if (typeof query !== 'string') return query;
  issues.push(issueOf('_q', query));
  return undefined;
}

function resolveFilters(
  parameters: ListParameters,
  { traits, limits, now }: QueryOptions,
  issues: Issue[],
): readonly Filter[] {
  const filters: Filter[] = [];
  const { since, before } = parameters;
  if (since !== undefined) filters.push({ field: lastModifiedField, operator: 'gt', value: since });
  for (const value of before) filters.push({ field: lastModifiedField, operator: 'lt', value });
  const maxFilters = limits.maxFilters ?? defaultMaxFilters;
  if (parameters.filters.length > maxFilters) {
    issues.push(issueOf(null, `more than ${maxFilters} filters`));
    return filters;
  }
  const selectors = limits.selectors ?? defaultSelectorLimits;
  if (charsOfConditions(parameters) > selectors.maxChars) {
    const name = parameters.selector === undefined ? null : '_filter';
    issues.push(issueOf(name, `more than ${selectors.maxChars} characters of conditions (max_selector_chars)`));
    return filters;
  }
  const filterOptions = {
    now,
    textFields: traits.textFields ?? storedTextFields,
    allows: traits.knownFields === undefined && traits.hiddenFields === undefined ? undefined : allowsOf(traits),
  };
  if (parameters.selector !== undefined) {
    const { allows } = filterOptions;
    const parsed = parseSelector(parameters.selector, { limits: selectors, allows });
    if ('location' in parsed) issues.push(parsed);
    else filters.push(...parsed);
  }
  for (const [name, value] of parameters.filters) {
    const parsed = parseFilter(name, value, filterOptions);
    if ('field' in parsed) filters.push(parsed);
    else issues.push(parsed);
  }
  return filters;
}

function charsOfConditions({ filters, selector = '' }: ListParameters): number {
  return filters.reduce((sum, [name, value]) => sum + name.length + value.length, selector.length);
}

function allowsOf(traits: ListTraits): (field: Field, operator: Condition['operator']) => boolean {
  return (field, operator) =>
    isKnown(field, traits) ||
    ((operator === 'contains' || operator === 'contains_any') && (traits.arrayFields ?? []).includes(field.name));
}

const signAndField = /^([-+ ]?)([\p{L}\p{N}_.]+)$/u;

const bestFirst: SortKey = { field: scoreField, direction: 'descending' };

function resolveSort(
  { sort: text, isRanked }: Pick<ListParameters, 'sort' | 'isRanked'>,
  { traits, limits }: QueryOptions,
  issues: Issue[],
): readonly SortKey[] {
  const { tieBreakers = newestFirst, uniqueFields = storedUniqueFields, ignoreTimestamps } = traits;
  if (text === undefined) return upToUnique(isRanked ? [bestFirst, ...tieBreakers] : tieBreakers, uniqueFields);
  const keys: SortKey[] = [];
  const names = new Set<string>();
  // A later key of the same name has no effect.
  const add = (key: SortKey): void => {
    if (names.has(key.field.name) || (ignoreTimestamps && isTimestampField(key.field))) return;
    names.add(key.field.name);
    keys.push(key);
  };
  for (const part of text.split(',')) {
    const match = signAndField.exec(part);
    if (match === null) continue;
    const field = isRanked && match[2] === scoreField.name ? scoreField : parseField(match[2]!);
    if (field === scoreField || isKnown(field, traits))
      add({ field, direction: match[1] === '-' ? 'descending' : 'ascending' });
    else issues.push(issueOf(null, `objects of this list have no field ${field.name} to sort by`));
  }
  const maxSortKeys = limits.maxSortKeys ?? defaultMaxSortKeys;
  if (keys.length > maxSortKeys) issues.push(issueOf(null, `more than ${maxSortKeys} sort keys`));
  for (const key of tieBreakers) add(key);
  return upToUnique(keys, uniqueFields);
}

/** Drops keys after a unique one: they have no effect, and storage expects the last key to be unique. */
function upToUnique(keys: readonly SortKey[], uniqueFields: readonly string[]): readonly SortKey[] {
  const index = keys.findIndex(({ field }) => uniqueFields.includes(field.name));
  return index === -1 ? keys : keys.slice(0, index + 1);
}

/** Members that every response shows, for all kinds. */
const alwaysShown: readonly string[] = ['id', 'last_modified', 'deleted'];

function readProjection(text: string | undefined, traits: ListTraits, issues: Issue[]): Projection | undefined {
  if (text === undefined) return undefined;
  const projection = parseFields(text);
  const { knownFields, arrayFields = [] } = traits;
  if (knownFields !== undefined) {
    const unknown = [...projection.keys()].filter(
      (name) => !knownFields.includes(name) && !arrayFields.includes(name) && !alwaysShown.includes(name),
    );
    if (unknown.length > 0) {
      issues.push(issueOf('Invalid _fields parameter', `objects of this list have no ${unknown.join(', ')}`));
    }
  }
  return projection;
}

function effectiveLimit(asked: number | undefined, { paginateBy, maxFetchSize }: QueryLimits): number {
  // A page size of 0 or less means that none is set.
  const page = paginateBy !== undefined && paginateBy > 0 ? paginateBy : Infinity;
  return Math.max(1, Math.min(asked ?? page, page, maxFetchSize));
}

/** Whether a field may be used. Parts of a known field are known; timestamps are known even when they are ignored. */
function isKnown(field: Field, { knownFields, hiddenFields, ignoreTimestamps }: ListTraits): boolean {
  if (hiddenFields?.some((name) => name === field.name || name === field.path[0]) === true) return false;
  if (knownFields === undefined || (ignoreTimestamps && isTimestampField(field))) return true;
  return field.path[0] !== undefined && knownFields.includes(field.path[0]);
}
