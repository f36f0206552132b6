// Inserts of many rows with few statements: half of the time of a small insert is the call of SQLite.
import type { BoundText, Connection, SqlValue } from './connection.ts';

/** Numbers of rows that one statement stores; few sizes, so that few statements are cached. */
const sizes = [32, 8, 1];

/** An INSERT of any number of rows. */
export class RowInsert {
  readonly #columns: number;
  readonly #statements: readonly { readonly rows: number; readonly sql: string }[];

  /**
   * @param into `INSERT INTO numbers (one, two)`
   * @param places parameters of the columns, `?` or an expression with one
   */
  constructor(into: string, places: readonly string[]) {
    this.#columns = places.length;
    const row = `(${places.join(', ')})`;
    this.#statements = sizes.map((rows) => {
      return { rows, sql: `${into} VALUES ${Array.from({ length: rows }, () => row).join(', ')}` };
    });
  }

  /** @param values of all columns of the first row, then of the second, and so on */
  run(connection: Connection, values: readonly (SqlValue | BoundText)[]): void {
    let start = 0;
    for (const { rows, sql } of this.#statements) {
      const count = rows * this.#columns;
      for (; start + count <= values.length; start += count) {
        connection.run(sql, ...values.slice(start, start + count));
      }
    }
  }
}
