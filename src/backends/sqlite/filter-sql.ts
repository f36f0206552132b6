// Compiles the filters of a query into one SQL condition. Where SQLite would differ from the query evaluator (exact numbers,
// odd keys, arrays, objects, most text search), the condition calls the evaluator through `coffer_matches`. Operator, type and
// value are parameters, which keeps the number of different statements small: clients choose the filters, and the driver frees
// statements by garbage collection.
import type { JsonValue } from '../../base/json.ts';
import {
  isCombination,
  jsonTypes,
  type Comparison,
  type Field,
  type Filter,
  type JsonType,
} from '../../core/query/ast.ts';
import { compareValues } from '../../core/query/compare.ts';
import { matches, matchesFilter } from '../../core/query/evaluate.ts';
import { isIdField, isTimestampField } from '../../core/query/fields.ts';
import type { SqlValue } from './connection.ts';
import { isPlainNumber } from './plain-numbers.ts';

/** A piece of SQL that is true or false and never NULL, with its parameters. */
export interface Condition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

const always: Condition = { sql: '1', parameters: [] };
const never: Condition = { sql: '0', parameters: [] };

/** Calls the query evaluator for a live object. */
const askEvaluator: Condition = { sql: 'coffer_matches(e.id, e.last_modified, e.data)', parameters: [] };
const askEvaluatorOfTombstone: Condition = { sql: 'coffer_matches(e.id, e.last_modified, NULL)', parameters: [] };

/** Maximum number of terms that SQLite evaluates itself. More would make too many different statements for their benefit. */
const maxTerms = 2;

const plainKey = /^[A-Za-z0-9_-]+$/;

/** SQLite's names of JSON types in the order of `compareValues`; missing (NULL) comes last. */
const typeNames: readonly string[] = ['null', 'text', 'integer real', 'true false', 'array', 'object'];

/** The results of a comparison that an operator accepts: bit 0 less, bit 1 equal, bit 2 greater. */
const acceptedOrders: Readonly<Record<Comparison, number>> = { lt: 1, eq: 2, max: 3, gt: 4, not: 5, min: 6 };

/** Returns the path of a field inside `data`; `undefined` when SQLite may not find it. */
export function jsonPathOf({ path }: Field): string | undefined {
  return path.every((key) => plainKey.test(key)) ? `$${path.map((key) => `."${key}"`).join('')}` : undefined;
}

/**
 * Returns whether the field is, or lies below, a member of the entry itself and not an attribute. The field of a combination is
 * `undefined`.
 */
export function isOwnField(field: Field | undefined): boolean {
  const first = field?.path[0];
  return first === 'id' || first === 'last_modified';
}

/** Returns the condition for live objects `e` of the table `objects`; `never` when no object can match. */
export function liveCondition(filters: readonly Filter[]): Condition | 'never' | undefined {
  const own = filters.filter(({ field }) => isOwnField(field)).map(compileOwnTerm);
  const ofAttributes = filters.filter(({ field }) => !isOwnField(field)).map(compileAttributeTerm);
  const condition = conjunction([...own, ...ofAttributes], askEvaluator);
  if (condition === undefined || condition === 'never' || condition === askEvaluator) return condition;
  if (ofAttributes.length === 0) return condition;
  const { sql, parameters } = condition;
  return { sql: `CASE WHEN e.plain THEN ${sql} ELSE ${askEvaluator.sql} END`, parameters };
}

/** Returns the condition for tombstones `e` of the table `tombstones`; `never` when no tombstone can match. */
export function tombstoneCondition(filters: readonly Filter[]): Condition | 'never' | undefined {
  const terms = filters.map((filter) => {
    // A combination may look at the id.
    if (isCombination(filter)) return undefined;
    if (isOwnField(filter.field)) return compileOwnTerm(filter);
    // All tombstones have the same attributes.
    return matches({ id: '', lastModified: 0, deleted: true }, [filter]) ? always : never;
  });
  return conjunction(terms, askEvaluatorOfTombstone);
}

/**
 * Joins all terms into one condition, in an order that depends on their kinds only. The evaluator, which tests all filters,
 * is called once and last.
 *
 * @param terms `undefined` for filters that only the evaluator can test
 */
function conjunction(terms: readonly (Condition | undefined)[], evaluator: Condition): Condition | 'never' | undefined {
  if (terms.includes(never)) return 'never';
  const native = terms
    .filter((term): term is Condition => term !== undefined && term !== always)
    .toSorted((a, b) => a.sql.length - b.sql.length);
  const chosen = native.slice(0, maxTerms);
  const all = native.length > maxTerms || terms.includes(undefined) ? [...chosen, evaluator] : chosen;
  if (all.length <= 1) return all[0];
  return {
    // CASE instead of AND, since SQLite may evaluate all terms of an AND although the first is false.
    sql: all.reduceRight((rest, { sql }) => (rest === '' ? sql : `(CASE WHEN ${sql} THEN ${rest} ELSE 0 END)`), ''),
    parameters: all.flatMap(({ parameters }) => parameters),
  };
}

/** Compiles a filter on a member of the entry itself; `undefined` when only the evaluator can test it. */
function compileOwnTerm(filter: Filter): Condition | undefined {
  if (isCombination(filter)) return undefined;
  // The planner has turned other filters on the timestamp into a range.
  if (isTimestampField(filter.field)) return undefined;
  // No entry has fields such as `id.x`.
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
    case 'size':
    case 'elements':
    case 'type':
      return undefined;
    default: {
      const { operator, value } = filter;
      const accepted = acceptedOrders[operator];
      if (typeof value !== 'string') return accepts(accepted, compareValues('', value)) ? always : never;
      return { sql: '(? >> (1 + (e.id > ?) - (e.id < ?))) & 1', parameters: [accepted, value, value] };
    }
  }
}

/** Compiles a filter on an attribute, for rows with plain numbers only; `undefined` when only the evaluator can test it. */
export function compileAttributeTerm(filter: Filter): Condition | undefined {
  if (isCombination(filter)) return undefined;
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
    case 'type':
      return compileTypes(path, filter.types);
    case 'contains':
    case 'contains_any':
    case 'size':
    case 'elements':
      return undefined;
    default:
      return compileComparison(path, filter.operator, filter.value);
  }
}

/** SQLite compares values of one type; values of other types follow the order of types. Missing values take ELSE. */
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

/** Each operator as one of two tests, above or below, and the wanted result. */
const orderTests = {
  gt: { isAbove: 1, wanted: 1 },
  max: { isAbove: 1, wanted: 0 },
  lt: { isAbove: 0, wanted: 1 },
  min: { isAbove: 0, wanted: 0 },
} as const;

/** Tests the type, which is NULL for a missing value. */
function compileType(path: string, type: string | null, wanted: boolean): Condition {
  return { sql: '(json_type(e.data, ?) IS ?) = ?', parameters: [path, type, wanted ? 1 : 0] };
}

function compileTypes(path: string, types: readonly JsonType[]): Condition {
  const names = types.map((type) => typeNames[jsonTypes.indexOf(type)]).join(' ');
  return { sql: 'ifnull(instr(?, json_type(e.data, ?)), 0) > 0', parameters: [names, path] };
}

/** Tests the value first, and the type only when the value is equal. */
function compileEquality(path: string, rank: number, value: JsonValue, wanted: boolean): Condition {
  if (value === null) return compileType(path, 'null', wanted);
  return {
    sql: '(CASE WHEN json_extract(e.data, ?) = ? THEN instr(?, json_type(e.data, ?)) > 0 ELSE 0 END) = ?',
    parameters: [path, bindScalar(value), typeNames[rank]!, path, wanted ? 1 : 0],
  };
}

/**
 * Compiles the usual search, for a text anywhere in another one. SQLite lowers ASCII letters only, so its matches are right,
 * and the evaluator tests other texts with characters beyond ASCII.
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

/** Compiles lists of one type. The evaluator tests lists with `null`, since no value equals NULL in SQL. */
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

/** Returns the rank of the value's type in the order of types; `undefined` when SQLite cannot compare the value. */
function scalarRank(value: JsonValue): number | undefined {
  if (value === null) return 0;
  if (typeof value === 'string') return 1;
  if (typeof value === 'boolean') return 3;
  return isPlainNumber(value) ? 2 : undefined;
}

/** SQLite's JSON functions return booleans as 1 and 0. */
function bindScalar(value: JsonValue): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  return value === true ? 1 : 0;
}

function accepts(accepted: number, order: number): boolean {
  return ((accepted >> (1 + Math.sign(order))) & 1) === 1;
}
