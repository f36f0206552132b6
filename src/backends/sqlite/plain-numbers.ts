// Decides which numbers SQLite reads from JSON text exactly as JavaScript does. SQLite parses decimals exactly up to 15
// digits only, and keeps integers that a double would round. The query evaluator handles rows with any other number.
import type { JsonValue } from '../../base/json.ts';
import { endOfStrings, someNumber } from '../../base/json-text.ts';

// A cheap pattern that finds all suspects, and false ones too: digests and identifiers in strings.
const mayHoldDifficultNumber = /\d[.eE]|\d{16}|-0/;
const plainNumber = /^-?(?=[\d.]{1,16}$)(?:0|[1-9]\d{0,14})(?:\.\d+)?$/;

/** In a text of at least this length, the first strings are skipped, because one of them may be most of the text. */
const longTextChars = 100_000;
const skippedStrings = 100;

/** Returns whether SQLite and JavaScript read every number of the JSON text alike. */
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

/** Returns whether SQLite can compare the number with numbers of plain rows. */
export function isPlainNumber(value: JsonValue): value is number {
  return typeof value === 'number' && isPlainToken(String(value));
}

function isPlainToken(token: string): boolean {
  // `1.0` and `-0` are one number with `1` and `0`, but SQLite and JavaScript agree on that.
  return plainNumber.test(token) && !(token.startsWith('-0') && Number(token) === 0);
}
