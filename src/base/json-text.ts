// Scans of valid JSON text: ends of strings, and numbers. Loops instead of regular expressions, which overflow the stack on
// strings of several million characters and can take quadratic time on long runs of digits.

/** A cheap test whether the numbers have to be read one by one. A false positive only costs time. */
const mayHoldExactNumber = /\d[.eE]|\d{16}|-0/;

/** Maximum number of characters of a double as text: `-0.0000012345678901234567`. */
export const maxDoubleChars = 25;

/** Whether the text holds a number whose digits a double would change. */
export function hasExactNumber(text: string): boolean {
  return mayHoldExactNumber.test(text) && someNumber(text, (token) => String(Number(token)) !== token);
}

/** Whether any number of a valid JSON text, as written, passes the test. */
export function someNumber(text: string, test: (token: string) => boolean): boolean {
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) at = endOfString(text, at);
    else if (code === 45 || isDigit(code)) {
      const start = at;
      while (isNumberCode(text.charCodeAt(at))) at++;
      if (test(text.slice(start, at))) return true;
    } else at++;
  }
  return false;
}

/** Returns a valid JSON text with every number replaced by the result of the function. */
export function replaceNumbers(text: string, replace: (token: string) => string): string {
  const parts: string[] = [];
  let at = 0;
  let kept = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) at = endOfString(text, at);
    else if (code === 45 || isDigit(code)) {
      parts.push(text.slice(kept, at));
      kept = at;
      while (isNumberCode(text.charCodeAt(at))) at++;
      parts.push(replace(text.slice(kept, at)));
      kept = at;
    } else at++;
  }
  parts.push(text.slice(kept));
  return parts.join('');
}

/**
 * Returns the index after the string that starts at a quote, or the length of the text when it does not end before the limit. Its
 * end is a quote after an even number of backslashes.
 */
export function endOfString(text: string, start: number, limit: number = text.length): number {
  let quote = start;
  for (let count = 0; count < maxSearches; count++) {
    quote = text.indexOf('"', quote + 1);
    if (quote === -1 || quote >= limit) return text.length;
    if (!isEscaped(text, quote)) return quote + 1;
  }
  // In a string with many escaped quotes a search for each of them takes longer.
  for (let at = quote + 1; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === 92) at++;
    else if (code === 34) return at + 1;
  }
  return text.length;
}

const maxSearches = 16;

/** Whether a character of a string follows an odd number of backslashes, and is part of an escape sequence. */
export function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text.charCodeAt(first - 1) === 92) first--;
  return (index - first) % 2 === 1;
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Returns the index of the first character from an index on that is no digit. */
export function endOfDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at++;
  return at;
}

/** Whether the character can be part of a number. */
export function isNumberCode(code: number): boolean {
  // Digit, sign, decimal point or exponent.
  return isDigit(code) || code === 45 || code === 43 || code === 46 || code === 101 || code === 69;
}

/** Returns whether a text has too many levels or values, before any of them is allocated. */
export function findExcess(
  text: string,
  { maxDepth, maxValues }: { readonly maxDepth: number; readonly maxValues: number },
): 'levels' | 'values' | undefined {
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
      if (++values > maxValues) return 'values';
    } else if (code === 91 || code === 123) {
      if (++depth > maxDepth) return 'levels';
      if (values > maxValues) return 'values';
      isOpened = true;
    } else if (code === 93 || code === 125) depth--;
  }
  return values > maxValues ? 'values' : undefined;
}

/**
 * Returns the JSON text of one member of a valid JSON object without repeated names, and does not read the others; `undefined`
 * when it is missing. To parse a large object takes many times as long.
 */
export function findMember(text: string, name: string): string | undefined {
  const quoted = JSON.stringify(name);
  const mayHoldEscapes = text.includes('\\');
  if (!mayHoldEscapes && !text.includes(quoted)) return undefined;
  let at = skipBlanks(text, text.indexOf('{') + 1);
  while (text.charCodeAt(at) === 34) {
    const keyEnd = endOfString(text, at);
    const isWanted =
      (keyEnd - at === quoted.length && text.startsWith(quoted, at)) ||
      (mayHoldEscapes && isSameString(text.slice(at, keyEnd), name));
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const end = endOfValue(text, start);
    if (isWanted) return text.slice(start, end);
    // The comma, or the end of the object.
    at = skipBlanks(text, skipBlanks(text, end) + 1);
  }
  return undefined;
}

/** Returns the JSON texts of the items of a valid JSON array. */
export function itemTexts(text: string): readonly string[] {
  const items: string[] = [];
  let at = skipBlanks(text, text.indexOf('[') + 1);
  while (at < text.length && text.charCodeAt(at) !== 93) {
    const end = endOfValue(text, at);
    items.push(text.slice(at, end));
    // The comma, or the end of the array.
    at = skipBlanks(text, skipBlanks(text, end) + 1);
  }
  return items;
}

function isSameString(token: string, value: string): boolean {
  return token.includes('\\') && JSON.parse(token) === value;
}

/** Returns the index after the value that starts at the index. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === 34) return endOfString(text, start);
  if (first !== 91 && first !== 123) {
    let at = start;
    while (at < text.length && !isEndOfScalar(text.charCodeAt(at))) at++;
    return at;
  }
  let depth = 0;
  for (let at = start; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === 34) {
      at = endOfString(text, at);
      continue;
    }
    at++;
    if (code === 91 || code === 123) depth++;
    else if (code === 93 || code === 125) {
      depth--;
      if (depth === 0) return at;
    }
  }
  return text.length;
}

function isEndOfScalar(code: number): boolean {
  return code === 44 || code === 125 || code === 93 || isBlank(code);
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at++;
  return at;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}
