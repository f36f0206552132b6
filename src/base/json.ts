// JSON values without loss: numbers that a double cannot represent keep their digits (`ExactNumber`), and `__proto__` is an
// ordinary key. `json-steps.ts` reads and writes large values in steps.
import { describeMalformed, describeMalformedString, type Expectation } from './json-errors.ts';
import { endOfString, hasExactNumber, isDigit, mostDoubleChars } from './json-text.ts';
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
  if (text.length > limits.maxDepth || text.length >= 2 * limits.maxValues) requireModest(text, limits);
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

/**
 * Counts levels and values of a text before any of them is allocated.
 *
 * @throws JsonSyntaxError when there are too many
 */
function requireModest(text: string, { maxDepth, maxValues }: JsonLimits): void {
  let depth = 0;
  let values = 1;
  let quoted = false;
  // A container that is not empty holds one value more than it has commas.
  let isOpened = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (quoted) {
      if (code === 92) i++;
      else if (code === 34) quoted = false;
      continue;
    }
    if (code === 32 || code === 10 || code === 13 || code === 9) continue;
    if (isOpened && code !== 93 && code !== 125) values++;
    isOpened = false;
    if (code === 34) quoted = true;
    else if (code === 44) {
      if (++values > maxValues) throw tooManyValues(maxValues);
    } else if (code === 91 || code === 123) {
      if (++depth > maxDepth) throw tooDeep(maxDepth);
      if (values > maxValues) throw tooManyValues(maxValues);
      isOpened = true;
    } else if (code === 93 || code === 125) depth--;
  }
  if (values > maxValues) throw tooManyValues(maxValues);
}

export function tooDeep(maxDepth: number): JsonSyntaxError {
  return new JsonSyntaxError(`nested deeper than ${maxDepth} levels`);
}

export function tooManyValues(maxValues: number): JsonSyntaxError {
  return new JsonSyntaxError(
    `more than ${maxValues} JSON values (max_json_values): each member, item and nested value counts`,
  );
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
  #expected: Expected = 'value';
  #root: JsonValue = null;
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
      this.#skipBlanks(start + left);
      if (this.#at >= this.#text.length) {
        if (this.#expected !== 'end') throw this.#unexpected();
        return true;
      }
      if (this.#at < start + left) this.#readToken(this.#text.charCodeAt(this.#at));
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
    else if (code === 34) this.#put(this.#readString());
    else if (code === 45 || (code >= 48 && code <= 57)) this.#put(this.#readNumber());
    else if (code === 116) this.#put(this.#readWord('true', true));
    else if (code === 102) this.#put(this.#readWord('false', false));
    else this.#put(this.#readWord('null', null));
  }

  #begin(container: JsonValue[] | MutableJsonObject, expected: Expected): void {
    this.#at++;
    this.#put(container);
    if (this.#keys.push('') > this.#limits.maxDepth) throw tooDeep(this.#limits.maxDepth);
    this.#open.push(container);
    this.#expected = expected;
  }

  #close(): void {
    this.#at++;
    this.#open.pop();
    this.#keys.pop();
    this.#expected = this.#open.length === 0 ? 'end' : 'separator';
  }

  #put(value: JsonValue): void {
    if (++this.#values > this.#limits.maxValues) throw tooManyValues(this.#limits.maxValues);
    const container = this.#open.at(-1);
    if (container === undefined) this.#root = value;
    else if (Array.isArray(container)) container.push(value);
    else setKey(container, this.#keys.at(-1)!, value);
    this.#expected = container === undefined ? 'end' : 'separator';
  }

  #readKey(code: number): void {
    if (code !== 34) throw this.#unexpected();
    this.#keys[this.#keys.length - 1] = this.#readString();
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

  #readString(): string {
    const start = this.#at;
    const token = this.#text.slice(start, endOfString(this.#text, start));
    let value: string;
    try {
      value = JSON.parse(token) as string;
    } catch {
      throw new JsonSyntaxError(describeMalformedString(this.#text, start));
    }
    this.#at += token.length;
    if (!this.#isWellFormed || token.includes('\\u')) this.#holdsBadText ||= !isStorableText(value);
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
    if (mark === 101 || mark === 69) {
      const sign = this.#text.charCodeAt(++this.#at);
      if (sign === 43 || sign === 45) this.#at++;
      this.#readDigits();
    }
    const token = this.#text.slice(start, this.#at);
    const double = Number(token);
    if (!Number.isFinite(double)) throw new JsonSyntaxError(`number out of range: ${token.slice(0, 40)}`);
    return token.length <= mostDoubleChars && String(double) === token ? double : new ExactNumber(token);
  }

  #readDigits(): void {
    if (!isDigit(this.#text.charCodeAt(this.#at))) throw this.#unexpected('digit');
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
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
