// Values of a row that many conditions use. Each use reads the attributes again, which may be long and compressed, and may convert
// the value again. So they are computed once for each row, in a subselect around the conditions.

/** Number of repeated uses from which this pays: without it, conditions after the one that decides are not computed. */
export const fewRepetitions = 3;

/** The name of the subselect. */
const scope = 'v';

export class RowValues {
  readonly #fields = new Map<string, Column>();
  readonly #derived = new Map<string, Column>();
  #uses = 0;

  /**
   * Returns the name of the value of a field.
   *
   * @param path keys of the field
   * @param sql returns its expression in columns of the row `e`
   */
  field(path: readonly string[], sql: () => string): string {
    this.#uses++;
    return nameIn(this.#fields, 'f', JSON.stringify(path), sql);
  }

  /**
   * Returns the name of a value that is computed from a field; `undefined` when the expression is not the name of one.
   *
   * @param kind what is computed
   */
  derived(kind: string, expression: string, sql: () => string): string | undefined {
    if (!expression.startsWith(`${scope}.f`)) return undefined;
    return nameIn(this.#derived, 'd', `${kind} ${expression}`, sql);
  }

  /** Whether fields are used so often that this pays. */
  get areWorthwhile(): boolean {
    return this.#uses - this.#fields.size >= fewRepetitions;
  }

  /** Returns the condition, which uses the names, as one on the row. */
  around(condition: string): string {
    let from = `(SELECT ${columnsOf(this.#fields)} OFFSET '0') ${scope}`;
    if (this.#derived.size > 0)
      from = `(SELECT ${scope}.*, ${columnsOf(this.#derived)} FROM ${from} OFFSET '0') ${scope}`;
    return `(SELECT ${condition} FROM ${from})`;
  }
}

interface Column {
  readonly name: string;
  readonly sql: string;
}

function nameIn(columns: Map<string, Column>, prefix: string, key: string, sql: () => string): string {
  let column = columns.get(key);
  if (column === undefined) {
    column = { name: `${prefix}${columns.size}`, sql: sql() };
    columns.set(key, column);
  }
  return `${scope}.${column.name}`;
}

function columnsOf(columns: ReadonlyMap<string, Column>): string {
  return Array.from(columns.values(), ({ name, sql }) => `${sql} AS ${name}`).join(', ');
}
