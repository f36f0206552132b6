// Queries that read a few rows, several of which can share a statement. Sending, planning and starting a statement costs
// the server and the driver several times the work of most of these reads, so simultaneous ones share it.
import { textArray } from './array-text.ts';
import { quick, type Row, type Statement } from './connection.ts';

/** The value of one parameter; lists are written as `textArray`. */
export type BatchValue = string | number;

export interface BatchableQuery {
  /** The statement for one list of values. */
  readonly alone: Statement;
  /**
   * The statement for any number of value lists: an array for each parameter. The last column is the list's place, from 1.
   */
  readonly together: Statement;
  /** Maximum number of value lists in one statement, so that no result becomes long. */
  readonly maxTogether: number;
}

/**
 * Creates a query that reads a few rows by key.
 *
 * @param name see `prepared`
 * @param text a query whose parameters all have a type, `$1::text`
 */
export function batchableQuery(name: string, text: string, { maxTogether = 64 } = {}): BatchableQuery {
  const alone = quick(name, text);
  return { alone, together: quick(`${name}-together`, textTogether(text)), maxTogether };
}

/**
 * Returns the query for each row of arrays. The arrays come from subqueries, so the server does not know their length when
 * it plans. Otherwise it would prefer a plan for these very values to one that it can keep. OFFSET 0 keeps the query as it
 * is: one index lookup for each row.
 */
function textTogether(text: string): string {
  const count = Math.max(0, ...Array.from(text.matchAll(/\$(\d+)::/g), ([, digits]) => Number(digits)));
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const arrays = numbers.map((number) => `(SELECT $${number}::text[])`).join(', ');
  const columns = numbers.map((number) => `p${number}`).join(', ');
  return `SELECT a.*, q.place FROM unnest(${arrays}) WITH ORDINALITY AS q (${columns}, place)
    CROSS JOIN LATERAL (${text.replaceAll(/\$(\d+)::/g, 'q.p$1::')} OFFSET 0) a`;
}

/** Returns lists of values as the arrays of `together`. */
export function arraysOf(valueLists: readonly (readonly BatchValue[])[]): readonly string[] {
  return valueLists[0]!.map((_, index) => textArray(valueLists.map((values) => String(values[index]))));
}

/** Returns the rows of `together` for each list of values, in their order. */
export function answersOf(rows: readonly Row[], count: number): readonly (readonly Row[])[] {
  const answers = Array.from({ length: count }, (): Row[] => []);
  for (const row of rows) answers[Number(row.at(-1)) - 1]!.push(row);
  return answers;
}

/**
 * Queries that are compiled at run time, so that the server keeps the first ones prepared. Their number is limited, because
 * each takes memory in every connection.
 */
export class CompiledQueries {
  readonly #name: string;
  readonly #limit: number;
  readonly #options: { readonly maxTogether: number };
  readonly #queries = new Map<string, BatchableQuery>();

  constructor(name: string, limit: number, options: { readonly maxTogether: number }) {
    this.#name = name;
    this.#limit = limit;
    this.#options = options;
  }

  /** Returns the query of this text; `undefined` when too many are kept. */
  query(text: string): BatchableQuery | undefined {
    const known = this.#queries.get(text);
    if (known !== undefined || this.#queries.size >= this.#limit) return known;
    const made = batchableQuery(this.#name, text, this.#options);
    this.#queries.set(text, made);
    return made;
  }
}
