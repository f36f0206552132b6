// Single filters as SQL that SQLite evaluates itself. Operator, type and value are all parameters, so that there are
// few different statements: the driver frees one only when it is collected as garbage, and filters are up to strangers.
import { isIdField, isTimestampField } from '../../core/query/fields.ts';
import type { JsonValue } from '../../base/json.ts';
import type { Comparison, Field, Filter } from '../../core/query/ast.ts';
import { compareValues } from '../../core/query/compare.ts';
import { matchesFilter } from '../../core/query/evaluate.ts';
import type { SqlValue } from './connection.ts';
import { isPlainNumber } from './plain-numbers.ts';

/** A piece of SQL that is true or false, never NULL, and what its question marks stand for. */
export interface Condition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

export const always: Condition = { sql: '1', parameters: [] };
export const never: Condition = { sql: '0', parameters: [] };

/** The query evaluator's word on a live object. */
export const askEvaluator: Condition = { sql: 'coffer_matches(e.id, e.last_modified, e.data)', parameters: [] };

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
      return compileType(path, null, !filter.present);
    case 'in':
    case 'exclude':
      return compileMembership(path, filter.values, filter.operator === 'in');
    case 'like':
      return compileSearch(path, filter.parts);
    case 'contains':
    case 'contains_any':
      return undefined;
    default:
      return compileComparison(path, filter.operator, filter.value);
  }
}

/** Values of one type are compared by SQLite, others by the order of types; missing comes out of the ELSE branch. */
function compileComparison(path: string, operator: Comparison, value: JsonValue): Condition | undefined {
  const rank = scalarRank(value);
  if (rank === undefined) return undefined;
  if (operator === 'eq' || operator === 'not') return compileEquality(path, rank, value, operator === 'eq');
  const { isAbove, wanted } = orderTests[operator];
  const bound = bindScalar(value);
  const [sameType, lowerTypes] = [typeNames[rank]!, typeNames.slice(0, rank).join(' ')];
  return {
    sql: `(CASE WHEN instr(?, json_type(e.data, ?))
      THEN ifnull(CASE WHEN ? THEN json_extract(e.data, ?) > ? ELSE json_extract(e.data, ?) < ? END, 0)
      WHEN instr(?, json_type(e.data, ?)) THEN ? ELSE ? END) = ?`,
    parameters: [sameType, path, isAbove, path, bound, path, bound, lowerTypes, path, 1 - isAbove, isAbove, wanted],
  };
}

/** Two tests, whether the value is above and whether it is below, and their opposites. */
const orderTests = {
  gt: { isAbove: 1, wanted: 1 },
  max: { isAbove: 1, wanted: 0 },
  lt: { isAbove: 0, wanted: 1 },
  min: { isAbove: 0, wanted: 0 },
} as const;

/** The type, NULL where there is no value. */
function compileType(path: string, type: string | null, wanted: boolean): Condition {
  return { sql: '(json_type(e.data, ?) IS ?) = ?', parameters: [path, type, wanted ? 1 : 0] };
}

/** The type is looked at only where the value is the same. */
function compileEquality(path: string, rank: number, value: JsonValue, wanted: boolean): Condition {
  if (value === null) return compileType(path, 'null', wanted);
  return {
    sql: '(CASE WHEN json_extract(e.data, ?) = ? THEN instr(?, json_type(e.data, ?)) > 0 ELSE 0 END) = ?',
    parameters: [path, bindScalar(value), typeNames[rank]!, path, wanted ? 1 : 0],
  };
}

/**
 * The usual search, for a text anywhere in another one. SQLite knows upper and lower case of ASCII alone: it finds what is
 * there, and the evaluator is asked where there may be more.
 */
function compileSearch(path: string, parts: readonly string[]): Condition | undefined {
  const [start, wanted, end] = parts;
  if (parts.length !== 3 || start !== '' || wanted === undefined || end !== '') return undefined;
  return {
    sql: `(CASE ifnull(json_type(e.data, ?), 'null') WHEN 'null' THEN 0 WHEN 'text' THEN
      CASE WHEN instr(lower(json_extract(e.data, ?)), ?) THEN 1
      WHEN octet_length(json_extract(e.data, ?)) = length(json_extract(e.data, ?)) THEN 0 ELSE ${askEvaluator.sql} END
      ELSE ${askEvaluator.sql} END)`,
    parameters: [path, path, wanted, path, path],
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
