// Canonical JSON for signatures: keys sorted by code point, no white space, ASCII only. Clients rebuild the same text
// from the records they received, so the format must never change.
import { ExactNumber, isJsonObject, type JsonValue } from '../../base/json.ts';
import { isLargeJson, StepBudget } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { compareText } from '../../core/query/compare.ts';

/**
 * Formats a value as canonical JSON. Integers keep their digits. Other numbers have the form that JavaScript gives
 * them.
 */
export function formatCanonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || value instanceof ExactNumber) return formatNumber(textOf(value));
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).toSorted(compareText);
  return `{${keys.map((key) => `${quote(key)}:${formatCanonicalJson(value[key]!)}`).join(',')}}`;
}

/** Formats a value as `formatCanonicalJson` does, in steps if the value is large. */
export function* formatCanonicalInSteps(value: JsonValue): Steps<string> {
  if (!isLargeJson(value)) return formatCanonicalJson(value);
  const pieces: string[] = [];
  yield* writeCanonical(value, pieces, new StepBudget());
  return pieces.join('');
}

/** Maximum number of characters escaped in one step. */
const charsPerStep = 16_384;

function* writeCanonical(value: JsonValue, pieces: string[], budget: StepBudget): Steps<void> {
  if (budget.spend(1)) yield;
  if (typeof value === 'string' && value.length > charsPerStep) {
    pieces.push('"');
    // A cut inside a surrogate pair is harmless, because each unit is escaped separately.
    for (let start = 0; start < value.length; start += charsPerStep) {
      pieces.push(quote(value.slice(start, start + charsPerStep)).slice(1, -1));
      yield;
    }
    pieces.push('"');
  } else if (Array.isArray(value)) {
    pieces.push('[');
    for (const [index, item] of (value as readonly JsonValue[]).entries()) {
      if (index > 0) pieces.push(',');
      yield* writeCanonical(item, pieces, budget);
    }
    pieces.push(']');
  } else if (isJsonObject(value)) {
    pieces.push('{');
    const keys = Object.keys(value).toSorted(compareText);
    if (budget.spend(keys.length)) yield;
    for (const [index, key] of keys.entries()) {
      pieces.push(index > 0 ? ',' : '', quote(key), ':');
      yield* writeCanonical(value[key]!, pieces, budget);
    }
    pieces.push('}');
  } else pieces.push(formatCanonicalJson(value));
}

/**
 * Returns the path of the first number that is not written as an integer (`1.5`, but also `1.0` and `1e3`): names and indexes
 * from the outside in. Returns `undefined` without such a number.
 */
export function findFloat(value: JsonValue): readonly string[] | undefined {
  if (typeof value === 'number' || value instanceof ExactNumber) return isFloat(textOf(value)) ? [] : undefined;
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly JsonValue[]).entries()) {
      const path = findFloat(item);
      if (path !== undefined) return [String(index), ...path];
    }
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      const path = findFloat(value[key]!);
      if (path !== undefined) return [key, ...path];
    }
  }
  return undefined;
}

function textOf(number: number | ExactNumber): string {
  return number instanceof ExactNumber ? number.text : String(number);
}

function isFloat(text: string): boolean {
  return /[.eE]/.test(text);
}

/** Formats a number. `-0` loses its sign, because the integer types of other languages have no negative zero. */
function formatNumber(text: string): string {
  if (isFloat(text)) return String(Number(text));
  return text === '-0' ? '0' : text;
}

const beyondAscii = /[\u0080-\uffff]/g;

function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    beyondAscii,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
