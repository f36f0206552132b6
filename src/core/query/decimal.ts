// Numbers as decimal digits, in which no number is rounded.

/** ± 0.`digits` × 10^`exponent`. The digits have no zeros at either end; the number zero has no digits. */
export interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

/** Longer exponents are read as infinite. */
const maxExponentDigits = 15;

/** Reads the text of a JSON number. */
export function readDecimal(text: string): Decimal {
  const negative = text.charCodeAt(0) === 45;
  const mark = text.search(/[eE]/);
  const mantissa = text.slice(negative ? 1 : 0, mark === -1 ? text.length : mark);
  const point = mantissa.indexOf('.');
  const whole = point === -1 ? mantissa : mantissa.slice(0, point);
  const all = point === -1 ? mantissa : whole + mantissa.slice(point + 1);
  let start = 0;
  let end = all.length;
  while (start < end && all.charCodeAt(start) === 48) start++;
  while (end > start && all.charCodeAt(end - 1) === 48) end--;
  if (start === end) return { negative: false, digits: '', exponent: 0 };
  const exponent = mark === -1 ? 0 : readExponent(text.slice(mark + 1));
  return { negative, digits: all.slice(start, end), exponent: exponent + whole.length - start };
}

function readExponent(text: string): number {
  const digits = text.replace(/^[-+]?0*/, '').length;
  if (digits <= maxExponentDigits) return Number(text);
  return text.startsWith('-') ? -Infinity : Infinity;
}
