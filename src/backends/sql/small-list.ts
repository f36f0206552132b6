// Small lists that are filtered or sorted by attributes. Their parsed objects are cached, because a database would parse the
// text of each object for each query.
import type { StoredObject } from '../../core/objects/stored.ts';
import type { PagePlan, SelectionPlan } from '../../core/query/plan-page.ts';

/** A list is small with at most so many objects, and bytes of their texts. */
export const maxSmallObjects = 1000;
export const maxSmallBytes = 262_144;

/** Bytes of an object besides its attributes, and of parsed attributes for each character of their text; both approximate. */
const bytesOfObject = 400;
const bytesOfParsedChar = 3;

/** Whether a plan looks at the attributes of the live objects of a list. */
export function readsAttributes({ by, includeDeleted, residual }: SelectionPlan | PagePlan): boolean {
  return !includeDeleted && (by === 'scan' || (by === 'time' && residual.length > 0));
}

/** Returns the approximate size of cached objects with their parsed attributes, in bytes. */
export function sizeOfObjects(objects: readonly StoredObject[]): number {
  return objects.reduce((size, { text }) => size + text.length * bytesOfParsedChar + bytesOfObject, 0);
}
