// Limits runs of combining marks, because normalizing a run takes quadratic time.

/** More marks in a row than any script has. The two letters decompose to marks. */
const manyMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/** Returns a text with at most 30 combining marks in a row; the rest of them is dropped. `normalize` is linear on it. */
export function limitMarks(text: string): string {
  return text.replace(manyMarks, '$1');
}
