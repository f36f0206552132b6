// Names for statements that are made while running, so that the server keeps the commonest prepared. There is an end
// to them: each takes memory in every connection.
import type { Statement } from './connection.ts';

export class StatementNames {
  readonly #prefix: string;
  readonly #limit: number;
  readonly #names = new Map<string, string>();

  constructor(prefix: string, limit: number) {
    this.#prefix = prefix;
    this.#limit = limit;
  }

  /** The statement, with a name if there are any left. */
  statement(text: string): Statement {
    const known = this.#names.get(text);
    if (known !== undefined) return { name: known, text };
    if (this.#names.size >= this.#limit) return { text };
    const name = `${this.#prefix}-${this.#names.size + 1}`;
    this.#names.set(text, name);
    return { name, text };
  }
}
