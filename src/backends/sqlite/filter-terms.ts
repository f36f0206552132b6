// Single filters as SQL that SQLite evaluates itself. Operator, type and value are all parameters, so that there are
// few different statements: the driver frees one only when it is collected as garbage, and filters are up to strangers.
import type { JsonValue } from '../../base/json.ts';
import type { Comparison, Field, Filter } from '../../core/query/ast.ts';
import { compareValues } from '../../core/query/compare.ts';
import { matchesFilter } from '../../core/query/evaluate.ts';
import type { SqlValue } from './connection.ts';
import { isPlainNumber } from './plain-numbers.ts';
import { isIdField, isTimestampField } from '../../core/query/timestamp-range.ts';

/** A piece of SQL that is true or false, never NULL, and what its question marks stand for. */
export interface Condition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

export const always: Condition = { sql: '1', parameters: [] };
export const never: Condition = { sql: '0', parameters: [] };

const plainKey = /^[A-Za-z0-9_-]+$/;

/** SQLite's names of JSON types in the order of `compareValues`, where missing (NULL) comes last. */
const typeNames: readonly string[] = ['null', 'text', 'integer real', 'true false', 'array', 'object'];

/** Which orders of value and filter an operator accepts: bit 0 less, bit 1 equal, bit 2 greater. */
const acceptedOrders: Readonly<Record<Comparison, number>> = { lt: 1, eq: 2, max: 3, gt: 4, not: 5, min: 6 };

/** The path of a field inside `data`; `undefined` when SQLite could not be trusted to find it. */
export function jsonPathOf({ path }: Field): string | undefined {
  return path.every((key) => plainKey.test(key)) ? `$${path.map((key) => `."${key}"`).join('')}` : undefined;
}

/** Whether the field is a member of the entry itself, or below one, rather than of its attributes. */
export function isOwnField(field: Field): boolean {
  return field.path[0] === 'id' || field.path[0] === 'last_modified';
}

/** A filter on a member of the entry itself; `undefined` when only the evaluator can tell. */
export function compileOwnTerm(filter: Filter): Condition | undefined {
  // Filters on the timestamp have become a range where that is possible.
  if (isTimestampField(filter.field)) return undefined;
  // `id.x` and the like are missing from every entry.
  if (!isIdField(filter.field)) return matchesFilter(undefined, filter) ? always : never;
  switch (filter.operator) {
    case 'has':
      return filter.present ? always : never;
    case 'in':
    case 'exclude': {
      const texts = filter.values.filter((value) => typeof value === 'string');
      return {
        sql: '(e.id IN (SELECT value FROM json_each(?))) = ?',
        parameters: [JSON.stringify(texts), filter.operator === 'in' ? 1 : 0],
      };
    }
    case 'like':
    case 'contains':
    case 'contains_any':
      return undefined;
    default: {
      const { operator, value } = filter;
      const accepted = acceptedOrders[operator];
      if (typeof value !== 'string') return accepts(accepted, compareValues('', value)) ? always : never;
      return { sql: '(? >> (1 + (e.id > ?) - (e.id < ?))) & 1', parameters: [accepted, value, value] };
    }
  }
}

/** A filter on an attribute, for rows that hold plain numbers only; `undefined` when only the evaluator can tell. */
export function compileAttributeTerm(filter: Filter): Condition | undefined {
  const path = jsonPathOf(filter.field);
  if (path === undefined) return undefined;
  switch (filter.operator) {
    case 'has':
      return { sql: '(json_type(e.data, ?) IS NOT NULL) = ?', parameters: [path, filter.present ? 1 : 0] };
    case 'in':
    case 'exclude':
      return compileMembership(path, filter.values, filter.operator === 'in');
    case 'like':
    case 'contains':
    case 'contains_any':
      return undefined;
    default:
      return compileComparison(path, acceptedOrders[filter.operator], filter.value);
  }
}

/** Values of one type are compared by SQLite, others by the order of types; missing comes out of the ELSE branch. */
function compileComparison(path: string, accepted: number, value: JsonValue): Condition | undefined {
  const rank = scalarRank(value);
  if (rank === undefined) return undefined;
  const bound = bindScalar(value);
  return {
    sql: `(? >> CASE WHEN instr(?, json_type(e.data, ?))
      THEN 1 + ifnull(json_extract(e.data, ?) > ?, 0) - ifnull(json_extract(e.data, ?) < ?, 0)
      WHEN instr(?, json_type(e.data, ?)) THEN 0 ELSE 2 END) & 1`,
    parameters: [accepted, typeNames[rank]!, path, path, bound, path, bound, typeNames.slice(0, rank).join(' '), path],
  };
}

/** Lists of one type only; `null` is left to the evaluator, too, because nothing equals NULL in SQL. */
function compileMembership(path: string, values: readonly JsonValue[], wanted: boolean): Condition | undefined {
  const ranks = new Set(values.map(scalarRank));
  if (values.length === 0) return wanted ? never : always;
  const [rank] = ranks;
  if (ranks.size > 1 || rank === undefined || rank === 0) return undefined;
  return {
    sql: `(CASE WHEN instr(?, json_type(e.data, ?)) THEN json_extract(e.data, ?) IN (SELECT value FROM json_each(?))
      ELSE 0 END) = ?`,
    parameters: [typeNames[rank]!, path, path, JSON.stringify(values.map(bindScalar)), wanted ? 1 : 0],
  };
}

/** Place of the value's type in the order of types; `undefined` when SQLite cannot compare the value itself. */
function scalarRank(value: JsonValue): number | undefined {
  if (value === null) return 0;
  if (typeof value === 'string') return 1;
  if (typeof value === 'boolean') return 3;
  return isPlainNumber(value) ? 2 : undefined;
}

/** SQLite's JSON functions give booleans as 1 and 0. */
function bindScalar(value: JsonValue): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  return value === true ? 1 : 0;
}

function accepts(accepted: number, order: number): boolean {
  return ((accepted >> (1 + Math.sign(order))) & 1) === 1;
}
