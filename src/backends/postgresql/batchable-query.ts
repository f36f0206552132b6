// Statements that read a little, of which several can be asked in one. Sending, planning and starting a statement costs
// the server and the driver several times what most of these read, so those that come together share it.
import { textArray } from './array-text.ts';
import { quick, type Row, type Statement } from './connection.ts';

/** A value that stands for one parameter of a question; lists are written as `textArray`. */
export type BatchValue = string | number;

export interface BatchableQuery {
  /** Asks once. */
  readonly alone: Statement;
  /** Asks any number of times: an array for each parameter. The place of the question, from 1, is the last column. */
  readonly together: Statement;
  /** How many are asked together at most, so that no answer becomes long. */
  readonly maxTogether: number;
}

/**
 * A question of a name that is unique in this folder, which reads a few rows by key.
 *
 * @param text a query whose parameters all have a type, `$1::text`
 */
export function batchableQuery(name: string, text: string, { maxTogether = 64 } = {}): BatchableQuery {
  const alone = quick(name, text);
  return { alone, together: quick(`${name}-together`, textTogether(text)), maxTogether };
}

/**
 * The same query for each row of arrays. Arrays come by way of queries of their own, so that the server does not know their
 * length beforehand: it would take the plan for these very values for better than one that it may keep. OFFSET 0 keeps the
 * query as it stands, one look into an index for each question.
 */
function textTogether(text: string): string {
  const count = Math.max(0, ...Array.from(text.matchAll(/\$(\d+)::/g), ([, digits]) => Number(digits)));
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const arrays = numbers.map((number) => `(SELECT $${number}::text[])`).join(', ');
  const columns = numbers.map((number) => `p${number}`).join(', ');
  return `SELECT a.*, q.place FROM unnest(${arrays}) WITH ORDINALITY AS q (${columns}, place)
    CROSS JOIN LATERAL (${text.replaceAll(/\$(\d+)::/g, 'q.p$1::')} OFFSET 0) a`;
}

/** Several lots of values as the arrays of `together`. */
export function arraysOf(lots: readonly (readonly BatchValue[])[]): readonly string[] {
  return lots[0]!.map((_, index) => textArray(lots.map((values) => String(values[index]))));
}

/** The rows of `together`, for each of the questions in their order. */
export function answersOf(rows: readonly Row[], count: number): readonly (readonly Row[])[] {
  const answers = Array.from({ length: count }, (): Row[] => []);
  for (const row of rows) answers[Number(row.at(-1)) - 1]!.push(row);
  return answers;
}
