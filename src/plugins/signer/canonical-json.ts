// The one text that a JSON value has for signing: keys sorted by code point, no blanks, ASCII only. Clients build the same
// text from what they have received, so nothing of it may ever change.
import { ExactNumber, isJsonObject, type JsonValue } from '../../base/json.ts';
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

/** Whether the value is or holds a number that is not written as an integer: `1.5`, but `1.0` and `1e3` as well. */
export function holdsFloat(value: JsonValue): boolean {
  if (typeof value === 'number' || value instanceof ExactNumber) return isFloat(textOf(value));
  if (Array.isArray(value)) return value.some(holdsFloat);
  return isJsonObject(value) && Object.keys(value).some((key) => holdsFloat(value[key]!));
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
