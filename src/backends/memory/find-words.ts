// Searches for words: the objects of each word are ordered by time, so those of several words are found in one pass.
import type { Steps } from '../../base/steps.ts';
import type { StoredEntry, StoredObject } from '../../core/objects/stored.ts';
import type { QueryBudget } from '../../core/query/budget.ts';
import type { WordSearch } from '../../core/text/text-query.ts';
import type { ListView } from './list-view.ts';

type View = ListView<StoredEntry>;

/** Number of objects looked at without a pause. */
const objectsPerStep = 2000;
/** Work of a step, in characters that are tested in the same time. */
const workOfStep = 2_000_000;

/** Visits the objects that have all words, and a word with each prefix, until `visit` returns `false`. */
export function* visitWords(
  view: View,
  { words, prefixes, budget }: WordSearch,
  visit: (object: StoredObject) => boolean,
): Steps<void> {
  const sets: ReadonlySet<StoredObject>[] = [];
  for (const prefix of prefixes) sets.push(yield* objectsWithPrefix(view, prefix, budget));
  const rest = sets.toSorted((a, b) => a.size - b.size);
  const found = words.length > 0 ? objectsWithAll(view, words) : rest.shift()?.values();
  let left = objectsPerStep;
  for (const object of found ?? []) {
    if (left-- === 0) {
      budget?.spend(workOfStep);
      yield* view.pause();
      left = objectsPerStep;
    }
    if (object === undefined || !rest.every((set) => set.has(object))) continue;
    if (!visit(object)) return;
  }
}

function* objectsWithPrefix(
  view: View,
  prefix: string,
  budget: QueryBudget | undefined,
): Steps<ReadonlySet<StoredObject>> {
  const found = new Set<StoredObject>();
  let from = { key: prefix, time: Infinity };
  for (;;) {
    let left = objectsPerStep;
    let isEnd = true;
    for (const [place, object] of view.keys.words?.entries(from) ?? []) {
      if (!place.key.startsWith(prefix)) break;
      if (left-- === 0) {
        from = place;
        isEnd = false;
        break;
      }
      found.add(object);
    }
    if (isEnd) return found;
    budget?.spend(workOfStep);
    yield* view.pause();
  }
}

/**
 * Returns the objects that have all words, the newest first, and `undefined` for places that were looked at in vain. Each word
 * in turn is moved to the time of the others, so the rarest word decides how many places are looked at.
 */
function* objectsWithAll(view: View, words: readonly string[]): Iterable<StoredObject | undefined> {
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
