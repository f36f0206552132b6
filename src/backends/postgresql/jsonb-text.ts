// JSON text that `jsonb` can read. Its numbers are exact decimals with at most 16,383 digits after the point, and what
// goes beyond is only approximated; everything else is as it was sent.
import { formatJson, type JsonValue } from '../../base/json.ts';
import { refusedByServer } from './connection.ts';

const maxFraction = 16_383;
// A cheap look first: a long run of digits, or an exponent that may be too far down.
const mayBeExtreme = /\d{4}\.?\d{12000}|\.\d{16000}|[eE]-\d{4}/;
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The text with its extreme numbers replaced; `undefined` when it holds none, as nearly all. */
export function findJsonbText(text: string): string | undefined {
  if (!mayBeExtreme.test(text)) return undefined;
  const changed = text.replaceAll(tokens, (token) => (token.startsWith('"') ? token : approximate(token)));
  return changed === text ? undefined : changed;
}

/** A value of a query as JSON text that `jsonb` can read. */
export function jsonbText(value: JsonValue): string {
  const text = formatJson(value);
  return holdsUnstorable(text) ? refusedByServer : (findJsonbText(text) ?? text);
}

const unstorable = /\\u(?:0000|d[89a-f])/i;

/** Whether JSON text holds an escaped null character or lone surrogate; an escaped backslash begins no escape. */
function holdsUnstorable(text: string): boolean {
  return unstorable.test(text) && unstorable.test(text.replaceAll('\\\\', ''));
}

function approximate(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts.exec(token) ?? [];
  const digits = whole + fraction;
  // The number is its digits times ten to the power of minus this.
  const scale = fraction.length - Number(exponent);
  if (scale <= maxFraction) return token;
  if (/^0*$/.test(digits)) return '0';
  const kept = digits.slice(0, Math.max(0, digits.length - (scale - maxFraction))).replace(/^0+/, '');
  // What is too small to be told from zero is still not zero.
  return `${sign}${kept === '' ? '1' : kept}e-${maxFraction}`;
}
