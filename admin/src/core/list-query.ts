// The query of a list: filters and sorting in the syntax of the API, stored in the address of the page.

/** Prefixes of filters with their labels. */
export const operators: ReadonlyMap<string, string> = new Map([
  ['', 'is'],
  ['not_', 'is not'],
  ['like_', 'contains'],
  ['min_', 'is at least'],
  ['max_', 'is at most'],
  ['gt_', 'is greater than'],
  ['lt_', 'is less than'],
  ['in_', 'is one of (a,b)'],
  ['exclude_', 'is none of (a,b)'],
  ['has_', 'is there (true, false)'],
  ['contains_any_', 'has one of the elements'],
  ['contains_', 'has the element'],
]);

/** A condition of the filter builder. */
export interface Condition {
  /** One of `operators`. */
  readonly prefix: string;
  readonly field: string;
  readonly value: string;
}

/** Parameters of the console's page that are not sent to the service. */
const ofPage = '_tab _page _token _new _view _copy _sample _user _action _after _until _before'.split(' ');

/** Returns the parameters for the service. */
export function listParameters(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !ofPage.includes(name)));
}

/** Returns the address at its first page, as after a change of filters or order. */
export function fromFirstPage(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const name of ['_page', '_token', '_new', '_copy']) next.delete(name);
  return next;
}

/** Returns the query after a click on a column: ascending, then descending, then the default order. */
export function sortedBy(query: URLSearchParams, column: string): URLSearchParams {
  const next = fromFirstPage(query);
  const now = query.get('_sort');
  if (now === `-${column}`) next.delete('_sort');
  else next.set('_sort', now === column ? `-${column}` : column);
  return next;
}

/** Returns the value of `aria-sort`. */
export function sortOf(query: URLSearchParams, column: string): 'ascending' | 'descending' | 'none' {
  const now = query.get('_sort');
  if (now === column) return 'ascending';
  return now === `-${column}` ? 'descending' : 'none';
}

/** Returns the query with a filter added. */
export function withFilter(query: URLSearchParams, filter: Condition): URLSearchParams {
  const next = fromFirstPage(query);
  next.append(`${filter.prefix}${filter.field.trim()}`, filter.value);
  return next;
}

/** Returns the query without a filter. */
export function withoutFilter(query: URLSearchParams, key: string, value: string): URLSearchParams {
  return new URLSearchParams([...fromFirstPage(query)].filter(([name, text]) => name !== key || text !== value));
}

/** Returns the filters of a query: parameters that name attributes. */
export function filtersOf(query: URLSearchParams): readonly (readonly [key: string, value: string])[] {
  return [...query].filter(([key]) => !key.startsWith('_'));
}

/** Returns the label of a filter. */
export function describeFilter(key: string, value: string): string {
  return describeCondition(partsOfFilter(key, value));
}

export function describeCondition({ prefix, field, value }: Condition): string {
  return `${field} ${operators.get(prefix) ?? ''} ${value}`;
}

/** Returns the prefix of a filter, its field and its value. */
export function partsOfFilter(key: string, value: string): Condition {
  const prefix = [...operators.keys()].find((each) => each !== '' && key.startsWith(each)) ?? '';
  return { prefix, field: key.slice(prefix.length), value };
}
