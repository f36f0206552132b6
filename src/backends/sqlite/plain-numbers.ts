// Which numbers SQLite reads from JSON text exactly as JavaScript does. Its reader of decimals is exact up to 15 digits
// only, and keeps integers that a double would round; rows with any other number are left to the query evaluator.
import type { JsonValue } from '../../base/json.ts';
import { endOfStrings, someNumber } from '../../base/json-text.ts';

// A cheap look that finds all suspects, and false ones too: digests and identifiers in strings.
const mayHoldDifficultNumber = /\d[.eE]|\d{16}|-0/;
const plainNumber = /^-?(?=[\d.]{1,16}$)(?:0|[1-9]\d{0,14})(?:\.\d+)?$/;

/** Of a text from this length on, the first strings are skipped before the look, because most of it may be one of them. */
const longTextChars = 100_000;
const skippedStrings = 100;

/** Whether every number of the JSON text is read alike by SQLite and JavaScript. */
export function holdsPlainNumbersOnly(text: string): boolean {
  const end = text.length < longTextChars ? 0 : endOfStrings(text, skippedStrings);
  const rest = end === 0 ? text : text.slice(end);
  return (
    !holdsDifficultNumber(text.slice(0, end)) && (!mayHoldDifficultNumber.test(rest) || !holdsDifficultNumber(rest))
  );
}

function holdsDifficultNumber(text: string): boolean {
  return someNumber(text, (token) => !isPlainToken(token));
}

/** Whether SQLite can compare the number with numbers of plain rows. */
export function isPlainNumber(value: JsonValue): value is number {
  return typeof value === 'number' && isPlainToken(String(value));
}

function isPlainToken(token: string): boolean {
  // `1.0` and `-0` are one number with `1` and `0`, but SQLite and JavaScript agree on that.
  return plainNumber.test(token) && !(token.startsWith('-0') && Number(token) === 0);
}
