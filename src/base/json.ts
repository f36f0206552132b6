// JSON values without loss: numbers that a double cannot represent keep their digits (`ExactNumber`), and `__proto__` is an
// ordinary key. `json-steps.ts` reads and writes large values in steps.
import { describeExcess, describeMalformed, describeMalformedString, type Expectation } from './json-errors.ts';
import { manyMembers, noteMember } from './json-keys.ts';
import { LongStringReader, parseString, pieceChars } from './json-long-string.ts';
import { endOfDigits, endOfString, findExcess, hasExactNumber, maxDoubleChars } from './json-text.ts';
import { runAtOnce, type Steps } from './steps.ts';

/** A number whose text a conversion to double and back would change: `1.0`, `12345678901234567890`. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Returns the nearest double, for comparisons without full precision. */
  valueOf(): number {
    return Number(this.text);
  }
}

export type JsonScalar = null | boolean | number | string | ExactNumber;
export type JsonValue = JsonScalar | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [key: string]: JsonValue;
}
/** An object under construction. Assign with `setKey`, never with `object[key] =` when the key comes from outside. */
export type MutableJsonObject = { [key: string]: JsonValue };

/** The text is not acceptable JSON: malformed, too deep, a number out of range, or text that no backend can store. */
export class JsonSyntaxError extends Error {
  /** Dotted path of the offending value or key; `undefined` when the document itself is malformed. */
  readonly path: string | undefined;

  constructor(message: string, path?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JsonSyntaxError';
    this.path = path;
  }
}

/** Whether the value is a JSON object: not an array, `null` or an exact number. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Sets an own property, also when the key is `__proto__`. */
export function setKey(object: MutableJsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/** Returns the own property, never an inherited one such as `constructor`. */
export function getKey(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

export interface JsonLimits {
  /** Maximum number of nesting levels; the outermost counts as one. */
  readonly maxDepth: number;
  /** Maximum number of values: each member of an object, each item of an array, and the document itself count as one. */
  readonly maxValues: number;
}

/**
 * Maximum nesting levels of stored objects, with some more for what is put around them: SQLite has queries read at most 1,000 levels.
 */
export const maxStoredDepth = 900;

export const defaultJsonLimits: JsonLimits = { maxDepth: 500, maxValues: 100_000 };
/** For text that was checked when it was stored. */
export const noJsonLimits: JsonLimits = { maxDepth: Infinity, maxValues: Infinity };

// A cheap test of the raw text whether a slower one is needed. A false positive only costs time.
const mayHoldBadText = /\\u(?:0000|[dD][89a-fA-F])/;

/**
 * Reads JSON text without losing digits or keys.
 *
 * @throws JsonSyntaxError when it is malformed, nested deeper than `maxDepth`, has more values than `maxValues`, holds a
 * number beyond the range of a double (`1e400`), a null character or a lone surrogate.
 */
export function parseJson(text: string, limits: JsonLimits = defaultJsonLimits): JsonValue {
  // Each value takes at least one character and a separator.
  if (text.length > limits.maxDepth || text.length >= 2 * limits.maxValues) {
    const excess = findExcess(text, limits);
    if (excess !== undefined) throw new JsonSyntaxError(describeExcess(excess, limits));
  }
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new JsonSyntaxError('malformed JSON', undefined, { cause: error });
  }
  if (mayHoldBadText.test(text) || !text.isWellFormed() || text.includes('\0')) {
    runAtOnce(requireStorableText(value, ''));
  }
  if (hasExactNumber(text)) value = readExactly(text);
  return value;
}

/** Reads JSON text that `parseJson` validated before it was stored. */
export function parseStoredJson(text: string): JsonValue {
  if (hasExactNumber(text)) return readExactly(text);
  return JSON.parse(text) as JsonValue;
}

/** Returns compact JSON text with all digits of exact numbers and the keys in their order. */
export function formatJson(value: JsonValue): string {
  return holdsExactNumber(value) ? formatExactly(value) : JSON.stringify(value);
}

function formatExactly(value: JsonValue): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(formatExactly).join(',')}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value).map((key) => `${JSON.stringify(key)}:${formatExactly(value[key]!)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

function holdsExactNumber(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof ExactNumber) return true;
  if (Array.isArray(value)) return value.some(holdsExactNumber);
  for (const key of Object.keys(value)) if (holdsExactNumber((value as JsonObject)[key]!)) return true;
  return false;
}

/** Whether every backend can store the text. What one backend cannot store is refused on all. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** @throws JsonSyntaxError for text in the value that cannot be stored */
export function* requireStorableText(value: JsonValue, path: string): Steps<void> {
  if (typeof value === 'string') {
    if (!isStorableText(value)) throw unstorable(path, false);
  } else if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly JsonValue[]).entries()) {
      yield* requireStorableText(item, join(path, String(index)));
      if (index % membersPerPause === membersPerPause - 1) yield;
    }
  } else if (isJsonObject(value)) {
    let members = 0;
    for (const key of Object.keys(value)) {
      if (!isStorableText(key)) throw unstorable(join(path, key), true);
      yield* requireStorableText(value[key]!, join(path, key));
      if (++members % membersPerPause === 0) yield;
    }
  }
}

const membersPerPause = 1000;

function unstorable(path: string, isName: boolean): JsonSyntaxError {
  const message = `null characters and lone surrogates are not allowed${isName ? ' in names' : ''}`;
  return new JsonSyntaxError(message, path.toWellFormed().replaceAll('\0', '\uFFFD'));
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Cost of a value to a reader or writer besides its characters, in characters. */
export const valueCost = 50;

/** Number of digits from which a number without an exponent may be out of the range of doubles. */
const minOverflowChars = 300;

/** The expected token. `first value` and `first key` allow the end of the container too. */
type Expected = 'value' | 'first value' | 'key' | 'first key' | 'separator' | 'end';

/** An interruptible reader, for texts too large to be read at once and for exact numbers. */
export class JsonReader {
  readonly #text: string;
  readonly #limits: JsonLimits;
  readonly #isWellFormed: boolean;
  /** Open containers, outermost first, and for each object the key that is being read. */
  readonly #open: (JsonValue[] | MutableJsonObject)[] = [];
  readonly #keys: string[] = [];
  /** The number of members read of each open object. */
  readonly #sizes: number[] = [];
  #expected: Expected = 'value';
  #root: JsonValue = null;
  #longString: LongStringReader | undefined;
  #holdsBadText = false;
  #values = 0;
  #at = 0;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
    this.#isWellFormed = text.isWellFormed();
  }

  /** The document, once it is read completely. */
  get value(): JsonValue {
    return this.#root;
  }

  /** Whether null characters or lone surrogates were read. `requireStorableText` finds them unless a later key replaced them. */
  get holdsBadText(): boolean {
    return this.#holdsBadText;
  }

  /**
   * Reads on for this much work, in characters; returns whether the document is complete.
   *
   * @throws JsonSyntaxError as `parseJson` does, except for text that cannot be stored
   */
  advance(work: number): boolean {
    let left = work;
    while (left > 0) {
      const start = this.#at;
      if (this.#longString !== undefined) this.#readPiece(this.#longString);
      else {
        this.#skipBlanks(start + left);
        if (this.#at >= this.#text.length) {
          if (this.#expected !== 'end') throw this.#unexpected();
          return true;
        }
        if (this.#at < start + left) this.#readToken(this.#text.charCodeAt(this.#at));
      }
      left -= this.#at - start + valueCost;
    }
    return false;
  }

  #readToken(code: number): void {
    switch (this.#expected) {
      case 'value':
        return this.#readValue(code);
      case 'first value':
        return code === 93 ? this.#close() : this.#readValue(code);
      case 'key':
        return this.#readKey(code);
      case 'first key':
        return code === 125 ? this.#close() : this.#readKey(code);
      case 'separator':
        return this.#readSeparator(code);
      case 'end':
        throw this.#unexpected();
    }
  }

  #readValue(code: number): void {
    if (code === 123) this.#begin({}, 'first key');
    else if (code === 91) this.#begin([], 'first value');
    else if (code === 34) this.#readText();
    else if (code === 45 || (code >= 48 && code <= 57)) this.#put(this.#readNumber());
    else if (code === 116) this.#put(this.#readWord('true', true));
    else if (code === 102) this.#put(this.#readWord('false', false));
    else this.#put(this.#readWord('null', null));
  }

  #begin(container: JsonValue[] | MutableJsonObject, expected: Expected): void {
    this.#at++;
    this.#put(container);
    if (this.#keys.push('') > this.#limits.maxDepth) throw new JsonSyntaxError(describeExcess('levels', this.#limits));
    this.#open.push(container);
    this.#sizes.push(0);
    this.#expected = expected;
  }

  #close(): void {
    this.#at++;
    this.#open.pop();
    this.#keys.pop();
    this.#sizes.pop();
    this.#expected = this.#open.length === 0 ? 'end' : 'separator';
  }

  #put(value: JsonValue): void {
    if (++this.#values > this.#limits.maxValues) throw new JsonSyntaxError(describeExcess('values', this.#limits));
    const container = this.#open.at(-1);
    if (container === undefined) this.#root = value;
    else if (Array.isArray(container)) container.push(value);
    else {
      const key = this.#keys.at(-1)!;
      if (++this.#sizes[this.#sizes.length - 1]! > manyMembers) noteMember(container, key);
      setKey(container, key, value);
    }
    this.#expected = container === undefined ? 'end' : 'separator';
  }

  #readKey(code: number): void {
    if (code !== 34) throw this.#unexpected();
    this.#keys[this.#keys.length - 1] = this.#readString(endOfString(this.#text, this.#at));
    this.#skipBlanks(Infinity);
    if (this.#text.charCodeAt(this.#at) !== 58) throw this.#unexpected('colon');
    this.#at++;
    this.#expected = 'value';
  }

  #readSeparator(code: number): void {
    const isArray = Array.isArray(this.#open.at(-1));
    if (code === (isArray ? 93 : 125)) return this.#close();
    if (code !== 44) throw this.#unexpected();
    this.#at++;
    this.#expected = isArray ? 'value' : 'key';
  }

  #readText(): void {
    const end = endOfString(this.#text, this.#at, this.#at + pieceChars);
    if (end - this.#at <= pieceChars) this.#put(this.#readString(end));
    else this.#longString = new LongStringReader(this.#text, this.#at);
  }

  #readPiece(string: LongStringReader): void {
    const isComplete = string.readPiece();
    if (isComplete === undefined) throw new JsonSyntaxError(describeMalformedString(this.#text, string.start));
    this.#at = string.at;
    if (!isComplete) return;
    this.#longString = undefined;
    const { value } = string;
    this.#noteBadText(value, string.holdsUnicodeEscape);
    this.#put(value);
  }

  #noteBadText(value: string, holdsUnicodeEscape: boolean): void {
    if (!this.#isWellFormed || holdsUnicodeEscape) this.#holdsBadText ||= !isStorableText(value);
  }

  #readString(end: number): string {
    const start = this.#at;
    const token = this.#text.slice(start, end);
    const value = parseString(token);
    if (value === undefined) throw new JsonSyntaxError(describeMalformedString(this.#text, start));
    this.#at += token.length;
    this.#noteBadText(value, token.includes('\\u'));
    return value;
  }

  #readNumber(): number | ExactNumber {
    const start = this.#at;
    if (this.#text.charCodeAt(this.#at) === 45) this.#at++;
    if (this.#text.charCodeAt(this.#at) === 48) this.#at++;
    else this.#readDigits();
    if (this.#text.charCodeAt(this.#at) === 46) {
      this.#at++;
      this.#readDigits();
    }
    const mark = this.#text.charCodeAt(this.#at);
    const hasExponent = mark === 101 || mark === 69;
    if (hasExponent) {
      const sign = this.#text.charCodeAt(++this.#at);
      if (sign === 43 || sign === 45) this.#at++;
      this.#readDigits();
    }
    const token = this.#text.slice(start, this.#at);
    // Without an exponent a number of few digits is in range. Long numbers are converted slowly, and never kept as doubles.
    if (token.length > maxDoubleChars && token.length < minOverflowChars && !hasExponent) return new ExactNumber(token);
    const double = Number(token);
    if (!Number.isFinite(double)) throw new JsonSyntaxError(`number out of range: ${token.slice(0, 40)}`);
    return token.length <= maxDoubleChars && String(double) === token ? double : new ExactNumber(token);
  }

  #readDigits(): void {
    const end = endOfDigits(this.#text, this.#at);
    if (end === this.#at) throw this.#unexpected('digit');
    this.#at = end;
  }

  #readWord<T extends JsonValue>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected();
    this.#at += word.length;
    return value;
  }

  #skipBlanks(end: number): void {
    while (this.#at < end) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.#at++;
    }
  }

  #unexpected(expected: Expectation = this.#expectation): JsonSyntaxError {
    return new JsonSyntaxError(describeMalformed(this.#text, this.#at, expected));
  }

  get #expectation(): Expectation {
    if (this.#expected !== 'separator') return this.#expected;
    return Array.isArray(this.#open.at(-1)) ? 'item' : 'member';
  }
}

/** Reads a document that `JSON.parse` accepts but whose numbers it would change. */
function readExactly(text: string): JsonValue {
  const reader = new JsonReader(text, noJsonLimits);
  reader.advance(Infinity);
  return reader.value;
}
