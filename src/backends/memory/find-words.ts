// Searches for words: the objects of the rarest word are read, the newest first, and their words are tested for the others.
import type { Steps } from '../../base/steps.ts';
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import { firstWith, hasAll, partsOf, workOfObject, workOfSplitting } from '../../core/text/word-tests.ts';
import type { Place } from './key-maps.ts';
import type { ListView } from './list-view.ts';

type View = ListView<StoredEntry>;

/** Number of words up to which the objects of each one are counted. */
const maxCounted = 8;
/** Number of objects of a word that are counted in about a millisecond. */
const countedPerStep = 100_000;

/** Work between two pauses: about a millisecond. */
const workOfStep = 2_000_000;

/** Visits the objects that have all words, and a word with each prefix, until `visit` returns `false`. */
export function* visitWords(
  view: View,
  { words, prefixes, budget }: WordSearch,
  visit: (object: StoredObject) => boolean,
): Steps<void> {
  const [word, ...otherWords] = yield* rarestFirst(view, words);
  const [prefix = '', ...otherPrefixes] = prefixes;
  const parts = word === undefined ? partsOf([], otherPrefixes) : partsOf(otherWords, prefixes);
  const workOfChar = parts.length + (word === undefined ? workOfSplitting : 0);
  let work = 0;
  let from: Place | undefined = { key: word ?? prefix, time: Infinity };
  const visitStep = (): Place | undefined => {
    for (const [place, object] of view.keys.words?.entries(from) ?? []) {
      if (word === undefined ? !place.key.startsWith(prefix) : place.key !== word) return undefined;
      if (work >= workOfStep) return place;
      work += workOfObject + object.words.length * workOfChar;
      // An object is visited with the first of its words that have the prefix.
      const isFirst = word !== undefined || place.key === firstWith(object.words, prefix);
      if (isFirst && hasAll(object.words, parts) && !visit(object)) return undefined;
    }
    return undefined;
  };
  for (;;) {
    from = visitStep();
    budget?.spend(work);
    if (from === undefined) return;
    work = 0;
    yield* view.pause();
  }
}

/** Returns the words, beginning with the one that the fewest objects have. */
function* rarestFirst(view: View, words: readonly string[]): Steps<readonly string[]> {
  // Long words are rare.
  if (words.length > maxCounted) return words.toSorted((a, b) => b.length - a.length);
  if (words.length < 2) return words;
  const counts = new Map<string, number>();
  for (const key of words) {
    const count = view.keys.words?.forRange({ key, time: Infinity }, { key, time: -Infinity }, true) ?? 0;
    counts.set(key, count);
    if (count > countedPerStep) yield* view.pause();
  }
  return words.toSorted((a, b) => counts.get(a)! - counts.get(b)!);
}
