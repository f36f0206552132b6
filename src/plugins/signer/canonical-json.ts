// The one text that a JSON value has for signing: keys sorted by code point, no blanks, ASCII only. Clients build the same
// text from what they have received, so nothing of it may ever change.
import { ExactNumber, isJsonObject, type JsonValue } from '../../base/json.ts';
import { isLargeJson, StepBudget } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { compareText } from '../../core/query/compare.ts';

/** Canonical JSON text. Integers keep their digits; other numbers are written as JavaScript writes them. */
export function formatCanonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number' || value instanceof ExactNumber) return formatNumber(textOf(value));
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).toSorted(compareText);
  return `{${keys.map((key) => `${quote(key)}:${formatCanonicalJson(value[key]!)}`).join(',')}}`;
}

/** What `formatCanonicalJson` returns, in steps where the value is large. */
export function* formatCanonicalInSteps(value: JsonValue): Steps<string> {
  if (!isLargeJson(value)) return formatCanonicalJson(value);
  const pieces: string[] = [];
  yield* writeCanonical(value, pieces, new StepBudget());
  return pieces.join('');
}

/** Characters of a text that are written in one step: looking for each that is not ASCII takes long. */
const charsPerStep = 16_384;

function* writeCanonical(value: JsonValue, pieces: string[], budget: StepBudget): Steps<void> {
  if (budget.spend(1)) yield;
  if (typeof value === 'string' && value.length > charsPerStep) {
    pieces.push('"');
    // Characters of two units may be cut: each unit is escaped by itself.
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

/** Whether the value is or holds a number that is not written as an integer: `1.5`, but `1.0` and `1e3` as well. */
export function containsFloat(value: JsonValue): boolean {
  if (typeof value === 'number' || value instanceof ExactNumber) return isFloat(textOf(value));
  if (Array.isArray(value)) return value.some(containsFloat);
  return isJsonObject(value) && Object.keys(value).some((key) => containsFloat(value[key]!));
}

function textOf(number: number | ExactNumber): string {
  return number instanceof ExactNumber ? number.text : String(number);
}

function isFloat(text: string): boolean {
  return /[.eE]/.test(text);
}

/** Only languages with several types of numbers know a negative integer zero, and they write it without the sign. */
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
