// Which numbers SQLite reads from JSON text exactly as JavaScript does. Its reader of decimals is exact up to 15 digits
// only, and keeps integers that a double would round; rows with any other number are left to the query evaluator.
import type { JsonValue } from '../../base/json.ts';

// A cheap look that finds all suspects, and false ones too: digests and identifiers in strings.
const mayHoldDifficultNumber = /\d[.eE]|\d{16}|-0/;
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const plainNumber = /^-?(?=[\d.]{1,16}$)(?:0|[1-9]\d{0,14})(?:\.\d+)?$/;

/** Whether every number of the JSON text is read alike by SQLite and JavaScript. */
export function holdsPlainNumbersOnly(text: string): boolean {
  if (!mayHoldDifficultNumber.test(text)) return true;
  for (const [token] of text.matchAll(tokens)) if (token.charCodeAt(0) !== 34 && !isPlainToken(token)) return false;
  return true;
}

/** Whether SQLite can compare the number with numbers of plain rows. */
export function isPlainNumber(value: JsonValue): value is number {
  return typeof value === 'number' && isPlainToken(String(value));
}

function isPlainToken(token: string): boolean {
  // `1.0` and `-0` are one number with `1` and `0`, but SQLite and JavaScript agree on that.
  return plainNumber.test(token) && !(token.startsWith('-0') && Number(token) === 0);
}
