// How many JSON values a body holds, going by its bytes as they arrive: each takes memory of its own once the body is parsed,
// and a body of a few megabytes may hold millions of them.

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const openBrace = 0x7b;

/** Counts values over the pieces of a body. Names of members count as values. What is no JSON is counted as if it were. */
export class JsonValueCounter {
  #count = 1;
  #isInString = false;
  #isEscaped = false;

  /** Values so far, and no fewer than there are. */
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
