// Encodes JSON values as bytes whose order, byte by byte, is the order of `compareValues`. No encoding is a prefix of
// another one, so encodings can be joined: the result orders by the first value, then by the second.
import { StepBudget } from '../../base/json-steps.ts';
import { ExactNumber, isJsonObject, type JsonValue } from '../../base/json.ts';
import { runAtOnce, type Steps } from '../../base/steps.ts';
import { isJsonArray, sortKeysInSteps } from './compare.ts';
import { readDecimal } from './decimal.ts';

/** Size of the first buffer, which is enough for most keys. Larger ones would use up the pool of Node.js for small buffers. */
const firstBytes = 64;

/** Collects bytes up to a limit. */
export class KeyBytes {
  readonly #limit: number;
  #bytes: Buffer;
  #length = 0;
  #isCut = false;

  /** @param limit number of bytes after which the rest is dropped; default: none */
  constructor(limit: number = Infinity) {
    this.#limit = limit;
    this.#bytes = Buffer.allocUnsafe(Math.min(limit, firstBytes));
  }

  get length(): number {
    return this.#length;
  }

  /** Number of bytes until the limit. */
  get room(): number {
    return this.#limit - this.#length;
  }

  /** Whether bytes were dropped. */
  isFull(): boolean {
    return this.#isCut;
  }

  byte(value: number): void {
    if (this.#length < this.#bytes.length || this.#grow(1)) this.#bytes[this.#length++] = value;
    else this.#isCut = true;
  }

  /** Appends the UTF-8 bytes of a text. */
  text(text: string): void {
    const { room } = this;
    // No character takes more than three bytes for each of its UTF-16 units.
    const most = text.length * 3;
    if (most <= room && (this.#length + most <= this.#bytes.length || this.#grow(most))) {
      this.#length += this.#bytes.write(text, this.#length, 'utf8');
      return;
    }
    const bytes = Buffer.from(text, 'utf8');
    this.#grow(room);
    this.#length += bytes.copy(this.#bytes, this.#length);
    if (bytes.length > room) this.#isCut = true;
  }

  /** Inverts the bytes from an offset on, which reverses their order. */
  invertFrom(start: number): void {
    for (let index = start; index < this.#length; index++) this.#bytes[index]! ^= 0xff;
  }

  /** Makes room for more bytes, as far as the limit allows; returns whether there is room for one. */
  #grow(more: number): boolean {
    const size = Math.min(this.#limit, Math.max(this.#length + more, 2 * this.#bytes.length));
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(size);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    return this.#length < size;
  }

  /** Returns a copy of the bytes. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length));
  }
}

/** First bytes of encodings, in the order of types. */
const tags = {
  null: 0x10,
  text: 0x20,
  number: 0x30,
  false: 0x40,
  true: 0x41,
  array: 0x50,
  object: 0x60,
  missing: 0x70,
};

/** End of a text and of digits: below all their bytes. */
const end = 0x00;

/** Appends the encoding of a value; of a missing one for `undefined`. */
export function encodeValue(bytes: KeyBytes, value: JsonValue | undefined): void {
  if (bytes.isFull()) return;
  if (typeof value === 'string') {
    bytes.byte(tags.text);
    encodeText(bytes, value);
  } else if (typeof value === 'number' || value instanceof ExactNumber) {
    bytes.byte(tags.number);
    encodeNumber(bytes, String(value instanceof ExactNumber ? value.text : value));
  } else if (value === undefined) bytes.byte(tags.missing);
  else if (value === null) bytes.byte(tags.null);
  else if (typeof value === 'boolean') bytes.byte(value ? tags.true : tags.false);
  else runAtOnce(encodeInSteps(bytes, value, new StepBudget()));
}

/** Appends the encoding of a value in steps. */
export function* encodeInSteps(bytes: KeyBytes, value: JsonValue | undefined, budget: StepBudget): Steps<void> {
  if (bytes.isFull()) return;
  if (budget.spend(1)) yield;
  if (isJsonArray(value)) {
    bytes.byte(tags.array);
    encodeCount(bytes, value.length);
    for (const item of value) {
      yield* encodeInSteps(bytes, item, budget);
      if (bytes.isFull()) return;
    }
  } else if (isJsonObject(value)) {
    const keys = yield* sortKeysInSteps(value);
    bytes.byte(tags.object);
    encodeCount(bytes, keys.length);
    for (const key of keys) {
      encodeText(bytes, key);
      yield* encodeInSteps(bytes, value[key], budget);
      if (bytes.isFull()) return;
    }
  } else encodeValue(bytes, value);
}

/** The characters 0 and 1 become two each, so that the end is below all of them. */
function encodeText(bytes: KeyBytes, whole: string): void {
  // What is beyond the limit is dropped anyway.
  const text = whole.length > bytes.room ? whole.slice(0, bytes.room + 1) : whole;
  bytes.text(hasLowest.test(text) ? text.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001') : text);
  bytes.byte(end);
}

// oxlint-disable-next-line no-control-regex
const hasLowest = /[\0\u0001]/;

function encodeCount(bytes: KeyBytes, count: number): void {
  for (const shift of [24, 16, 8, 0]) bytes.byte((count >>> shift) & 0xff);
}

const signs = { negative: 0x01, zero: 0x02, positive: 0x03 };

/** Encodes sign, exponent and digits; all but the sign are inverted when the number is negative. */
function encodeNumber(bytes: KeyBytes, text: string): void {
  const { negative, digits, exponent } = readDecimal(text);
  if (digits === '') {
    bytes.byte(signs.zero);
    return;
  }
  bytes.byte(negative ? signs.negative : signs.positive);
  const start = bytes.length;
  encodeExponent(bytes, exponent);
  for (let index = 0; index < digits.length; index += 2) {
    // Two digits in a byte. The last of an odd number of digits stands for itself and a zero.
    bytes.byte(
      1 + 10 * (digits.charCodeAt(index) - 48) + (index + 1 < digits.length ? digits.charCodeAt(index + 1) - 48 : 0),
    );
  }
  bytes.byte(end);
  if (negative) bytes.invertFrom(start);
}

/** Exponents from -`nearby` to `nearby` take one byte. */
const nearby = 100;
const middle = 0x80;
const scratch = Buffer.alloc(8);

/** @param exponent an integer, or an infinite number */
function encodeExponent(bytes: KeyBytes, exponent: number): void {
  if (Math.abs(exponent) <= nearby) {
    bytes.byte(middle + exponent);
    return;
  }
  bytes.byte(exponent < 0 ? middle - nearby - 1 : middle + nearby + 1);
  // Positive doubles have the order of their bytes.
  scratch.writeDoubleBE(Math.abs(exponent));
  for (const byte of scratch) bytes.byte(exponent < 0 ? byte ^ 0xff : byte);
}
