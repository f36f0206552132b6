// Second look at a query string: what its parameters mean for a certain list, as a query that storage can run.
import { invalidParameters, type Issue } from '../errors.ts';
import type { Field, Filter, PageQuery, SortKey } from './ast.ts';
import { lastModifiedField, parseField } from './fields.ts';
import { parseFilter } from './filter-parameter.ts';
import { parseToken, type PageToken } from './page-token.ts';
import { issueOf, type ListParameters } from './parameters.ts';
import { parseFields, type Projection } from './project.ts';
import { newestFirst } from './sort.ts';

/** What distinguishes a list from that of a schema-less kind; every member has the default for those. */
export interface ListTraits {
  /** The fields that objects of this list may have, for filters, sort and `_fields`. Absent: any. */
  readonly knownFields?: readonly string[] | undefined;
  /** Fields about which filters and sorting must not find anything out. */
  readonly hiddenFields?: readonly string[] | undefined;
  /** Further fields, filtered by `contains_` and `contains_any_` only and never sorted by. */
  readonly arrayFields?: readonly string[] | undefined;
  /** Fields compared as text whatever the value looks like; default `id`. */
  readonly textFields?: readonly string[] | undefined;
  /** Fields that every object has, each with a value of its own; default `last_modified` and `id`. */
  readonly uniqueFields?: readonly string[] | undefined;
  /** Appended to every sort, the last by a unique field; default `last_modified` descending. */
  readonly tieBreakers?: readonly SortKey[] | undefined;
  /** Whether filters and sort keys on `last_modified` are checked and then dropped, since nothing here has one. */
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
  readonly maxSortKeys?: number | undefined;
}

export interface QueryOptions {
  readonly traits: ListTraits;
  readonly limits: QueryLimits;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  /** Key that page tokens must be authenticated with. */
  readonly tokenKey?: Buffer | undefined;
}

/** A query for one page, with what the response needs besides. `limit` is the effective one, as in `Next-Page`. */
export interface ListQuery extends PageQuery {
  readonly includeDeleted: boolean;
  /** The token that gave `after`. */
  readonly token: PageToken | undefined;
  readonly projection: Projection | undefined;
}

const defaultMaxFilters = 100;
const defaultMaxSortKeys = 20;
const storedUniqueFields: readonly string[] = ['last_modified', 'id'];
const storedTextFields: readonly string[] = ['id'];

/**
 * The query that the parameters ask for.
 *
 * @throws ServiceError invalidParameters with everything that is wrong, the issues of the first look included
 */
export function resolveQuery(parameters: ListParameters, options: QueryOptions): ListQuery {
  const { traits, limits } = options;
  const issues: Issue[] = [...parameters.issues];
  const asked = resolveFilters(parameters, options, issues);
  const sort = resolveSort(parameters.sort, options, issues);
  const projection = readProjection(parameters.fields, traits, issues);
  const requiredFields = traits.uniqueFields ?? storedUniqueFields;
  const { token: text } = parameters;
  const token = text === undefined ? undefined : parseToken(text, sort, { requiredFields, key: options.tokenKey });
  if (text !== undefined && token === undefined) issues.push(issueOf(null, 'the page token is not valid here'));
  if (issues.length > 0) throw invalidParameters(issues);
  const filters = traits.ignoreTimestamps ? asked.filter(({ field }) => !isTimestamp(field)) : asked;
  return {
    filters,
    includeDeleted: filters.some(({ field }) => isTimestamp(field)),
    sort,
    limit: effectiveLimit(parameters.limit, limits),
    maxBytes: limits.maxPageBytes,
    after: token?.position,
    token,
    projection,
  };
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
  const filterOptions = {
    now,
    textFields: traits.textFields ?? storedTextFields,
    allows: traits.knownFields === undefined && traits.hiddenFields === undefined ? undefined : allowsOf(traits),
  };
  for (const [name, value] of parameters.filters) {
    const parsed = parseFilter(name, value, filterOptions);
    if ('field' in parsed) filters.push(parsed);
    else issues.push(parsed);
  }
  return filters;
}

function allowsOf(traits: ListTraits): (field: Field, operator: Filter['operator']) => boolean {
  return (field, operator) =>
    isKnown(field, traits) ||
    ((operator === 'contains' || operator === 'contains_any') && (traits.arrayFields ?? []).includes(field.name));
}

const signAndField = /^([-+ ]?)([\p{L}\p{N}_.]+)$/u;

function resolveSort(text: string | undefined, { traits, limits }: QueryOptions, issues: Issue[]): readonly SortKey[] {
  const { tieBreakers = newestFirst, uniqueFields = storedUniqueFields, ignoreTimestamps } = traits;
  if (text === undefined) return upToUnique(tieBreakers, uniqueFields);
  const keys: SortKey[] = [];
  const names = new Set<string>();
  // Only the first key of a name decides anything.
  const add = (key: SortKey): void => {
    if (names.has(key.field.name) || (ignoreTimestamps && isTimestamp(key.field))) return;
    names.add(key.field.name);
    keys.push(key);
  };
  for (const part of text.split(',')) {
    const match = signAndField.exec(part);
    if (match === null) continue;
    const field = parseField(match[2]!);
    if (isKnown(field, traits)) add({ field, direction: match[1] === '-' ? 'descending' : 'ascending' });
    else issues.push(issueOf(null, `objects of this list have no field ${field.name} to sort by`));
  }
  const maxSortKeys = limits.maxSortKeys ?? defaultMaxSortKeys;
  if (keys.length > maxSortKeys) issues.push(issueOf(null, `more than ${maxSortKeys} sort keys`));
  for (const key of tieBreakers) add(key);
  return upToUnique(keys, uniqueFields);
}

/** Keys after a unique one never decide anything, and storage wants the last one to be unique. */
function upToUnique(keys: readonly SortKey[], uniqueFields: readonly string[]): readonly SortKey[] {
  const index = keys.findIndex(({ field }) => uniqueFields.includes(field.name));
  return index === -1 ? keys : keys.slice(0, index + 1);
}

/** Kept on every object, whether or not a kind names them. */
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
  // A page size that is not positive means none is set.
  const page = paginateBy !== undefined && paginateBy > 0 ? paginateBy : Infinity;
  return Math.max(1, Math.min(asked ?? page, page, maxFetchSize));
}

/** Parts of a known field are known. Timestamps are known even where they are ignored. */
function isKnown(field: Field, { knownFields, hiddenFields, ignoreTimestamps }: ListTraits): boolean {
  if (hiddenFields?.some((name) => name === field.name || name === field.path[0]) === true) return false;
  if (knownFields === undefined || (ignoreTimestamps && isTimestamp(field))) return true;
  return field.path[0] !== undefined && knownFields.includes(field.path[0]);
}

function isTimestamp(field: Field): boolean {
  return field.name === 'last_modified';
}
