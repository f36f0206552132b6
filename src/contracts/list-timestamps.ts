// The refusals that the clock of a list gives rise to, alike on all backends.
import { newTimestamps, timestampFor, type ListState } from '../core/lists/list-state.ts';
import { IntegrityError } from './errors.ts';

/**
 * Returns the first of so many new timestamps, which follow each other without gaps.
 *
 * @throws IntegrityError when the list does not have that many left
 */
export function requireTimestamps(state: Pick<ListState, 'clock'>, now: number, count = 1): number {
  return required(newTimestamps(state, now, count));
}

/**
 * Returns the timestamp of a write that may ask for one.
 *
 * @throws IntegrityError when the list has none left
 */
export function requireTimestamp(state: Pick<ListState, 'clock'>, now: number, given: number | undefined): number {
  return required(timestampFor(state, now, given));
}

/**
 * Verifies that no other entry has the timestamp that a write asks for.
 *
 * @param holders ids of the entries that have it
 * @throws IntegrityError when one of them is another id than that of the write
 */
export function requireFree(holders: readonly string[], id: string): void {
  if (holders.some((holder) => holder !== id)) throw new IntegrityError('another object has this last_modified');
}

function required(timestamp: number | undefined): number {
  if (timestamp === undefined) throw new IntegrityError('the list has no timestamps left');
  return timestamp;
}
