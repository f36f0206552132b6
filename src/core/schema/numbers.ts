// Arithmetic on the decimal digits of JSON numbers, so that validation does not see rounded doubles.
import { ExactNumber, type JsonValue } from '../../base/json.ts';

export type JsonNumber = number | ExactNumber;

export function isJsonNumber(value: JsonValue | undefined): value is JsonNumber {
  return typeof value === 'number' || value instanceof ExactNumber;
}

/** Whether the number has no fraction. */
export function isIntegral(value: JsonNumber): boolean {
  if (typeof value === 'number') return Number.isInteger(value);
  const scaled = readScaled(value.text);
  return scaled === undefined ? Number.isInteger(Number(value)) : scaled.exponent >= 0;
}

/** Whether the number is written without fraction and exponent: the definition of an integer up to draft 4. */
export function isWrittenAsInteger(value: JsonNumber): boolean {
  return /^-?\d+$/.test(typeof value === 'number' ? String(value) : value.text);
}

/** Whether `value` divided by `divisor`, which is greater than zero, is an integer. */
export function isMultipleOf(value: JsonNumber, divisor: JsonNumber): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return Number(value) % Number(divisor) === 0;
  const a = readScaled(textOf(value));
  const b = readScaled(textOf(divisor));
  if (a === undefined || b === undefined) return Number.isInteger(Number(value) / Number(divisor));
  const exponent = Math.min(a.exponent, b.exponent);
  return rescale(a, exponent) % rescale(b, exponent) === 0n;
}

/** `digits` × 10^`exponent`. The digits do not end in 0, unless the number is 0. */
interface Scaled {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Maximum number of digits of exact arithmetic, which would take too long beyond; longer numbers are compared as doubles. */
const maxDigits = 1000;

function readScaled(text: string): Scaled | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text);
  if (match === null || text.length > maxDigits) return undefined;
  const [, sign, whole, fraction = '', power = '0'] = match;
  const digits = `${whole!}${fraction}`.replace(/0+$/, '');
  const dropped = whole!.length + fraction.length - digits.length;
  const exponent = Number(power) - fraction.length + dropped;
  if (digits === '' || /^0+$/.test(digits)) return { digits: 0n, exponent: 0 };
  return Math.abs(exponent) > maxDigits ? undefined : { digits: BigInt(`${sign!}${digits}`), exponent };
}

function rescale({ digits, exponent }: Scaled, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}

function textOf(value: JsonNumber): string {
  return typeof value === 'number' ? String(value) : value.text;
}
