// JSON values and what the protocol says of them: the order of types, equality, dotted names. Written for the model alone,
// as plainly as possible.

import { compareNumbers, Digits } from './numbers.ts';

export type Json = null | boolean | number | Digits | string | readonly Json[] | JsonMap;
export interface JsonMap {
  readonly [key: string]: Json;
}

/** Whether it is an object and no list. */
export function isMap(value: Json | undefined): value is JsonMap {
  return typeof value === 'object' && value !== null && !isList(value) && !(value instanceof Digits);
}

/** Whether it is a list. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** Whether it is a number, however it is written. */
export function isNumber(value: Json | undefined): value is number | Digits {
  return typeof value === 'number' || value instanceof Digits;
}

/** A member that is the object's own; names such as `constructor` are nothing special. */
export function member(map: JsonMap, key: string): Json | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The object with a member set, or taken away. */
export function withMember(map: JsonMap, key: string, value: Json | undefined): JsonMap {
  const kept = Object.entries(map).filter(([name]) => name !== key);
  return Object.fromEntries(value === undefined ? kept : [...kept, [key, value]]);
}

/** What a dotted name leads to; objects are descended into, nothing else is. */
export function valueAt(map: JsonMap, name: string): Json | undefined {
  let value: Json | undefined = map;
  for (const key of name.split('.')) value = isMap(value) ? member(value, key) : undefined;
  return value;
}

/** querying.md §2.2: null < text < number < boolean < array < object < missing. */
function rank(value: Json | undefined): number {
  if (value === undefined) return 6;
  if (value === null) return 0;
  if (typeof value === 'string') return 1;
  if (isNumber(value)) return 2;
  if (typeof value === 'boolean') return 3;
  return isList(value) ? 4 : 5;
}

/** Negative, zero or positive. */
export function compare(a: Json | undefined, b: Json | undefined): number {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (isList(a) && isList(b)) return a.length - b.length || firstDifference(a, b);
  if (isMap(a) && isMap(b)) {
    const [keysA, keysB] = [Object.keys(a).sort(compare), Object.keys(b).sort(compare)];
    return (
      keysA.length - keysB.length ||
      firstDifference(keysA, keysB) ||
      firstDifference(
        keysA.map((key) => a[key]!),
        keysB.map((key) => b[key]!),
      )
    );
  }
  return 0;
}

function firstDifference(a: readonly Json[], b: readonly Json[]): number {
  return a.map((value, index) => compare(value, b[index])).find((difference) => difference !== 0) ?? 0;
}

/** Whether both are the same value; missing is the same as missing. */
export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return compare(a, b) === 0;
}

/** RFC 7396: objects are merged, `null` takes away, everything else replaces. */
export function mergeDeep(target: Json | undefined, patch: Json): Json {
  if (!isMap(patch)) return patch;
  let merged: JsonMap = isMap(target) ? target : {};
  for (const [key, value] of Object.entries(patch)) {
    merged = withMember(merged, key, value === null ? undefined : mergeDeep(member(merged, key), value));
  }
  return merged;
}

/** querying.md §5: the members asked for, with `id`, `last_modified` and the mark of tombstones. */
export function project(map: JsonMap, names: readonly string[]): JsonMap {
  let shown: JsonMap = {};
  for (const name of names) shown = addPath(shown, map, name.split('.'));
  for (const key of ['id', 'last_modified', ...(member(map, 'deleted') === true ? ['deleted'] : [])]) {
    const value = member(map, key);
    if (value !== undefined) shown = withMember(shown, key, value);
  }
  return shown;
}

function addPath(shown: JsonMap, from: JsonMap, [key = '', ...below]: readonly string[]): JsonMap {
  const value = member(from, key);
  if (value === undefined) return shown;
  if (below.length === 0 || !isMap(value)) return withMember(shown, key, value);
  const known = member(shown, key);
  return withMember(shown, key, addPath(isMap(known) ? known : {}, value, below));
}
