// Searches for words: the objects of each word are ordered by time, so those of several words are found in one pass. Whether an
// object has words with further prefixes is tested.
import type { Steps } from '../../base/steps.ts';
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import { hasAll, longestFirst, partsOf, workOfObject } from '../../core/text/word-tests.ts';
import type { IndexedObject, KeyMaps, Place } from './key-maps.ts';
import type { ListView } from './list-view.ts';

type View = ListView<StoredEntry>;

/** Work between two pauses: about a millisecond. */
const workOfStep = 2_000_000;

/** Visits the objects that have all words, and a word with each prefix, until `visit` returns `false`. */
export function* visitWords(
  view: View,
  { words, prefixes, budget }: WordSearch,
  visit: (object: StoredObject) => boolean,
): Steps<void> {
  const [prefix = '', ...others] = prefixes.toSorted(longestFirst);
  const isByWord = words.length > 0;
  const parts = partsOf([], isByWord ? prefixes : others);
  let work = 0;
  for (const object of isByWord ? objectsWithAll(view, words) : objectsWith(view, prefix)) {
    work += workOfObject + (object?.words.length ?? 0) * parts.length;
    if (object !== undefined && hasAll(object.words, parts) && !visit(object)) break;
    if (work < workOfStep) continue;
    budget?.spend(work);
    work = 0;
    yield* view.pause();
  }
  budget?.spend(work);
}

/**
 * Yields the objects that have all words, the newest first, and `undefined` for places whose object has not. Each word in
 * turn is moved to the time of the others, so the rarest word decides how many places are looked at.
 */
function* objectsWithAll(view: View, words: readonly string[]): Iterable<IndexedObject | undefined> {
  let time = Infinity;
  let matching = 0;
  for (let number = 0; ; number = (number + 1) % words.length) {
    const key = words[number]!;
    const [place, object] = view.keys.words?.getPairOrNextHigher({ key, time }) ?? [];
    if (place?.key !== key || object === undefined) return;
    if (place.time === time) matching++;
    else [time, matching] = [place.time, 1];
    if (matching < words.length) {
      yield undefined;
      continue;
    }
    yield object;
    [time, matching] = [time - 1, 0];
  }
}

/** Yields the objects that have a word with the prefix, and `undefined` for the places of their other words with it. */
function* objectsWith(view: View, prefix: string): Iterable<IndexedObject | undefined> {
  const found = new Set<string>();
  let from: Place | undefined = { key: prefix, time: Infinity };
  while (from !== undefined) {
    const keys: KeyMaps = view.keys;
    const entries: Iterable<[Place, IndexedObject]> = keys.words?.entries(from) ?? [];
    from = undefined;
    for (const [place, object] of entries) {
      if (!place.key.startsWith(prefix)) return;
      yield found.has(object.id) ? undefined : object;
      found.add(object.id);
      if (keys === view.keys) continue;
      from = { key: place.key, time: place.time - 1 };
      break;
    }
  }
}
