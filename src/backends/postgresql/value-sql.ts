// Compares JSON values in the order of `compareValues`, as SQL on `jsonb`. The order of PostgreSQL differs for texts, which
// follow the language of the database, for the empty array and for missing values (NULL).
import type { JsonValue } from '../../base/json.ts';
import type { Comparison } from '../../core/query/ast.ts';
import { isJsonArray } from '../../core/query/compare.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Dialect } from './dialect.ts';
import { jsonbText } from './jsonb-text.ts';
import type { Parameters } from './parameters.ts';
import type { RowValues } from './row-values.ts';

export interface SqlContext {
  readonly parameters: Parameters;
  readonly dialect: Dialect;
  /** Values that are computed once for each row; absent: each condition computes its own. */
  readonly values?: RowValues | undefined;
}

const operatorSql = { lt: '<', max: '<=', gt: '>', min: '>=' } as const;

/**
 * Returns a condition, true or false and never NULL, on a `jsonb` expression that is NULL when the value is missing.
 *
 * @param value `undefined` is the missing value, which is above all others
 */
export function compareSql(
  context: SqlContext,
  expression: string,
  operator: Comparison,
  value: JsonValue | undefined,
): string {
  if (value === undefined) return compareWithMissing(expression, operator);
  if (operator === 'eq') return `coalesce(${expression} = ${jsonb(context, value)}, false)`;
  if (operator === 'not') return `(${expression} IS DISTINCT FROM ${jsonb(context, value)})`;
  const sign = operatorSql[operator];
  const isAbove = operator === 'gt' || operator === 'min';
  if (typeof value === 'string') {
    const text = `(${expression} #>> '{}') COLLATE "C" ${sign} ${context.parameters.add(value, 'text')}`;
    return byType(expression, { string: text, null: String(!isAbove) }, isAbove);
  }
  if (isJsonArray(value) || isJsonObject(value)) {
    const type = isJsonArray(value) ? 'array' : 'object';
    // The subselect is computed once, and not for each object.
    const wanted = `(SELECT ${comparable(context, jsonb(context, value))})`;
    const same = `${comparable(context, expression)} ${sign} ${wanted}`;
    const above = type === 'array' ? { object: String(isAbove) } : {};
    const below = type === 'array' ? scalarTypes : [...scalarTypes, 'array'];
    return byType(
      expression,
      { [type]: same, ...Object.fromEntries(below.map((name) => [name, String(!isAbove)])), ...above },
      isAbove,
    );
  }
  // PostgreSQL orders the empty array below all scalars.
  const wanted = jsonb(context, value);
  return isAbove
    ? `coalesce(${expression} ${sign} ${wanted} OR ${expression} = '[]', true)`
    : `coalesce(${expression} ${sign} ${wanted} AND ${expression} <> '[]', false)`;
}

const scalarTypes = ['null', 'string', 'number', 'boolean'];

function compareWithMissing(expression: string, operator: Comparison): string {
  switch (operator) {
    case 'eq':
    case 'min':
      return `(${expression} IS NULL)`;
    case 'not':
    case 'lt':
      return `(${expression} IS NOT NULL)`;
    case 'max':
      return 'true';
    case 'gt':
      return 'false';
  }
}

/** Returns one condition for each type of the value, and `otherwise` for missing values and other types. */
function byType(expression: string, conditions: Readonly<Record<string, string>>, otherwise: boolean): string {
  const branches = Object.entries(conditions).map(([type, condition]) => `WHEN '${type}' THEN ${condition}`);
  return `(CASE jsonb_typeof(${expression}) ${branches.join(' ')} ELSE ${otherwise} END)`;
}

/** Returns an array or object in a form that PostgreSQL orders as the protocol does. */
function comparable({ dialect, values }: SqlContext, expression: string): string {
  if (dialect.ordersByCodePoint) return expression;
  const form = `coffer_comparable(${expression})`;
  return values?.derived('comparable', expression, () => containersAs(expression, form)) ?? form;
}

/** Returns an expression for the form of arrays and objects, and for other values as they are. */
function containersAs(expression: string, form: string): string {
  return `CASE jsonb_typeof(${expression}) WHEN 'array' THEN ${form} WHEN 'object' THEN ${form} ELSE ${expression} END`;
}

/** Adds a JSON value as a parameter. */
export function jsonb({ parameters }: SqlContext, value: JsonValue): string {
  return parameters.add(jsonbText(value), 'jsonb');
}

/** Returns the keys that sort the values of an expression in the order of `compareValues`, missing values last. */
export function orderSql(
  context: SqlContext,
  expression: string,
  direction: 'ascending' | 'descending',
): readonly string[] {
  const type = `jsonb_typeof(${expression})`;
  // The type as a digit, followed by a text: one key orders most values. NULL, for missing values, is above all.
  const typeAndText = `(CASE ${type} WHEN 'string' THEN '1' || (${expression} #>> '{}') WHEN 'number' THEN '2'
    WHEN 'null' THEN '0' WHEN 'boolean' THEN '3' WHEN 'array' THEN '4' WHEN 'object' THEN '5' END) COLLATE "C"`;
  const form = comparable(context, expression);
  // Values with equal texts are equal.
  const value = form === expression ? form : containersAs(expression, form);
  return [typeAndText, value].map((key) => `${key} ${direction === 'ascending' ? 'ASC' : 'DESC'}`);
}
