// JSON text that `jsonb` can parse. Its numbers are exact decimals with at most 16,383 digits after the point. Smaller
// numbers are approximated, and everything else stays unchanged.
import { formatJson, type JsonValue } from '../../base/json.ts';
import { isNumberCode, replaceNumbers, someNumber } from '../../base/json-text.ts';
import { refusedByServer } from './connection.ts';

const maxFraction = 16_383;
/** A shorter number is extreme only by its exponent. */
const minChars = 12_000;
const farDown = /[eE]-\d{4}/;
const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Returns the text with its extreme numbers replaced; `undefined` when it has none, as most texts. Takes linear time. */
export function findJsonbText(text: string): string | undefined {
  if (!mayHoldLongNumber(text) && !mayHoldFarDown(text)) return undefined;
  if (!someNumber(text, mayBeExtreme)) return undefined;
  const changed = replaceNumbers(text, (token) => (mayBeExtreme(token) ? approximate(token) : token));
  return changed === text ? undefined : changed;
}

/** Returns whether a run of characters is long enough for an extreme number. Looks at few of the other characters. */
function mayHoldLongNumber(text: string): boolean {
  for (let start = 0; start + minChars <= text.length;) {
    let at = start + minChars - 1;
    while (at >= start && isNumberCode(text.charCodeAt(at))) at--;
    if (at < start) return true;
    start = at + 1;
  }
  return false;
}

/** Looks for the two texts first, which takes a fraction of the time of the pattern. */
function mayHoldFarDown(text: string): boolean {
  return (text.includes('e-') || text.includes('E-')) && farDown.test(text);
}

function mayBeExtreme(token: string): boolean {
  return token.length >= minChars || farDown.test(token);
}

/** Returns a value of a query as JSON text that `jsonb` can parse. */
export function jsonbText(value: JsonValue): string {
  const text = formatJson(value);
  return holdsUnstorable(text) ? refusedByServer : (findJsonbText(text) ?? text);
}

const unstorable = /\\u(?:0000|d[89a-f])/i;

/** Returns whether JSON text has an escaped null character or lone surrogate; an escaped backslash starts no escape. */
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
  // A number that is too small to distinguish from zero is still not zero.
  return `${sign}${kept === '' ? '1' : kept}e-${maxFraction}`;
}
