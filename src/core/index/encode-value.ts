// Encodes JSON values as bytes whose order, byte by byte, is the order of `compareValues`. No encoding is a prefix of
// another one, so encodings can be joined: the result orders by the first value, then by the second.
import { ExactNumber, type JsonValue } from '../../base/json.ts';
import { isJsonArray, sortedKeys } from '../query/compare.ts';
import { readDecimal } from '../query/decimal.ts';

/** Collects bytes up to a limit. */
export class KeyBytes {
  readonly #bytes: Buffer;
  #length = 0;
  #isCut = false;

  /** @param limit number of bytes after which the rest is dropped */
  constructor(limit: number) {
    this.#bytes = Buffer.allocUnsafe(limit);
  }

  get length(): number {
    return this.#length;
  }

  /** Number of bytes until the limit. */
  get room(): number {
    return this.#bytes.length - this.#length;
  }

  /** Whether bytes were dropped. */
  isFull(): boolean {
    return this.#isCut;
  }

  byte(value: number): void {
    if (this.#length < this.#bytes.length) this.#bytes[this.#length++] = value;
    else this.#isCut = true;
  }

  /** Appends the UTF-8 bytes of a text. */
  text(text: string): void {
    const { room } = this;
    // No character takes more than three bytes for each of its UTF-16 units.
    if (text.length * 3 <= room) {
      this.#length += this.#bytes.write(text, this.#length, 'utf8');
      return;
    }
    const bytes = Buffer.from(text, 'utf8');
    this.#length += bytes.copy(this.#bytes, this.#length);
    if (bytes.length > room) this.#isCut = true;
  }

  /** Inverts the bytes from an offset on, which reverses their order. */
  invertFrom(start: number): void {
    for (let index = start; index < this.#length; index++) this.#bytes[index]! ^= 0xff;
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
  else if (isJsonArray(value)) {
    bytes.byte(tags.array);
    encodeCount(bytes, value.length);
    for (const item of value) {
      encodeValue(bytes, item);
      if (bytes.isFull()) return;
    }
  } else {
    const keys = sortedKeys(value);
    bytes.byte(tags.object);
    encodeCount(bytes, keys.length);
    for (const key of keys) {
      encodeText(bytes, key);
      encodeValue(bytes, value[key]);
      if (bytes.isFull()) return;
    }
  }
}

/** The characters 0 and 1 become two each, so that the end is below all of them. */
function encodeText(bytes: KeyBytes, whole: string): void {
  // What is beyond the limit is dropped anyway.
  const text = whole.length > bytes.room ? whole.slice(0, bytes.room + 1) : whole;
  bytes.text(text.replaceAll('\u0001', '\u0001\u0002').replaceAll('\0', '\u0001\u0001'));
  bytes.byte(end);
}

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
