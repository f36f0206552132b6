// The one order over all JSON values, and equality and containment that agree with it. Every backend sorts and filters
// as these functions do. Numbers are compared by their decimal digits and never rounded.
import { StepBudget } from '../../base/json-steps.ts';
import { keysOfObject } from '../../base/json-keys.ts';
import { sortInSteps } from '../../base/sort-in-steps.ts';
import { runAtOnce, type Steps } from '../../base/steps.ts';
import { readDecimal, type Decimal } from './decimal.ts';
import { ExactNumber, getKey, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from '../../base/json.ts';

/**
 * Orders any two values: null < string < number < boolean < array < object < missing (`undefined`). Strings by code
 * point; arrays by length, then element by element; objects by the number of keys, then pair by pair in the order of
 * `sortedKeys`, each key by code point before its value (as PostgreSQL's jsonb does it).
 *
 * @returns a negative number, 0 or a positive number
 */
export function compareValues(a: JsonValue | undefined, b: JsonValue | undefined): number {
  if (a === b) return 0;
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  // Of one type and different, so one of them is `true`.
  if (typeof a === 'boolean') return a ? 1 : -1;
  if (isJsonArray(a) && isJsonArray(b)) return compareArrays(a, b);
  if (isJsonObject(a) && isJsonObject(b)) return compareObjects(a, b);
  return 0;
}

/** Whether the values are equal in the order of `compareValues`: `1.0` equals `1`, and the order of keys is ignored. */
export function equalValues(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' && typeof b !== 'object') return false;
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0;
  if (isJsonArray(a)) {
    if (!isJsonArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equalValues(a[i], b[i])) return false;
    return true;
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) if (!Object.hasOwn(b, key) || !equalValues(a[key], b[key])) return false;
  return true;
}

/** Returns the result of `equalValues`, in steps. */
export function* equalInSteps(a: JsonValue | undefined, b: JsonValue | undefined, budget: StepBudget): Steps<boolean> {
  if (budget.spend(1)) yield;
  if (isJsonArray(a) && isJsonArray(b)) {
    if (a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!(yield* equalInSteps(a[i], b[i], budget))) return false;
    return true;
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return equalValues(a, b);
  const keys = keysOfObject(a);
  if (keys.length !== keysOfObject(b).length) return false;
  for (const key of keys) if (!Object.hasOwn(b, key) || !(yield* equalInSteps(a[key], b[key], budget))) return false;
  return true;
}

/**
 * Whether an element of a stored array matches a value of a `contains` filter. An object matches elements that contain it,
 * with any further members at any depth. Other values match by equality.
 */
export function containsValue(element: JsonValue, wanted: JsonValue): boolean {
  return isJsonObject(wanted)
    ? isJsonObject(element) && containsMembers(element, wanted)
    : equalValues(element, wanted);
}

function containsMembers(object: JsonObject, wanted: JsonObject): boolean {
  for (const key of Object.keys(wanted)) {
    const value = getKey(object, key);
    if (value === undefined || !containsNested(value, wanted[key]!)) return false;
  }
  return true;
}

/** Arrays inside a wanted object match by containment as well: each wanted element has to match a stored one. */
function containsNested(value: JsonValue, wanted: JsonValue): boolean {
  if (!isJsonArray(wanted)) return containsValue(value, wanted);
  return isJsonArray(value) && wanted.every((item) => value.some((element) => containsNested(element, item)));
}

/** Returns the result of `containsValue`, in steps. */
export function* containsInSteps(element: JsonValue, wanted: JsonValue, budget: StepBudget): Steps<boolean> {
  if (!isJsonObject(wanted)) return yield* equalInSteps(element, wanted, budget);
  if (budget.spend(1)) yield;
  if (!isJsonObject(element)) return false;
  for (const key of keysOfObject(wanted)) {
    const value = getKey(element, key);
    if (value === undefined || !(yield* containsNestedInSteps(value, wanted[key]!, budget))) return false;
  }
  return true;
}

function* containsNestedInSteps(value: JsonValue, wanted: JsonValue, budget: StepBudget): Steps<boolean> {
  if (!isJsonArray(wanted)) return yield* containsInSteps(value, wanted, budget);
  if (!isJsonArray(value)) return false;
  for (const item of wanted) {
    let isFound = false;
    for (const element of value) {
      isFound = yield* containsNestedInSteps(element, item, budget);
      if (isFound) break;
    }
    if (!isFound) return false;
  }
  return true;
}

/** Orders text by code point. This is the order of UTF-8 bytes; the operator `<` compares UTF-16 units. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return x < firstSurrogate || y < firstSurrogate ? x - y : liftSurrogate(x) - liftSurrogate(y);
  }
  return a.length - b.length;
}

const firstSurrogate = 0xd800;

/** Surrogates represent code points above those of all other units. */
function liftSurrogate(unit: number): number {
  return unit < 0xe000 ? unit + 0x2800 : unit - 0x800;
}

/** Number of keys from which on their order is remembered. */
const manyKeys = 100;
const ordersOfLarge = new WeakMap<JsonObject, readonly string[]>();

/** Returns the keys in the order in which objects are compared: by length in UTF-8 bytes, then by code point. */
export function sortedKeys(object: JsonObject): readonly string[] {
  const known = ordersOfLarge.get(object);
  if (known !== undefined) return known;
  const keys = keysOfObject(object);
  if (keys.length >= manyKeys) return runAtOnce(sortManyKeys(object));
  return keys.toSorted((a, b) => Buffer.byteLength(a) - Buffer.byteLength(b) || compareText(a, b));
}

/** Returns the result of `sortedKeys`, in steps. */
export function* sortKeysInSteps(object: JsonObject): Steps<readonly string[]> {
  const isSorted = keysOfObject(object).length < manyKeys || ordersOfLarge.has(object);
  return isSorted ? sortedKeys(object) : yield* sortManyKeys(object);
}

function* sortManyKeys(object: JsonObject): Steps<readonly string[]> {
  const byLength = new Map<number, string[]>();
  const budget = new StepBudget();
  for (const key of keysOfObject(object)) {
    const length = Buffer.byteLength(key);
    const same = byLength.get(length);
    if (same === undefined) byLength.set(length, [key]);
    else same.push(key);
    if (budget.spend(1)) yield;
  }
  const groups: (readonly string[])[] = [];
  for (const [, same] of [...byLength].sort(([a], [b]) => a - b)) {
    groups.push(yield* sortInSteps(same, compareText, sortTexts));
  }
  const sorted = groups.flat();
  ordersOfLarge.set(object, sorted);
  return sorted;
}

/** JavaScript sorts by UTF-16 units in a fraction of the time; the order is the same without surrogates. */
function sortTexts(texts: readonly string[]): readonly string[] {
  return texts.some((text) => surrogate.test(text)) ? texts.toSorted(compareText) : texts.toSorted();
}

const surrogate = /[\ud800-\udfff]/;

function rankOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return 1;
  if (typeof value === 'number') return 2;
  if (typeof value === 'boolean') return 3;
  if (value === undefined) return 6;
  if (value === null) return 0;
  if (value instanceof ExactNumber) return 2;
  return isJsonArray(value) ? 4 : 5;
}

function compareArrays(a: JsonArray, b: JsonArray): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let i = 0; i < a.length; i++) {
    const difference = compareValues(a[i], b[i]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareObjects(a: JsonObject, b: JsonObject): number {
  const more = keysOfObject(a).length - keysOfObject(b).length;
  if (more !== 0) return more;
  const keys = sortedKeys(a);
  const others = sortedKeys(b);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    const other = others[i]!;
    const difference = compareText(key, other) || compareValues(a[key], b[other]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareNumbers(a: number | ExactNumber, b: number | ExactNumber): number {
  // Rounding keeps the order, so digits matter only for numbers with the same nearest double.
  const x = Number(a);
  const y = Number(b);
  if (x !== y) return x < y ? -1 : 1;
  if (typeof a === 'number' && typeof b === 'number') return 0;
  return compareDecimals(readDecimal(textOf(a)), readDecimal(textOf(b)));
}

function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.digits === '' || b.digits === '') return signOf(a) - signOf(b);
  if (a.negative !== b.negative) return a.negative ? -1 : 1;
  const [x, y] = a.negative ? [b, a] : [a, b];
  return x.exponent === y.exponent ? compareText(x.digits, y.digits) : x.exponent < y.exponent ? -1 : 1;
}

function signOf({ negative, digits }: Decimal): number {
  return digits === '' ? 0 : negative ? -1 : 1;
}

function textOf(value: number | ExactNumber): string {
  return typeof value === 'number' ? String(value) : value.text;
}

function isNumber(value: JsonValue | undefined): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

/** `Array.isArray`, but with elements that are JSON values instead of anything. */
export function isJsonArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value);
}
