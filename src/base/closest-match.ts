// The known word closest to a misspelt one, for "did you mean" messages.

/** Returns the candidate with the smallest edit distance, if it is small enough for a typing error. */
export function findClosestMatch(word: string, candidates: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 4)) + 1;
  for (const candidate of candidates) {
    const changes = countChanges(word, candidate, least);
    if (changes < least) {
      least = changes;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Counts insertions, deletions, replacements and transpositions between two words, up to `limit`. */
function countChanges(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  let beforeThat: readonly number[] = [];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? limit) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (beforeThat[j - 2] ?? limit) + 1 : limit;
      row.push(Math.min(replaced, swapped, (previous[j] ?? limit) + 1, (row[j - 1] ?? limit) + 1));
    }
    beforeThat = previous;
    previous = row;
  }
  return Math.min(limit, previous[b.length] ?? limit);
}
