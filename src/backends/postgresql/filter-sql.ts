// Compiles filters into SQL conditions with the meaning that the query evaluator defines. All filters are compiled, so lists
// are never loaded to be filtered here.
import { isIdField, isTimestampField } from '../../core/query/fields.ts';
import { isJsonObject, type JsonValue } from '../../base/json.ts';
import { isCombination, type Combination, type Condition, type Field, type Filter } from '../../core/query/ast.ts';
import { isJsonArray } from '../../core/query/compare.ts';
import { matches, matchesFilter } from '../../core/query/evaluate.ts';
import { jsonbText } from './jsonb-text.ts';
import { fewRepetitions, RowValues } from './row-values.ts';
import { compareSql, jsonb, type SqlContext } from './value-sql.ts';
import { capitalsOf } from '../../core/query/fold-case.ts';

/** The table of the rows, which are always `e`. */
export type Source = 'objects' | 'tombstones';

/** Maximum length of a path. No stored object is deeper, and longer paths would overload the server's parser. */
const maxPathLength = 500;

/** Returns a `jsonb` expression for a field, NULL when it is missing; `undefined` when no row has the field. */
export function fieldSql(context: SqlContext, source: Source, field: Field): string | undefined {
  if (isIdField(field)) return 'to_jsonb(e.id)';
  if (isTimestampField(field)) return 'to_jsonb(e.last_modified)';
  const { path } = field;
  if (path[0] === 'id' || path[0] === 'last_modified' || path.length > maxPathLength) return undefined;
  if (source === 'tombstones') return path.length === 1 && path[0] === 'deleted' ? `'true'::jsonb` : undefined;
  // By key and not by path, since a path reads digits as positions in arrays.
  const read = (): string => `(e.attributes${path.map((key) => ` -> ${context.parameters.addKey(key)}`).join('')})`;
  return context.values?.field(path, read) ?? read();
}

/** Returns the conditions for rows of the table to match all filters. */
export function filtersSql(context: SqlContext, source: Source, filters: readonly Filter[]): readonly string[] {
  // Most queries have too few conditions to repeat a field often enough.
  const mayRepeat = filters.length > fewRepetitions || filters.some(isCombination);
  if (!mayRepeat) return filters.map((filter) => filterSql(context, source, filter));
  const values = new RowValues();
  const conditions = filters.map((filter) => filterSql({ ...context, values }, source, filter));
  if (values.areWorthwhile) return [values.around(conditions.join(' AND '))];
  return filters.map((filter) => filterSql(context, source, filter));
}

/** Returns the condition for rows of the table, which is true or false and never NULL. */
export function filterSql(context: SqlContext, source: Source, filter: Filter): string {
  if (isCombination(filter)) return combine(filter, (each) => filterSql(context, source, each));
  const { field } = filter;
  if (isIdField(field)) {
    const condition = compileId(context, filter);
    if (condition !== undefined) return condition;
  }
  const expression = fieldSql(context, source, field);
  if (expression === undefined) return String(matches({ id: '', lastModified: 0, deleted: true }, [asMissing(filter)]));
  if (filter.operator === 'like') {
    const read = (): string => loweredText(context, searchedText(context, source, field, expression));
    return compileLike(context, context.values?.derived('lowered', expression, read) ?? read(), filter.parts);
  }
  return conditionSql(context, expression, filter);
}

/** Joins the conditions of the branches. */
function combine({ operator, branches }: Combination, compile: (filter: Filter) => string): string {
  const alternatives = branches.map((branch) => `(${branch.map(compile).join(' AND ') || 'true'})`);
  return `${operator === 'nor' ? 'NOT ' : ''}(${alternatives.join(' OR ')})`;
}

/** Returns the condition on a `jsonb` expression, which is NULL when the value is missing. */
function conditionSql(
  context: SqlContext,
  expression: string,
  filter: Exclude<Condition, { operator: 'like' }>,
): string {
  switch (filter.operator) {
    case 'has':
      return `(${expression} IS ${filter.present ? 'NOT ' : ''}NULL)`;
    case 'in':
      return `coalesce(${expression} = ANY (${jsonbList(context, filter.values)}), false)`;
    case 'exclude':
      return `NOT coalesce(${expression} = ANY (${jsonbList(context, filter.values)}), false)`;
    case 'contains':
      return compileContains(context, expression, filter.values);
    case 'contains_any':
      return compileContainsAny(context, expression, filter.values);
    case 'type':
      return `coalesce(jsonb_typeof(${expression}) = ANY (${context.parameters.add(filter.types, 'text[]')}), false)`;
    case 'size':
      return ofArray(
        expression,
        `jsonb_array_length(${expression}) = ${context.parameters.add(filter.size, 'bigint')}`,
      );
    case 'elements':
      return compileElements(context, expression, filter.filters);
    default:
      return compareSql(context, expression, filter.operator, filter.value);
  }
}

/** Whether an element of the array matches all filters, whose fields are those of the element. */
function compileElements(context: SqlContext, expression: string, filters: readonly Filter[]): string {
  // Elements inside elements have names of their own.
  const name = `item${expression.split('item').length}`;
  const compile = (filter: Filter): string => {
    if (isCombination(filter)) return combine(filter, compile);
    if (filter.operator === 'like') throw new TypeError('Elements of arrays are not searched.');
    const { path } = filter.field;
    if (path.length > maxPathLength) return String(matchesFilter(undefined, filter));
    const steps = path.map((key) => ` -> ${context.parameters.addKey(key)}`).join('');
    return conditionSql(context, `(a.${name}${steps})`, filter);
  };
  const conditions = filters.map(compile).join(' AND ') || 'true';
  return ofArray(
    expression,
    `EXISTS (SELECT FROM jsonb_array_elements(${expression}) AS a (${name}) WHERE ${conditions})`,
  );
}

/** Returns the filter on a field that no entry has, so that the evaluator reads a missing value. */
function asMissing(filter: Condition): Condition {
  return { ...filter, field: { name: 'id.x', path: ['id', 'x'] } };
}

/** Returns a condition that the index by id can serve; `undefined` when the filter has none. */
function compileId({ parameters }: SqlContext, filter: Condition): string | undefined {
  if (filter.operator === 'in') {
    const ids = filter.values.filter((value) => typeof value === 'string');
    return `e.id = ANY (${parameters.add(ids, 'text[]')})`;
  }
  if (!('value' in filter) || typeof filter.value !== 'string') return undefined;
  const signs = { eq: '=', not: '<>', lt: '<', max: '<=', gt: '>', min: '>=' };
  return `e.id ${signs[filter.operator]} ${parameters.add(filter.value, 'text')}`;
}

function jsonbList({ parameters }: SqlContext, values: readonly JsonValue[]): string {
  return parameters.add(values.map(jsonbText), 'jsonb[]');
}

/** Returns the text that `like` searches: a text itself, or any other value as sent; NULL for `null` and missing values. */
function searchedText(context: SqlContext, source: Source, field: Field, expression: string): string {
  if (isIdField(field)) return 'e.id';
  if (isTimestampField(field)) return 'e.last_modified::text';
  if (source === 'tombstones') return `'true'`;
  const last = field.path.length - 1;
  const steps = field.path.map((key, index) => ` ${index === last ? '->>' : '->'} ${context.parameters.addKey(key)}`);
  return `CASE jsonb_typeof(${expression}) WHEN 'string' THEN ${expression} #>> '{}'
    ELSE e.data::json${steps.join('')} END`;
}

/**
 * ICU lowers by the rules of Unicode, as JavaScript does, but may be older and not know the newest letters. A server without ICU
 * has the rules of its own language only.
 */
function loweredText({ dialect }: SqlContext, text: string): string {
  return dialect.hasIcu ? `lower((${text}) COLLATE "und-x-icu")` : `lower(${text})`;
}

function compileLike({ parameters }: SqlContext, lowered: string, parts: readonly string[]): string {
  const joined = parts.join('');
  const [capitals, letters] = capitalsOf(joined);
  const folded =
    capitals === ''
      ? lowered
      : `translate(${lowered}, ${parameters.add(capitals, 'text')}, ${parameters.add(letters, 'text')})`;
  const like = `LIKE ${parameters.add(parts.map(escapeLike).join('%') || '%', 'text')}`;
  const longest = parts.reduce((most, { length }) => Math.max(most, length), 0);
  if (longest < longPart) return `coalesce(${folded} COLLATE "C" ${like}, false)`;
  const maxLength = parameters.add(Math.ceil((4 * joined.length ** 2) / longest), 'bigint');
  const expression = parameters.add(`^${parts.map(escapeExpression).join('.*')}$`, 'text');
  // Computed once for both uses.
  const searched = `(SELECT ${folded} COLLATE "C" AS text OFFSET 0) AS searched`;
  return `coalesce((SELECT CASE WHEN length(searched.text) < ${maxLength} THEN searched.text ${like}
    ELSE searched.text ~ ${expression} END FROM ${searched}), false)`;
}

/**
 * Length of a part, in UTF-16 units, from which LIKE may take long: at most 4 ns times the length of the text times that of the
 * longest part. A regular expression takes at most about 15 ns times the square of the length of the pattern, whatever the
 * length of the text, so it is used for texts where that is less.
 */
const longPart = 100;

function escapeExpression(text: string): string {
  return text.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

/** Arrays among the values match by equality, all other values by containment. */
function compileContains(context: SqlContext, expression: string, values: readonly JsonValue[]): string {
  const contained = values.filter((value) => !isJsonArray(value));
  const conditions = values.filter(isJsonArray).map((value) => hasElement(expression, `= ${jsonb(context, value)}`));
  conditions.push(`${expression} @> ${jsonb(context, contained)}`);
  return ofArray(expression, conditions.join(' AND '));
}

/** Objects match by containment. All other values are looked up together, since each test reads the whole array. */
function compileContainsAny(context: SqlContext, expression: string, values: readonly JsonValue[]): string {
  const contained = values.filter(isJsonObject);
  const equal = values.filter((value) => !isJsonObject(value));
  const conditions = contained.map((value) => `${expression} @> ${jsonb(context, [value])}`);
  if (equal.length > 0) conditions.push(hasElement(expression, `= ANY (${jsonbList(context, equal)})`));
  return conditions.length === 0 ? 'false' : ofArray(expression, conditions.join(' OR '));
}

function hasElement(expression: string, test: string): string {
  return `EXISTS (SELECT FROM jsonb_array_elements(${expression}) AS a (item) WHERE a.item ${test})`;
}

function ofArray(expression: string, condition: string): string {
  return `(CASE jsonb_typeof(${expression}) WHEN 'array' THEN ${condition} ELSE false END)`;
}
