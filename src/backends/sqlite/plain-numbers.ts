// Decides which numbers SQLite reads from JSON text exactly as JavaScript does. SQLite parses decimals exactly up to 15
// digits only, and keeps integers that a double would round. The query evaluator handles rows with any other number.
import type { JsonValue } from '../../base/json.ts';
import { largeTextChars } from '../../base/json-steps.ts';
import { someNumber } from '../../base/json-text.ts';

// A cheap pattern that finds all suspects, and false ones too: digests and identifiers in strings.
const mayHoldDifficultNumber = /\d[.eE]|\d{16}|-0/;
const plainNumber = /^-?(?=[\d.]{1,16}$)(?:0|[1-9]\d{0,14})(?:\.\d+)?$/;

/**
 * Returns whether SQLite and JavaScript read every number of the JSON text alike. Large texts count as different: a search
 * of them would take long, and the query evaluator finds an attribute of a large object without parsing the rest.
 */
export function holdsPlainNumbersOnly(text: string): boolean {
  return text.length < largeTextChars && (!mayHoldDifficultNumber.test(text) || !holdsDifficultNumber(text));
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
