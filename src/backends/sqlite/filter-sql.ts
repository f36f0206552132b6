// Filters as SQL conditions. Scalars are compared by SQLite itself; whatever it would see differently from the query
// evaluator (exact numbers, odd keys, arrays, objects, text search) is asked of the evaluator through `coffer_matches`.
import type { JsonValue } from '../../base/json.ts';
import type { Comparison, Field, Filter } from '../../core/query/ast.ts';
import { compareValues } from '../../core/query/compare.ts';
import { matches } from '../../core/query/evaluate.ts';
import type { SqlValue } from './connection.ts';
import { isPlainNumber } from './plain-numbers.ts';
import { isIdField, isTimestampField } from '../sql/timestamp-range.ts';

/** A piece of SQL that is true or false, never NULL, and what its question marks stand for. */
export interface Condition {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

const always: Condition = { sql: '1', parameters: [] };
const never: Condition = { sql: '0', parameters: [] };
const askEvaluator: Condition = { sql: 'coffer_matches(e.id, e.last_modified, e.data)', parameters: [] };
const askEvaluatorOfTombstone: Condition = { sql: 'coffer_matches(e.id, e.last_modified, NULL)', parameters: [] };

const plainKey = /^[A-Za-z0-9_-]+$/;

const operatorSql: Readonly<Record<Comparison, string>> = {
  eq: '=',
  not: '<>',
  lt: '<',
  max: '<=',
  gt: '>',
  min: '>=',
};

/** SQLite's names of JSON types in the order of `compareValues`, where missing (NULL) comes last. */
const typeNames: readonly string[] = ["'null'", "'text'", "'integer','real'", "'true','false'", "'array'", "'object'"];

/** The path of a field inside `data`; `undefined` when SQLite could not be trusted to find it. */
export function jsonPathOf({ path }: Field): string | undefined {
  return path.every((key) => plainKey.test(key)) ? `$${path.map((key) => `."${key}"`).join('')}` : undefined;
}

/** Whether the field is a member of the entry itself rather than of its attributes. */
export function isOwnField(field: Field): boolean {
  return field.path[0] === 'id' || field.path[0] === 'last_modified';
}

/** The condition for live objects, on the table `objects` as `e`. */
export function liveCondition(filters: readonly Filter[]): Condition | undefined {
  const compiled = filters.map((filter) => compileForObject(filter));
  const own = compiled.filter((_, index) => isOwnField(filters[index]!.field));
  const ofAttributes = compiled.filter((_, index) => !isOwnField(filters[index]!.field));
  const conditions = conjunction(own);
  if (ofAttributes.length === 0) return conditions;
  const native = conjunction(ofAttributes);
  if (native === undefined || native === askEvaluator) return conjunction([conditions, native]);
  const checked: Condition = {
    sql: `CASE WHEN e.plain THEN ${native.sql} ELSE ${askEvaluator.sql} END`,
    parameters: native.parameters,
  };
  return conjunction([conditions, checked]);
}

/** The condition for tombstones, on the table `tombstones` as `e`; `never` when none can match. */
export function tombstoneCondition(filters: readonly Filter[]): Condition | 'never' | undefined {
  const conditions: (Condition | undefined)[] = [];
  for (const filter of filters) {
    if (isOwnField(filter.field)) conditions.push(compileOwn(filter) ?? askEvaluatorOfTombstone);
    // Their attributes are the same for all tombstones.
    else if (!matches({ id: '', lastModified: 0, deleted: true }, [filter])) return 'never';
  }
  return conjunction(conditions);
}

/** All conditions in one; the evaluator, who tests all filters anyway, is asked once and last. */
function conjunction(conditions: readonly (Condition | undefined)[]): Condition | undefined {
  const needed = conditions.filter(
    (condition): condition is Condition => condition !== undefined && condition !== always,
  );
  const all = [...needed.filter((condition) => !isEvaluator(condition)), ...new Set(needed.filter(isEvaluator))];
  if (all.length === 0) return undefined;
  if (all.length === 1) return all[0]!;
  return {
    sql: `(${all.map(({ sql }) => sql).join(' AND ')})`,
    parameters: all.flatMap(({ parameters }) => parameters),
  };
}

function isEvaluator(condition: Condition): boolean {
  return condition === askEvaluator || condition === askEvaluatorOfTombstone;
}

function compileForObject(filter: Filter): Condition {
  const native = isOwnField(filter.field) ? compileOwn(filter) : compileAttribute(filter);
  return native ?? askEvaluator;
}

/** Conditions on the id; those on the timestamp have become a range where that is possible. */
function compileOwn(filter: Filter): Condition | undefined {
  if (isTimestampField(filter.field)) return undefined;
  // `id.x` and the like are missing from every entry.
  if (!isIdField(filter.field)) return matches({ id: '', lastModified: 0, deleted: true }, [filter]) ? always : never;
  switch (filter.operator) {
    case 'has':
      return filter.present ? always : never;
    case 'in':
    case 'exclude': {
      const texts = filter.values.filter((value) => typeof value === 'string');
      const not = filter.operator === 'in' ? '' : 'NOT ';
      return { sql: `e.id ${not}IN (SELECT value FROM json_each(?))`, parameters: [JSON.stringify(texts)] };
    }
    case 'like':
    case 'contains':
    case 'contains_any':
      return undefined;
    default: {
      const { operator, value } = filter;
      if (typeof value === 'string') return { sql: `e.id ${operatorSql[operator]} ?`, parameters: [value] };
      return holds(operator, compareValues('', value)) ? always : never;
    }
  }
}

function compileAttribute(filter: Filter): Condition | undefined {
  const path = jsonPathOf(filter.field);
  if (path === undefined) return undefined;
  const type = 'json_type(e.data, ?)';
  switch (filter.operator) {
    case 'has':
      return { sql: `${type} IS ${filter.present ? 'NOT ' : ''}NULL`, parameters: [path] };
    case 'in':
      return compileMembership(path, filter.values, true);
    case 'exclude':
      return compileMembership(path, filter.values, false);
    case 'like':
    case 'contains':
    case 'contains_any':
      return undefined;
    default:
      return compileComparison(path, filter.operator, filter.value);
  }
}

/**
 * Values of the same type are compared by SQLite; for all others the order of types decides. Missing values and types
 * above come out of the ELSE branch, because all operators treat them alike.
 */
function compileComparison(path: string, operator: Comparison, value: JsonValue): Condition | undefined {
  const rank = scalarRank(value);
  if (rank === undefined) return undefined;
  const below = typeNames.slice(0, rank).join(',');
  const same: Condition =
    value === null
      ? holds(operator, 0)
        ? always
        : never
      : { sql: `json_extract(e.data, ?) ${operatorSql[operator]} ?`, parameters: [path, bindScalar(value)] };
  const branches = [`WHEN json_type(e.data, ?) IN (${typeNames[rank]}) THEN ${same.sql}`];
  const parameters: SqlValue[] = [path, ...same.parameters];
  // Below and above differ only for the operators of order.
  if (below !== '' && holds(operator, -1) !== holds(operator, 1)) {
    branches.push(`WHEN json_type(e.data, ?) IN (${below}) THEN ${holds(operator, -1) ? 1 : 0}`);
    parameters.push(path);
  }
  return { sql: `CASE ${branches.join(' ')} ELSE ${holds(operator, 1) ? 1 : 0} END`, parameters };
}

function compileMembership(path: string, values: readonly JsonValue[], wanted: boolean): Condition | undefined {
  const byRank = new Map<number, (string | number)[]>();
  for (const value of values) {
    const rank = scalarRank(value);
    if (rank === undefined) return undefined;
    const members = byRank.get(rank) ?? [];
    members.push(bindScalar(value));
    byRank.set(rank, members);
  }
  const branches: string[] = [];
  const parameters: SqlValue[] = [];
  for (const [rank, members] of byRank) {
    const value = rank === 0 ? '0' : 'json_extract(e.data, ?)';
    branches.push(
      `WHEN json_type(e.data, ?) IN (${typeNames[rank]}) THEN ${value} IN (SELECT value FROM json_each(?))`,
    );
    parameters.push(path, ...(rank === 0 ? [] : [path]), JSON.stringify(members));
  }
  if (branches.length === 0) return wanted ? never : always;
  const isMember = `CASE ${branches.join(' ')} ELSE 0 END`;
  return { sql: wanted ? isMember : `NOT ${isMember}`, parameters };
}

/** Place of the value's type in the order of types; `undefined` when SQLite cannot compare the value itself. */
function scalarRank(value: JsonValue): number | undefined {
  if (value === null) return 0;
  if (typeof value === 'string') return 1;
  if (typeof value === 'boolean') return 3;
  return isPlainNumber(value) ? 2 : undefined;
}

/** SQLite's JSON functions give booleans as 1 and 0. */
function bindScalar(value: JsonValue): string | number {
  if (typeof value === 'string' || typeof value === 'number') return value;
  return value === true ? 1 : 0;
}

/** Whether the operator accepts a value that compares so to the filter's. */
function holds(operator: Comparison, order: number): boolean {
  switch (operator) {
    case 'eq':
      return order === 0;
    case 'not':
      return order !== 0;
    case 'lt':
      return order < 0;
    case 'max':
      return order <= 0;
    case 'gt':
      return order > 0;
    case 'min':
      return order >= 0;
  }
}
