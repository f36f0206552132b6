// Reads a long string of a JSON text piece by piece. A string may be almost the whole text, and to parse it at once would block
// the event loop.

/** Characters of a piece. */
export const pieceChars = 65_536;
/** Characters of the longest escape sequence: `\u0000`. */
const longestEscape = 6;

export class LongStringReader {
  /** Index of the quote before the string. */
  readonly start: number;
  readonly #text: string;
  readonly #pieceChars: number;
  readonly #pieces: string[] = [];
  #at: number;
  /** The first quote that is not known to be part of the string. */
  #quote: number;
  #holdsUnicodeEscape = false;

  constructor(text: string, start: number, chars: number = pieceChars) {
    this.start = start;
    this.#text = text;
    this.#pieceChars = chars;
    this.#at = start + 1;
    this.#quote = this.#findQuote(start + 1);
  }

  /** The string, once it is read completely. */
  get value(): string {
    return this.#pieces.join('');
  }

  /** Whether characters were written as `\u0000`. */
  get holdsUnicodeEscape(): boolean {
    return this.#holdsUnicodeEscape;
  }

  /** Index after the part that was read, and after the closing quote at the end. */
  get at(): number {
    return this.#at;
  }

  /** Reads the next piece; returns whether the string is complete, and `undefined` when it is malformed. */
  readPiece(): boolean | undefined {
    const limit = Math.min(this.#at + this.#pieceChars, this.#text.length);
    while (this.#quote < limit && this.#isEscaped(this.#quote)) this.#quote = this.#findQuote(this.#quote + 1);
    const isLast = this.#quote < limit;
    const end = isLast ? this.#quote : this.#beforeEscape(limit);
    if (end === this.#at && !isLast) return undefined;
    const piece = this.#text.slice(this.#at, end);
    this.#holdsUnicodeEscape ||= piece.includes('\\u');
    const value = parseString(`"${piece}"`);
    if (value === undefined) return undefined;
    this.#pieces.push(value);
    this.#at = isLast ? end + 1 : end;
    return isLast;
  }

  #findQuote(from: number): number {
    const quote = this.#text.indexOf('"', from);
    return quote === -1 ? Infinity : quote;
  }

  /** Whether the character follows an odd number of backslashes, and is part of an escape sequence. */
  #isEscaped(index: number): boolean {
    let first = index;
    while (first > this.#at && this.#text.charCodeAt(first - 1) === 92) first--;
    return (index - first) % 2 === 1;
  }

  /** Returns the index, or the start of the escape sequence that the index would split. */
  #beforeEscape(index: number): number {
    for (let length = 1; length < longestEscape; length++) {
      const at = index - length;
      if (at < this.#at) break;
      if (this.#text.charCodeAt(at) !== 92) continue;
      if (this.#isEscaped(at)) break;
      const escape = this.#text.charCodeAt(at + 1) === 117 ? longestEscape : 2;
      return escape > length ? at : index;
    }
    return index;
  }
}

/** Returns the value of a string with its quotes; `undefined` when it is malformed. */
export function parseString(token: string): string | undefined {
  try {
    return JSON.parse(token) as string;
  } catch {
    return undefined;
  }
}
