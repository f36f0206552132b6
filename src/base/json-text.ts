// Scans of valid JSON text: ends of strings, and numbers. Loops instead of regular expressions, which overflow the stack on
// strings of several million characters and can take quadratic time on long runs of digits.

/** A cheap test whether the numbers have to be read one by one. A false positive only costs time. */
const mayHoldExactNumber = /\d[.eE]|\d{16}|-0/;

/** Maximum number of characters of a double as text: `-0.0000012345678901234567`. */
export const mostDoubleChars = 25;

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

/** Returns the index after the string that starts at a quote. Its end is a quote after an even number of backslashes. */
export function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text.charCodeAt(first - 1) === 92) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** Returns the index after the first `most` strings of a valid JSON text, or after its last one; 0 when it has none. */
export function endOfStrings(text: string, most: number): number {
  let end = 0;
  for (let count = 0; count < most; count++) {
    const start = text.indexOf('"', end);
    if (start === -1) break;
    end = endOfString(text, start);
  }
  return end;
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Whether the character can be part of a number. */
export function isNumberCode(code: number): boolean {
  // Digit, sign, decimal point or exponent.
  return isDigit(code) || code === 45 || code === 43 || code === 46 || code === 101 || code === 69;
}
