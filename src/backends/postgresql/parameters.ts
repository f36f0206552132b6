// Values beside the SQL text. Conditions are put together from parts, some of which turn out not to be needed, and the
// server does not accept values that the text does not use: the numbers are given at the end.
import type { SqlValue } from './connection.ts';

/** A statement made for one query. */
export interface Compiled {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export class Parameters {
  readonly #values: SqlValue[] = [];

  /** Adds a value and returns what stands for it in the SQL text. */
  add(value: SqlValue, type: 'text' | 'text[]' | 'bigint' | 'jsonb' | 'jsonb[]'): string {
    this.#values.push(value);
    return `$${this.#values.length}::${type}`;
  }

  /** The finished statement, with the values it uses. */
  bind(text: string): Compiled {
    const numbers = new Map<number, number>();
    const numbered = text.replaceAll(/\$(\d+)::/g, (_, digits: string) => {
      const old = Number(digits);
      const number = numbers.get(old) ?? numbers.size + 1;
      numbers.set(old, number);
      return `$${number}::`;
    });
    return { text: numbered, values: Array.from(numbers.keys(), (old) => this.#values[old - 1] ?? null) };
  }
}
