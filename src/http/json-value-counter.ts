// Counts the JSON values in a body while its bytes arrive. Each value takes memory after parsing, and a body of a few megabytes
// may contain millions.

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const openBrace = 0x7b;

/** Counts values in the chunks of a body, including names of members. Other data is counted as if it were JSON. */
export class JsonValueCounter {
  #count = 1;
  #isInString = false;
  #isEscaped = false;

  /** Upper bound of the number of values so far. */
  get count(): number {
    return this.#count;
  }

  add(piece: Uint8Array): void {
    const { length } = piece;
    let count = 0;
    let at = 0;
    if (this.#isEscaped && length > 0) {
      this.#isEscaped = false;
      at = 1;
    }
    if (this.#isInString) at = endOfPlainText(piece, at);
    while (at < length) {
      const byte = piece[at++]!;
      if (this.#isInString) {
        if (byte === quote) this.#isInString = false;
        else if (byte === backslash) {
          if (at === length) this.#isEscaped = true;
          at++;
        }
      } else if (byte === quote) this.#isInString = true;
      else if (byte === comma || byte === colon || byte === openBracket || byte === openBrace) count++;
    }
    this.#count += count;
  }
}

/** Returns the index up to which the piece belongs to one string without escapes; otherwise the start. */
function endOfPlainText(piece: Uint8Array, start: number): number {
  const quoteAt = piece.indexOf(quote, start);
  const end = quoteAt === -1 ? piece.length : quoteAt;
  const backslashAt = piece.indexOf(backslash, start);
  return backslashAt === -1 || backslashAt > end ? end : start;
}
