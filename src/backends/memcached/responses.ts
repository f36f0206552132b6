// Parser of memcached responses. It supports only responses to the commands of this folder: a line, or a value between
// its header line and `END`.

export interface MemcachedResponse {
  /** `STORED`, `NOT_FOUND`, `SERVER_ERROR out of memory`; `END` for a missing key. */
  readonly line: string;
  readonly value?: { readonly text: string; readonly cas: string };
}

/** Maximum length of a line. */
const maxLineBytes = 2048;
const lineEnd = '\r\n';
const afterValue = '\r\nEND\r\n';

export class ResponseParser {
  #bytes: Buffer = Buffer.alloc(0);
  /** Number of bytes required before the next attempt to parse. */
  #needed = 0;

  /**
   * Adds received bytes and returns the complete responses.
   *
   * @throws Error when the bytes are not memcached responses
   */
  read(chunk: Buffer): readonly MemcachedResponse[] {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const responses: MemcachedResponse[] = [];
    while (this.#bytes.length > this.#needed) {
      const response = this.#next();
      if (response === undefined) break;
      responses.push(response);
    }
    return responses;
  }

  #next(): MemcachedResponse | undefined {
    const end = this.#bytes.indexOf(lineEnd);
    if (end === -1 && this.#bytes.length > maxLineBytes) throw new Error('a line without an end');
    if (end === -1) return undefined;
    const line = this.#bytes.toString('latin1', 0, end);
    const start = end + lineEnd.length;
    if (!line.startsWith('VALUE ')) {
      this.#drop(start);
      return { line };
    }
    const [, length, cas] = /^VALUE \S+ \d+ (\d+) (\d+)$/.exec(line) ?? [];
    if (length === undefined || cas === undefined) throw new Error('a value without length and version');
    const stop = start + Number(length);
    const whole = stop + afterValue.length;
    if (this.#bytes.length < whole) {
      this.#needed = whole - 1;
      return undefined;
    }
    if (this.#bytes.toString('latin1', stop, whole) !== afterValue) throw new Error('a value of another length');
    const text = this.#bytes.toString('utf8', start, stop);
    this.#drop(whole);
    return { line, value: { text, cas } };
  }

  #drop(length: number): void {
    this.#bytes = this.#bytes.subarray(length);
    this.#needed = 0;
  }
}
