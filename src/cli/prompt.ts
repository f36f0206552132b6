// Questions with free answers, secret ones without echo. Where nobody sits at a terminal, answers are the lines of the
// standard input.
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

export class Prompt {
  /** Whether a person answers. */
  readonly isTerminal: boolean = process.stdin.isTTY;
  readonly #lines: AsyncIterator<string>;
  readonly #interface: Interface;
  #isSecret = false;

  constructor() {
    // What the terminal echoes goes through here, and stops for secrets.
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#isSecret) process.stderr.write(chunk);
        done();
      },
    });
    this.#interface = createInterface({ input: process.stdin, output, terminal: this.isTerminal });
    this.#interface.on('SIGINT', () => this.#interface.close());
    this.#lines = this.#interface[Symbol.asyncIterator]();
  }

  /** The answer, or `undefined` when the input has ended. */
  async ask(question: string, { isSecret = false } = {}): Promise<string | undefined> {
    if (this.isTerminal) process.stderr.write(question);
    this.#isSecret = isSecret;
    try {
      const next = await this.#lines.next();
      return next.done === true ? undefined : next.value;
    } finally {
      if (isSecret && this.isTerminal) process.stderr.write('\n');
      this.#isSecret = false;
    }
  }

  close(): void {
    this.#interface.close();
  }
}
