// Finds a text in another one, in time that grows with the sum of their lengths. `indexOf` may take the product of both.

/** Length up to which `indexOf` is always fast. */
const shortChars = 32;

/** Returns the position of the first occurrence between two positions; -1 when there is none. */
export function findText(text: string, part: string, from: number, to: number): number {
  if (part.length > to - from) return -1;
  if (part.length > shortChars) return findLong(text, part, from, to);
  if (to === text.length) return text.indexOf(part, from);
  const found = text.slice(from, to).indexOf(part);
  return found === -1 ? -1 : from + found;
}

/** Uses the algorithm of Knuth, Morris and Pratt, which never goes back in the text. */
function findLong(text: string, part: string, from: number, to: number): number {
  // Most texts do not even have the beginning.
  const start = findText(text, part.slice(0, shortChars), from, to);
  if (start === -1) return -1;
  const borders = bordersOf(part);
  let matched = 0;
  for (let at = start; at < to; at++) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1]!;
    if (part.charCodeAt(matched) === unit) matched++;
    if (matched === part.length) return at + 1 - matched;
  }
  return -1;
}

/** Returns, for each prefix of the part, the length of the longest shorter prefix that it ends with. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length);
  let length = 0;
  for (let at = 1; at < part.length; at++) {
    while (length > 0 && part.charCodeAt(length) !== part.charCodeAt(at)) length = borders[length - 1]!;
    if (part.charCodeAt(length) === part.charCodeAt(at)) length++;
    borders[at] = length;
  }
  return borders;
}
