// Suggests what the client probably meant by a query parameter without effect: operators and parameters as other services
// spell them, and typing errors.
import { findClosestMatch } from '../../base/closest-match.ts';

/** Parameters of lists; other names that start with `_` are ignored. */
export const reservedNames = [
  '_since',
  '_before',
  '_to',
  '_limit',
  '_sort',
  '_token',
  '_fields',
  '_filter',
  '_q',
  '_gone',
  '_live',
  '_wait',
  '_explain',
] as const;
export type ReservedName = (typeof reservedNames)[number];

/** Maximum length of a compared name; a longer one is not a typing error. */
const maxNameChars = 60;

/** Operators as other services spell them, with their names here. */
const operators: ReadonlyMap<string, string> = new Map([
  ['gte', 'min'],
  ['ge', 'min'],
  ['gt', 'gt'],
  ['lte', 'max'],
  ['le', 'max'],
  ['lt', 'lt'],
  ['eq', 'eq'],
  ['equals', 'eq'],
  ['exact', 'eq'],
  ['ne', 'not'],
  ['neq', 'not'],
  ['in', 'in'],
  ['nin', 'exclude'],
  ['notin', 'exclude'],
  ['like', 'like'],
  ['ilike', 'like'],
  ['regex', 'like'],
  ['icontains', 'like'],
  ['startswith', 'like'],
  ['endswith', 'like'],
  ['contain', 'contains'],
  ['contains', 'contains'],
  ['exists', 'has'],
]);

/** Matches `minutes__gte`, `minutes[gte]` and `minutes[$gte]`. */
const markedOperator = /^(.+?)(?:__|\[\$?)([a-z]+)\]?$/;
/** Matches the name of `minutes>=3`, which ends before the first `=`. */
const comparison = /^([^<>!]+)([<>!])$/;
const comparisons: ReadonlyMap<string, string> = new Map([
  ['>', 'min'],
  ['<', 'max'],
  ['!', 'not'],
]);
/** Matches `minutes_gte`. Operators that are words are left out, since attributes often end in them. */
const plainOperator = /^(.+)_(gte|lte|gt|lt|ne)$/;

const wholeListWords: readonly (readonly [string, readonly string[]])[] = [
  ['_sort', ['order', 'order_by', 'orderby', 'ordering', 'sort_by', 'sortby']],
  ['_limit', ['per_page', 'page_size', 'count', 'size', 'top', 'max']],
  ['_fields', ['field', 'select', 'only', 'attributes', 'columns', 'projection']],
  ['_since', ['after', 'newer', 'modified_since']],
  ['_before', ['until', 'older']],
  ['the address in the header Next-Page', ['offset', 'skip', 'start', 'page', 'cursor']],
  ['_q', ['search', 'query', 'text', 'fulltext']],
  ['_filter', ['where', 'selector', 'filters']],
];

const knownWords: ReadonlyMap<string, string> = new Map(
  wholeListWords.flatMap(([meant, words]) => words.map((word) => [word, meant] as const)),
);

/** Words above and reserved names that attributes hardly ever have as names. */
const rareAttributes: ReadonlySet<string> = new Set(
  'limit sort fields since before token offset page per_page page_size order order_by orderby ordering sort_by sortby search q query'.split(
    ' ',
  ),
);

const longNames: readonly string[] = reservedNames.filter((name) => name.length > 3);

/**
 * Returns the probable meaning of an ignored parameter that starts with `_`. Returns `undefined` for parameters with a
 * meaning, and for those without a likely one, such as cache busters.
 */
export function suggestReserved(name: string): string | undefined {
  if (name.length < 2 || name.length > maxNameChars || reservedNames.some((known) => known === name)) return undefined;
  const word = name.slice(1).toLowerCase();
  return knownWords.get(word) ?? (name.length < 4 ? undefined : findClosestMatch(name.toLowerCase(), longNames));
}

/**
 * Returns the probable meaning of a filter on equality with an attribute of this name. It is only a hint, since objects may
 * have such an attribute.
 */
export function suggestFilter(name: string): string | undefined {
  if (name.length > maxNameChars) return undefined;
  if (rareAttributes.has(name)) return knownWords.get(name) ?? `_${name}`;
  const underscore = name.indexOf('_');
  const first = underscore === -1 ? '' : name.slice(0, underscore);
  const byPrefix = operators.get(first);
  const field = name.slice(underscore + 1);
  // An operator of this service is read as one, and not as part of a name.
  if (byPrefix !== undefined && field !== '') return byPrefix === first ? undefined : `${byPrefix}_${field}`;
  const [, compared = '', sign = ''] = comparison.exec(name) ?? [];
  const bySign = comparisons.get(sign);
  if (bySign !== undefined) return `${bySign}_${compared}`;
  const [, marked = '', operator = ''] = markedOperator.exec(name) ?? plainOperator.exec(name) ?? [];
  const bySuffix = operators.get(operator);
  return bySuffix === undefined ? undefined : `${bySuffix}_${marked}`;
}
