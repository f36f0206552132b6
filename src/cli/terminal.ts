// Where the commands write, and how they ask.
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { Exit, exitCodes } from './exit-codes.ts';

/** A line of result. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A line about what went wrong, or what the user should know. */
export function printError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Whether there is somebody to ask. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/**
 * Asks until one of the words is given; just Enter takes the first.
 *
 * @throws Exit when the input ends
 */
export async function ask<const T extends string>(question: string, words: readonly [T, ...T[]]): Promise<T> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new Promise<never>((_, reject) => {
    terminal.once('close', () => {
      reject(new Exit(exitCodes.failed, 'no answer, nothing done'));
    });
  });
  // Closing it ourselves, once answered, is no news.
  ended.catch(() => undefined);
  try {
    for (;;) {
      const answer = await Promise.race([terminal.question(`${question} (${words.join(', ')}) [${words[0]}] `), ended]);
      const given = answer.trim().toLowerCase();
      const word = given === '' ? words[0] : words.find((candidate) => candidate === given);
      if (word !== undefined) return word;
    }
  } finally {
    terminal.close();
  }
}
