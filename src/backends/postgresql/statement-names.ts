// Questions that are made while running, with names for them, so that the server keeps the commonest prepared. There is an
// end to them: each takes memory in every connection.
import { batchableQuery, type BatchableQuery } from './batchable-query.ts';

export class StatementNames {
  readonly #prefix: string;
  readonly #limit: number;
  readonly #options: { readonly maxTogether: number };
  readonly #queries = new Map<string, BatchableQuery>();

  constructor(prefix: string, limit: number, options: { readonly maxTogether: number }) {
    this.#prefix = prefix;
    this.#limit = limit;
    this.#options = options;
  }

  /** The question of this text, if there are any names left. */
  query(text: string): BatchableQuery | undefined {
    const known = this.#queries.get(text);
    if (known !== undefined || this.#queries.size >= this.#limit) return known;
    const made = batchableQuery(`${this.#prefix}-${this.#queries.size + 1}`, text, this.#options);
    this.#queries.set(text, made);
    return made;
  }
}
