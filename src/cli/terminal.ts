// Output of the commands, and interactive prompts.
import process from 'node:process';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { Exit, exitCodes } from './exit-codes.ts';

/**
 * Ignores a reader that ends before a command does, as in `coffer check | head -3`. After any other failure of the output, the
 * command completes its work too, but its exit code is not 0.
 */
export function tolerateOutputFailures(): void {
  let isReported = false;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE' || isReported) return;
      isReported = true;
      process.once('exit', (code) => {
        if (code === exitCodes.done) process.exitCode = exitCodes.failed;
      });
      const name = stream === process.stdout ? 'standard output' : 'standard error';
      printError(`coffer: ${name} cannot be written: ${error.code ?? error.message}`);
    });
  }
}

/** Control characters and marks of direction, with which a text could change what a terminal shows. */
const unprintable = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Returns a text from elsewhere as one line, with its control characters as escape sequences. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(unprintable, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns a message of one or more lines; only its line breaks and tabs stay. */
function printableLines(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, printable);
}

/** Prints a line of the result. Control characters are escaped. */
export function print(line: string): void {
  process.stdout.write(`${printableLines(line)}\n`);
}

/** Prints a line about a failure or a notice. Control characters are escaped. */
export function printError(line: string): void {
  process.stderr.write(`${printableLines(line)}\n`);
}

/** Whether a command can ask questions. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** Questions with visible or hidden answers. */
export class Prompt {
  /** Whether standard input is a terminal; otherwise its lines are the answers. */
  readonly isTerminal: boolean = process.stdin.isTTY;
  readonly #lines: AsyncIterator<string>;
  readonly #interface: Interface;
  #isSecret = false;

  constructor() {
    // The echo of the terminal passes through this stream, which drops it for secrets.
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

  /** Returns the answer, or `undefined` at the end of the input. */
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

/**
 * Asks until the answer is one of the words; an empty answer chooses the first.
 *
 * @throws Exit at the end of the input
 */
export async function ask(question: string, words: readonly string[]): Promise<string> {
  const prompt = new Prompt();
  try {
    for (;;) {
      const answer = await prompt.ask(`${question} (${words.join(', ')}) [${words[0]}] `);
      if (answer === undefined) throw new Exit(exitCodes.failed, 'no answer; nothing was done');
      const given = answer.trim().toLowerCase();
      const word = given === '' ? words[0] : words.find((candidate) => candidate === given);
      if (word !== undefined) return word;
    }
  } finally {
    prompt.close();
  }
}
