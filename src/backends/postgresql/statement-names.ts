// Names for queries that are compiled at run time, so that the server keeps the most frequent ones prepared. Their number
// is limited, because each takes memory in every connection.
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

  /** Returns the query of this text; `undefined` when no name is left. */
  query(text: string): BatchableQuery | undefined {
    const known = this.#queries.get(text);
    if (known !== undefined || this.#queries.size >= this.#limit) return known;
    const made = batchableQuery(`${this.#prefix}-${this.#queries.size + 1}`, text, this.#options);
    this.#queries.set(text, made);
    return made;
  }
}
