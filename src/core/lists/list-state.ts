// The state of a list and its changes: the timestamps of writes, and the effect of writes on clock, horizon and counts. All
// backends use these functions, so the rules exist only here.
import { clockRule } from './clock-rule.ts';

/** Clock, horizon and counts of a list. A list outlives its contents: clock and horizon stay when it is emptied. */
export interface ListState {
  /** The highest timestamp that the list ever gave; `undefined` when it was never read nor written. */
  readonly clock: number | undefined;
  /** The highest timestamp of a deletion without a tombstone; 0 when all deletions still have theirs. */
  readonly horizon: number;
  /** Number of live objects. */
  readonly live: number;
  /** Number of tombstones. */
  readonly dead: number;
}

/** The effect of a write on the state of its list. */
export interface ListChange {
  /** The clock moves on to this timestamp, never back. */
  readonly clock?: number | undefined;
  /** The horizon moves on to this timestamp, never back. */
  readonly horizon?: number | undefined;
  /** Change of the number of live objects. */
  readonly live?: number;
  /** Change of the number of tombstones. */
  readonly dead?: number;
}

type Clocked = Pick<ListState, 'clock'>;

/** A list that was never read nor written. */
export const unwritten: ListState = { clock: undefined, horizon: 0, live: 0, dead: 0 };

const rule = clockRule<number, boolean>({
  literal: (value) => value,
  sum: (a, b) => a + b,
  larger: (a, b) => Math.max(a, b),
  smaller: (a, b) => Math.min(a, b),
  isAtMost: (a, b) => a <= b,
});

/**
 * Returns the first of `count` consecutive new timestamps; `undefined` when the list does not have that many left, because
 * a client has used one far in the future.
 */
export function newTimestamps({ clock }: Clocked, now: number, count = 1): number | undefined {
  const first = clock === undefined ? now : rule.next(clock, now);
  return rule.exists(rule.last(first, count)) ? first : undefined;
}

/**
 * Returns the timestamp of a write that may request one; `undefined` when the list has none left. If `mayBeTaken` returns
 * true, the caller first verifies that no other entry has it.
 */
export function timestampFor(state: Clocked, now: number, given: number | undefined): number | undefined {
  return given === undefined || given === state.clock ? newTimestamps(state, now) : given;
}

/** Whether another entry of the list may have the requested timestamp, which is then used as it is. */
export function mayBeTaken({ clock }: Clocked, given: number | undefined): given is number {
  return given !== undefined && clock !== undefined && given !== clock && rule.isPast(given, clock);
}

/**
 * Returns the timestamp of a conditional write; `undefined` when the list has none left, or when the requested one is not
 * after the clock. Such a write needs a transaction, which checks whether another entry has the timestamp.
 */
export function conditionalTimestamp({ clock }: Clocked, now: number, given: number | undefined): number | undefined {
  if (given !== undefined && clock !== undefined && rule.isPast(given, clock)) return undefined;
  return timestampFor({ clock }, now, given);
}

/** Returns a clock that moves on to a timestamp, never back. */
export function moveClock(clock: number | undefined, to: number | undefined): number | undefined {
  return to === undefined || (clock !== undefined && clock > to) ? clock : to;
}

/** Returns the clock of a list that is touched: it moves on to a given timestamp, or is created as `now`. */
export function touchedClock({ clock }: Clocked, now: number, to: number | undefined): number {
  return moveClock(clock, to ?? clock ?? now)!;
}

/** Returns a horizon that moves on to a timestamp, never back. */
export function moveHorizon(horizon: number, to = 0): number {
  return rule.horizon(horizon, to);
}

/** Returns the state after a write. */
export function changeState(state: ListState, { clock, horizon, live = 0, dead = 0 }: ListChange): ListState {
  return {
    clock: moveClock(state.clock, clock),
    horizon: moveHorizon(state.horizon, horizon),
    live: state.live + live,
    dead: state.dead + dead,
  };
}

/** The stored state of an id. */
interface Found {
  readonly object: unknown;
  readonly tombstone: unknown;
}

/** Returns the effect of storing an object on its list. */
export function putChange(lastModified: number, { object, tombstone }: Found): ListChange {
  return {
    clock: lastModified,
    live: object === undefined ? 1 : 0,
    dead: tombstone === undefined ? 0 : -1,
  };
}

/** Returns the effect of deleting a live object on its list. */
export function removalChange(lastModified: number, keepTombstone: boolean): ListChange {
  const dead = keepTombstone ? 1 : 0;
  return { clock: lastModified, live: -1, dead, horizon: keepTombstone ? undefined : lastModified };
}

/** Returns the state of a list after the deletion of its parent, which removes all objects and tombstones. */
export function emptyState(state: ListState, now: number): ListState {
  const { clock, horizon, live, dead } = state;
  if (clock === undefined || live + dead === 0) return state;
  const after = live > 0 ? rule.emptied(clock, now) : clock;
  return { clock: after, horizon: rule.horizon(horizon, after), live: 0, dead: 0 };
}

/** Returns the clock of a list after a restoration: it moves on to the highest timestamp, never back. */
export function restoredClock(clock: number, entries: readonly { readonly lastModified: number }[]): number {
  return entries.reduce((latest, { lastModified }) => Math.max(latest, lastModified), clock);
}
