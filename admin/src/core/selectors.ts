// Alternatives of the filter builder: conditions of which any must match, as the selector `_filter={"$or":[…]}`.
import { displayText, elementsOf, isObjectText, membersOf } from './json-text.ts';
import { filtersOf, fromFirstPage, partsOfFilter, type Condition } from './list-query.ts';

/** Operators of selectors by the prefix of a filter. */
const selectorOperators: ReadonlyMap<string, string> = new Map([
  ['', '$eq'],
  ['not_', '$ne'],
  ['like_', '$like'],
  ['min_', '$gte'],
  ['max_', '$lte'],
  ['gt_', '$gt'],
  ['lt_', '$lt'],
  ['in_', '$in'],
  ['exclude_', '$nin'],
  ['has_', '$exists'],
  ['contains_any_', '$containsAny'],
  ['contains_', '$contains'],
]);
const lists = ['in_', 'exclude_'];

/** Returns the JSON of a typed value: `5` is a number, `"5"` and words are texts. */
function valueText(typed: string): string {
  const text = typed.trim();
  try {
    JSON.parse(text);
    return text;
  } catch {
    // Not JSON, so it is a text.
    return JSON.stringify(typed);
  }
}

function conditionText({ prefix, field, value }: Condition): string {
  // Ids are texts, also those of digits.
  const isText = prefix === 'like_' || (field === 'id' && prefix !== 'has_' && !value.startsWith('"'));
  const read = isText ? JSON.stringify : valueText;
  const json = lists.includes(prefix)
    ? `[${value
        .split(',')
        .map((part) => read(part))
        .join(',')}]`
    : read(value);
  return `{${JSON.stringify(field)}:{"${selectorOperators.get(prefix) ?? '$eq'}":${json}}}`;
}

/** Returns the query with these conditions as alternatives instead of its own. */
export function withAlternatives(query: URLSearchParams, conditions: readonly Condition[]): URLSearchParams {
  const next = new URLSearchParams([...fromFirstPage(query)].filter(([name]) => name.startsWith('_')));
  next.delete('_filter');
  if (conditions.length > 0) next.set('_filter', `{"$or":[${conditions.map(conditionText).join(',')}]}`);
  return next;
}

/** Returns the query with these conditions, all of which must match, instead of its own. */
export function withAll(query: URLSearchParams, conditions: readonly Condition[]): URLSearchParams {
  const next = withAlternatives(query, []);
  for (const { prefix, field, value } of conditions) next.append(`${prefix}${field}`, value);
  return next;
}

/** Returns the alternatives of a query; `undefined` for a selector that the builder cannot show. */
export function alternativesOf(query: URLSearchParams): readonly Condition[] | undefined {
  const text = query.get('_filter');
  if (text === null) return [];
  try {
    JSON.parse(text);
  } catch {
    // A typed address. The service reports what is wrong.
    return undefined;
  }
  const [alternatives, ...others] = isObjectText(text) ? membersOf(text) : [];
  if (alternatives?.key !== '$or' || others.length > 0 || !alternatives.text.startsWith('[')) return undefined;
  const elements = elementsOf(alternatives.text);
  const conditions = elements.flatMap((element) => readCondition(element) ?? []);
  return conditions.length === elements.length ? conditions : undefined;
}

function readCondition(text: string): Condition | undefined {
  const [field, ...otherFields] = isObjectText(text) ? membersOf(text) : [];
  const [operator, ...others] = field !== undefined && isObjectText(field.text) ? membersOf(field.text) : [];
  if (field === undefined || operator === undefined || otherFields.length + others.length > 0) return undefined;
  const prefix = [...selectorOperators].find(([, name]) => name === operator.key)?.[0];
  if (prefix === undefined) return undefined;
  const isText = prefix === 'like_' || field.key === 'id';
  const show = isText ? displayText : typedOf;
  const isList = lists.includes(prefix) && operator.text.startsWith('[');
  return {
    prefix,
    field: field.key,
    value: isList ? elementsOf(operator.text).map(show).join(',') : show(operator.text),
  };
}

/** Returns what is typed for a value: texts that look like other JSON keep their quotes. */
function typedOf(text: string): string {
  const shown = displayText(text);
  return valueText(shown) === text ? shown : text;
}

/** Returns the conditions of the filters, all of which must match. */
export function conditionsOf(query: URLSearchParams): readonly Condition[] {
  return filtersOf(query).map(([key, value]) => partsOfFilter(key, value));
}
