// Numbers that doubles cannot hold as they were written, `1.0` and `12345678901234567890` among them. What came in goes
// out, digit by digit; compared are values.

/** A number as it was written. */
export class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** A text that `formatJson` makes a number again. */
  toJSON(): string {
    return mark + this.text;
  }
}

const mark = '¤digits:';
const written = /"(?:[^"\\]|\\.)*"|-?\d[-+.\deE]*/g;

/** Most texts have nothing of the kind. */
const suspicious = /\d[.eE]|\d{16}|-0/;

function isExact(token: string): boolean {
  return !token.startsWith('"') && String(Number(token)) !== token;
}

/** A JSON text with all digits. */
export function parseJson(text: string): unknown {
  if (!suspicious.test(text) || !(text.match(written) ?? []).some(isExact)) return JSON.parse(text);
  const marked = text.replaceAll(written, (token) => (isExact(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? new Digits(value.slice(mark.length)) : value,
  );
}

/** The text of a JSON value with all digits. */
export function formatJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(new RegExp(`"${mark}([^"]+)"`, 'g'), '$1');
}

/** Negative, zero or positive. */
export function compareNumbers(a: number | Digits, b: number | Digits): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [one, other] = [decimalOf(a), decimalOf(b)];
  const exponent = Math.min(one.exponent, other.exponent);
  const difference = scaled(one, exponent) - scaled(other, exponent);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Whether nothing stands behind the point. */
export function isWhole(value: number | Digits): boolean {
  return typeof value === 'number' ? Number.isInteger(value) : Number.isInteger(Number(value.text));
}

/** Whether it is larger than any number may be. */
export function isBeyondNumbers(value: unknown): boolean {
  return value instanceof Digits && !Number.isFinite(Number(value.text));
}

/** `digits` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function decimalOf(value: number | Digits): Decimal {
  const text = typeof value === 'number' ? String(value) : value.text;
  const [, sign, whole = '', part = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text)!;
  return { digits: BigInt(sign + whole + part), exponent: Number(power) - part.length };
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}
