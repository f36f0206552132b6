// JSON values as the service keeps them: what came in goes out. Numbers that a double cannot hold keep their
// digits (`ExactNumber`), and `__proto__` is a key like any other.

/** A number whose text would change on the way through a double: `1.0`, `12345678901234567890`. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The nearest double, for comparisons where precision does not matter. */
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

/** The text is no acceptable JSON: malformed, too deep, not finite, or holding text no backend can keep. */
export class JsonSyntaxError extends Error {
  /** Dotted path of the offending value or key; `undefined` when the document itself is malformed. */
  readonly path: string | undefined;

  constructor(message: string, path?: string) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.path = path;
  }
}

/** Whether the value is a JSON object: no array, no `null`, no exact number. */
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

/** The own property, never an inherited one such as `constructor`. */
export function getKey(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

export interface JsonLimits {
  /** Nesting levels allowed, the outermost counting as one. */
  readonly maxDepth: number;
}

const defaultLimits: JsonLimits = { maxDepth: 500 };

// Cheap looks at the raw text that decide whether a slower, exact path is needed. False alarms only cost time.
const mayHoldExactNumber = /\d[.eE]|\d{16}|-0/;
const mayHoldBadText = /\\u(?:0000|[dD][89a-fA-F])/;

/**
 * Reads JSON text without losing digits or keys.
 *
 * @throws JsonSyntaxError when it is malformed, nested deeper than `maxDepth`, holds a number beyond the range of a
 * double (`1e400`), a null character or a lone surrogate.
 */
export function parseJson(text: string, limits: JsonLimits = defaultLimits): JsonValue {
  if (text.length > limits.maxDepth) requireShallow(text, limits.maxDepth);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new JsonSyntaxError((error as Error).message);
  }
  if (mayHoldBadText.test(text) || !text.isWellFormed() || text.includes('\0')) requireStorableText(value, '');
  if (mayHoldExactNumber.test(text) && hasExactNumber(text)) value = new ExactReader(text).read();
  return value;
}

/** Reads JSON text already validated by `parseJson` when it was stored. */
export function parseStoredJson(text: string): JsonValue {
  if (mayHoldExactNumber.test(text) && hasExactNumber(text)) return new ExactReader(text).read();
  return JSON.parse(text) as JsonValue;
}

/** Whether the text holds a number whose digits a double would change. */
export function hasExactNumber(text: string): boolean {
  return mayHoldExactNumber.test(text) && someNumber(text, (token) => String(Number(token)) !== token);
}

/**
 * Whether any number of a valid JSON text, as written, passes the test. A loop and not a regular expression: those run
 * out of stack on strings of several million characters.
 */
export function someNumber(text: string, test: (token: string) => boolean): boolean {
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) at = endOfString(text, at);
    else if (code === 45 || (code >= 48 && code <= 57)) {
      const start = at;
      while (isNumberCode(text.charCodeAt(at))) at++;
      if (test(text.slice(start, at))) return true;
    } else at++;
  }
  return false;
}

/** The place after the string that starts at a quote: its end is a quote with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text.charCodeAt(first - 1) === 92) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Compact JSON text; exact numbers come out digit for digit. Keys keep their order. */
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

/** The value with every exact number as its nearest double, for libraries that know plain JSON only. */
export function toPlainJson(value: JsonValue): unknown {
  if (!holdsExactNumber(value)) return value;
  if (value instanceof ExactNumber) return value.valueOf();
  if (Array.isArray(value)) return value.map(toPlainJson);
  const plain: MutableJsonObject = {};
  for (const key of Object.keys(value as JsonObject)) {
    setKey(plain, key, toPlainJson((value as JsonObject)[key]!) as JsonValue);
  }
  return plain;
}

function requireShallow(text: string, maxDepth: number): void {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (quoted) {
      if (code === 92) i++;
      else if (code === 34) quoted = false;
    } else if (code === 34) quoted = true;
    else if (code === 91 || code === 123) {
      if (++depth > maxDepth) throw new JsonSyntaxError(`nested deeper than ${maxDepth} levels`);
    } else if (code === 93 || code === 125) depth--;
  }
}

/** Text that some backend could not hold is refused on every backend alike. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function requireStorableText(value: JsonValue, path: string): void {
  if (typeof value === 'string') {
    if (!isStorableText(value)) throw new JsonSyntaxError('null characters and lone surrogates are not allowed', path);
  } else if (Array.isArray(value)) {
    value.forEach((item: JsonValue, index) => requireStorableText(item, join(path, String(index))));
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      if (!isStorableText(key)) {
        const name = key.toWellFormed().replaceAll('\0', '\uFFFD');
        throw new JsonSyntaxError('null characters and lone surrogates are not allowed in names', join(path, name));
      }
      requireStorableText(value[key]!, join(path, key));
    }
  }
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** A second reader for documents that `JSON.parse` accepted but whose numbers it would change. */
class ExactReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): JsonValue {
    this.#skipBlanks();
    const value = this.#readValue();
    this.#skipBlanks();
    return value;
  }

  #readValue(): JsonValue {
    switch (this.#text[this.#at]) {
      case '{':
        return this.#readObject();
      case '[':
        return this.#readArray();
      case '"':
        return this.#readString();
      case 't':
        this.#at += 4;
        return true;
      case 'f':
        this.#at += 5;
        return false;
      case 'n':
        this.#at += 4;
        return null;
      default:
        return this.#readNumber();
    }
  }

  #readObject(): JsonObject {
    const object: MutableJsonObject = {};
    this.#at++;
    this.#skipBlanks();
    while (this.#text[this.#at] !== '}') {
      if (this.#text[this.#at] === ',') {
        this.#at++;
        this.#skipBlanks();
      }
      const key = this.#readString();
      this.#skipBlanks();
      this.#at++;
      this.#skipBlanks();
      setKey(object, key, this.#readValue());
      this.#skipBlanks();
    }
    this.#at++;
    return object;
  }

  #readArray(): JsonArray {
    const array: JsonValue[] = [];
    this.#at++;
    this.#skipBlanks();
    while (this.#text[this.#at] !== ']') {
      if (this.#text[this.#at] === ',') {
        this.#at++;
        this.#skipBlanks();
      }
      array.push(this.#readValue());
      this.#skipBlanks();
    }
    this.#at++;
    return array;
  }

  #readString(): string {
    const start = this.#at++;
    while (this.#text[this.#at] !== '"') this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    this.#at++;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #readNumber(): number | ExactNumber {
    const start = this.#at;
    while (isNumberCode(this.#text.charCodeAt(this.#at))) this.#at++;
    const token = this.#text.slice(start, this.#at);
    const double = Number(token);
    if (!Number.isFinite(double)) throw new JsonSyntaxError(`number out of range: ${token.slice(0, 40)}`);
    return String(double) === token ? double : new ExactNumber(token);
  }

  #skipBlanks(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.#at++;
    }
  }
}

function isNumberCode(code: number): boolean {
  // Digits, sign, point and exponent mark.
  return (code >= 48 && code <= 57) || code === 45 || code === 43 || code === 46 || code === 101 || code === 69;
}
