// Arrays as PostgreSQL reads them. Objects are written by hundreds, and the texts in them are long: the driver looks at each
// several times, and this only once.

/** Control characters and surrogates, which JSON writes in a way of its own. */
const unlikeJson = /[^ -\ud7ff\ue000-\uffff]/;

/** What most ids and principals are made of, and nothing that means something in an array. */
const plain = /^[\w./:-]+$/;

/** The texts, or nulls, as a value for a parameter of type `text[]`. */
export function textArray(items: readonly (string | null)[]): string {
  let text = '{';
  for (const [index, item] of items.entries()) {
    if (index > 0) text += ',';
    text += item === null ? 'NULL' : quote(item);
  }
  return `${text}}`;
}

/** The same for whole numbers. */
export function numberArray(items: readonly number[]): string {
  return `{${items.join(',')}}`;
}

/** In quotes, where it needs them; what is escaped with a backslash is the same as in JSON. */
function quote(item: string): string {
  // Without quotes the word NULL, in any case, is no text.
  if (item.length !== 4 && plain.test(item)) return item;
  return unlikeJson.test(item) ? `"${item.replaceAll(/["\\]/g, '\\$&')}"` : JSON.stringify(item);
}
