// Compares answers in tests that run at length, and counts what it has compared.
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { inExtent } from './extent.ts';

export class Comparisons {
  #count = 0;

  /** Requires an answer to be the expected one. */
  same(answer: unknown, expected: unknown): void {
    this.#count++;
    // `toEqual` takes many times longer, and shows the difference.
    if (!isDeepStrictEqual(answer, expected)) expect(answer).toEqual(expected);
  }

  /** Prints how many answers were compared, in the complete run. */
  print(name: string): void {
    if (inExtent<boolean>(false, true)) console.log(`${name}: ${this.#count} answers compared`);
  }
}
