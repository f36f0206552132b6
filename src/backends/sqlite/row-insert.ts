// Many rows stored with few statements: about half of what storing a small row takes is the way to SQLite and back.
import type { Connection, SqlValue } from './connection.ts';

/** Rows that one statement stores; few sizes, so that few statements have to be kept. */
const sizes = [32, 8, 1];

/** An INSERT of any number of rows. */
export class RowInsert {
  readonly #columns: number;
  readonly #statements: readonly { readonly rows: number; readonly sql: string }[];

  /** @param into `INSERT INTO numbers (one, two)` */
  constructor(into: string, columns: number) {
    this.#columns = columns;
    const row = `(${Array.from({ length: columns }, () => '?').join(', ')})`;
    this.#statements = sizes.map((rows) => {
      return { rows, sql: `${into} VALUES ${Array.from({ length: rows }, () => row).join(', ')}` };
    });
  }

  /** @param values of all columns of the first row, then of the second, and so on */
  run(connection: Connection, values: readonly SqlValue[]): void {
    let start = 0;
    for (const { rows, sql } of this.#statements) {
      const count = rows * this.#columns;
      for (; start + count <= values.length; start += count) {
        connection.run(sql, ...values.slice(start, start + count));
      }
    }
  }
}
