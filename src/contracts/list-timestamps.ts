// The timestamps of writes, and the errors of a list that refuses them. All backends share them.
import type { StoredObject } from '../core/objects/stored.ts';
import { newTimestamps, timestampFor, type ListState } from '../core/lists/list-state.ts';
import { IntegrityError } from './errors.ts';
import type { Deletion } from './storage.ts';

/**
 * Returns the first of `count` new timestamps, which follow each other without gaps.
 *
 * @throws IntegrityError when the list has fewer left
 */
export function requireTimestamps(state: Pick<ListState, 'clock'>, now: number, count = 1): number {
  return required(newTimestamps(state, now, count));
}

/**
 * Returns the timestamp of a write, which may name one itself.
 *
 * @throws IntegrityError when the list has none left
 */
export function requireTimestamp(state: Pick<ListState, 'clock'>, now: number, given: number | undefined): number {
  return required(timestampFor(state, now, given));
}

/**
 * Returns the deletions of objects, whose tombstones get new timestamps in the given order.
 *
 * @throws IntegrityError when the list has too few timestamps left
 */
export function requireDeletions(
  state: Pick<ListState, 'clock'>,
  now: number,
  objects: readonly StoredObject[],
): readonly Deletion[] {
  const first = requireTimestamps(state, now, objects.length);
  return objects.map((old, index) => ({ old, tombstone: { id: old.id, lastModified: first + index, deleted: true } }));
}

/**
 * Verifies that no other entry has the timestamp that a write names.
 *
 * @param holders ids of the entries that have it
 * @throws IntegrityError when one of them differs from the id of the write
 */
export function requireFree(holders: readonly string[], id: string): void {
  if (holders.some((holder) => holder !== id)) throw new IntegrityError('another object has this last_modified');
}

function required(timestamp: number | undefined): number {
  if (timestamp === undefined) throw new IntegrityError('the list has no timestamps left');
  return timestamp;
}
