// The names of the members of large objects. `Object.keys` sorts them by their age, which blocks the event loop for 25
// milliseconds for the largest accepted object. The reader of JSON knows them in their order.
import { isDigit } from './json-text.ts';

/** Number of members from which on the names of an object are remembered. */
export const manyMembers = 1000;

/** The names in their order; `null` for objects whose names have another order than their members in the text. */
const namesOfLarge = new WeakMap<object, string[] | null>();

/** Remembers a member that is about to be added to an object with many. Values are not changed later. */
export function noteMember(object: object, key: string): void {
  let names = namesOfLarge.get(object);
  if (names === null) return;
  // JavaScript puts names that are numbers before all others.
  if (names === undefined) {
    const first = Object.keys(object);
    names = first.some(startsWithDigit) ? null : first;
    namesOfLarge.set(object, names);
  }
  if (names === null || startsWithDigit(key)) namesOfLarge.set(object, null);
  else if (!Object.hasOwn(object, key)) names.push(key);
}

/** Returns the own keys of an object in their order. */
export function keysOfObject(object: object): readonly string[] {
  return namesOfLarge.get(object) ?? Object.keys(object);
}

function startsWithDigit(key: string): boolean {
  return isDigit(key.charCodeAt(0));
}
