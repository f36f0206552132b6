// What a query parameter that does nothing useful was probably meant to be: operators and parameters as other services
// spell them, and slips of the keyboard.
import { findClosestMatch } from '../../base/closest-match.ts';
import { reservedNames } from './reserved-names.ts';

/** Longer names are no slips, and would cost time. */
const maxNameChars = 60;

/** Operators as others spell them, and what they are here. */
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

/** `minutes__gte`, `minutes[gte]` and `minutes[$gte]`. */
const markedOperator = /^(.+?)(?:__|\[\$?)([a-z]+)\]?$/;
/** `minutes>=3` without an encoded operator: the name ends before the first `=`. */
const comparison = /^([^<>!]+)([<>!])$/;
const comparisons: ReadonlyMap<string, string> = new Map([
  ['>', 'min'],
  ['<', 'max'],
  ['!', 'not'],
]);
/** `minutes_gte`; operators that are words of their own are names of attributes too often. */
const plainOperator = /^(.+)_(gte|lte|gt|lt|ne)$/;

const wholeListWords: readonly (readonly [string, readonly string[]])[] = [
  ['_sort', ['order', 'order_by', 'orderby', 'ordering', 'sort_by', 'sortby']],
  ['_limit', ['per_page', 'page_size', 'count', 'size', 'top', 'max']],
  ['_fields', ['field', 'select', 'only', 'attributes', 'columns', 'projection']],
  ['_since', ['after', 'newer', 'modified_since']],
  ['_before', ['until', 'older']],
  ['the address in the header Next-Page', ['offset', 'skip', 'start', 'page', 'cursor']],
  ['like_ATTRIBUTE', ['search', 'q', 'query']],
  ['ATTRIBUTE=VALUE', ['filter', 'where']],
];

const knownWords: ReadonlyMap<string, string> = new Map(
  wholeListWords.flatMap(([meant, words]) => words.map((word) => [word, meant] as const)),
);

/** Of the words above and the reserved names, those that are hardly ever names of attributes. */
const rareAttributes: ReadonlySet<string> = new Set(
  'limit sort fields since before token offset page per_page page_size order order_by orderby ordering sort_by sortby search q query'.split(
    ' ',
  ),
);

const longNames: readonly string[] = reservedNames.filter((name) => name.length > 3);

/**
 * Returns what a parameter that starts with `_` and is ignored was probably meant to be; `undefined` for parameters that
 * mean something, and for others such as those that keep caches from answering.
 */
export function suggestReserved(name: string): string | undefined {
  if (name.length < 2 || name.length > maxNameChars || reservedNames.some((known) => known === name)) return undefined;
  const word = name.slice(1).toLowerCase();
  return knownWords.get(word) ?? (name.length < 4 ? undefined : findClosestMatch(name.toLowerCase(), longNames));
}

/**
 * Returns what a filter on equality with an attribute of that name was probably meant to be. Only a hint: objects may have
 * such an attribute.
 */
export function suggestFilter(name: string): string | undefined {
  if (name.length > maxNameChars) return undefined;
  if (rareAttributes.has(name)) return knownWords.get(name) ?? `_${name}`;
  const underscore = name.indexOf('_');
  const first = underscore === -1 ? '' : name.slice(0, underscore);
  const byPrefix = operators.get(first);
  const field = name.slice(underscore + 1);
  // What is an operator here is one, and no attribute.
  if (byPrefix !== undefined && field !== '') return byPrefix === first ? undefined : `${byPrefix}_${field}`;
  const [, compared = '', sign = ''] = comparison.exec(name) ?? [];
  const bySign = comparisons.get(sign);
  if (bySign !== undefined) return `${bySign}_${compared}`;
  const [, marked = '', operator = ''] = markedOperator.exec(name) ?? plainOperator.exec(name) ?? [];
  const bySuffix = operators.get(operator);
  return bySuffix === undefined ? undefined : `${bySuffix}_${marked}`;
}
