// Arrays as text that PostgreSQL parses. Objects are written by the hundred, with long texts. The driver's own conversion
// reads each text several times, and this one only once.

/** Control characters and surrogates, which JSON escapes in its own way. */
const unlikeJson = /[^ -\ud7ff\ue000-\uffff]/;

/** Characters of most ids and principals, none of which has a meaning in an array. */
const plain = /^[\w./:-]+$/;

/** Returns the texts, or nulls, as the value of a parameter of type `text[]`. */
export function textArray(items: readonly (string | null)[]): string {
  let text = '{';
  for (const [index, item] of items.entries()) {
    if (index > 0) text += ',';
    text += item === null ? 'NULL' : quote(item);
  }
  return `${text}}`;
}

/** Returns whole numbers as the value of an array parameter. */
export function numberArray(items: readonly number[]): string {
  return `{${items.join(',')}}`;
}

/** Quotes a text where an array requires it. JSON escapes with a backslash as arrays do. */
function quote(item: string): string {
  // The word NULL without quotes, in any case, is no text.
  if (item.length !== 4 && plain.test(item)) return item;
  return unlikeJson.test(item) ? `"${item.replaceAll(/["\\]/g, '\\$&')}"` : JSON.stringify(item);
}
