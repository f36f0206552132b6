// Evaluates conditions on stored objects as the service does, for changes that arrive while a subset is loaded.
import { compileSingleRowExpression, toBooleanPredicate, type IR } from '@tanstack/db';
import type { Condition } from './selector.ts';

/** Whether an object matches. May be true for objects that the service would not find, never the other way round. */
export function matchesCondition(condition: Condition | undefined, object: object): boolean {
  return Object.entries(condition ?? {}).every(([key, value]) => {
    if (key === '$and') return (value as Condition[]).every((part) => matchesCondition(part, object));
    if (key === '$or') return (value as Condition[]).some((part) => matchesCondition(part, object));
    // Conditions of the application may use more than the adapter does.
    return key.startsWith('$') || matchesField(value, memberOf(object, key));
  });
}

function matchesField(condition: unknown, value: unknown): boolean {
  if (typeof condition !== 'object' || condition === null) return value === condition;
  const operators = Object.entries(condition);
  if (operators.length === 0 || !operators[0]![0].startsWith('$')) return true;
  return operators.every(([operator, wanted]) => matchesOperator(operator, wanted, value));
}

function matchesOperator(operator: string, wanted: unknown, value: unknown): boolean {
  switch (operator) {
    case '$ne':
      return value !== wanted;
    case '$in':
      return (wanted as readonly unknown[]).includes(value) || typeof value === 'object';
    case '$nin':
      return !(wanted as readonly unknown[]).includes(value);
    case '$exists':
      return (value !== undefined) === wanted;
    case '$gt':
      return compare(value, wanted) > 0;
    case '$gte':
      return compare(value, wanted) >= 0;
    case '$lt':
      return compare(value, wanted) < 0;
    case '$lte':
      return compare(value, wanted) <= 0;
    default:
      return true;
  }
}

const types = ['null', 'string', 'number', 'boolean', 'array', 'object', 'undefined'];

/** Compares in the order of values of the service. Arrays and objects are not compared with each other. */
function compare(value: unknown, wanted: unknown): number {
  const difference = types.indexOf(typeOf(value)) - types.indexOf(typeOf(wanted));
  if (difference !== 0 || typeof value === 'object') return difference;
  // The adapter compares with texts below U+D800 only. With these, all texts compare alike by unit and by code point.
  return value === wanted ? 0 : (value as string) < (wanted as string) ? -1 : 1;
}

/** Returns the type of a value in the terms of the service; `undefined` for a missing one. */
export function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

/** Returns the value at a path with dots. */
export function memberOf(object: object, name: string): unknown {
  let value: unknown = object;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined;
  }
  return value;
}

/** Returns the predicate of a query on rows. */
export function evaluate(where: IR.BasicExpression | undefined): (row: object) => boolean {
  if (where === undefined) return () => true;
  const compiled = compileSingleRowExpression(where);
  return (row) => toBooleanPredicate(compiled(row as Record<string, unknown>) as boolean | null);
}
