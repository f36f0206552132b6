// Values of SQL parameters. Conditions are assembled from parts, some of which turn out to be unnecessary. The server
// accepts only values that the text uses, so parameters are numbered at the end.
import type { SqlValue } from './connection.ts';

/** A statement compiled for one query. */
export interface Compiled {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

export class Parameters {
  readonly #values: SqlValue[] = [];
  readonly #keys = new Map<string, string>();

  /** Adds a value and returns its placeholder in the SQL text. */
  add(value: SqlValue, type: 'text' | 'bytea' | 'text[]' | 'bigint' | 'jsonb' | 'jsonb[]'): string {
    this.#values.push(value);
    return `$${this.#values.length}::${type}`;
  }

  /** Adds a key of a path. Equal keys share a parameter: many long paths would have more keys than a statement can have parameters. */
  addKey(key: string): string {
    let placeholder = this.#keys.get(key);
    if (placeholder === undefined) {
      placeholder = this.add(key, 'text');
      this.#keys.set(key, placeholder);
    }
    return placeholder;
  }

  /** Returns the finished statement, with the values that it uses. */
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
