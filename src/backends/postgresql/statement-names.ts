// Questions that are made while running, with names for them, so that the server keeps the commonest prepared. There is an
// end to them: each takes memory in every connection.
import { question, type Question } from './question.ts';

export class StatementNames {
  readonly #prefix: string;
  readonly #limit: number;
  readonly #options: { readonly maxTogether: number };
  readonly #questions = new Map<string, Question>();

  constructor(prefix: string, limit: number, options: { readonly maxTogether: number }) {
    this.#prefix = prefix;
    this.#limit = limit;
    this.#options = options;
  }

  /** The question of this text, if there are any names left. */
  question(text: string): Question | undefined {
    const known = this.#questions.get(text);
    if (known !== undefined || this.#questions.size >= this.#limit) return known;
    const made = question(`${this.#prefix}-${this.#questions.size + 1}`, text, this.#options);
    this.#questions.set(text, made);
    return made;
  }
}
