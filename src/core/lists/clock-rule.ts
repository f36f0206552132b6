// The arithmetic of the clock and the horizon of a list, written once over an abstract notation. `list-state.ts` computes with
// numbers. Backends that run code on their server generate SQL or Lua from it.

/** A notation in which the arithmetic is written. */
export interface Notation<Value, Condition> {
  /** Writes a whole number. */
  readonly literal: (value: number) => Value;
  readonly sum: (a: Value, b: Value) => Value;
  readonly larger: (a: Value, b: Value) => Value;
  readonly smaller: (a: Value, b: Value) => Value;
  readonly isAtMost: (a: Value, b: Value) => Condition;
}

export interface ClockRule<Value, Condition> {
  /** The next timestamp of a list that has a clock. */
  readonly next: (clock: Value, now: Value) => Value;
  /** The last of `count` consecutive timestamps. */
  readonly last: (first: Value, count: Value) => Value;
  /** Whether a list may give the timestamp. Beyond the safe integers two timestamps could be one number. */
  readonly exists: (timestamp: Value) => Condition;
  /** Whether a requested timestamp is not after the clock, so another entry may have it. */
  readonly isPast: (given: Value, clock: Value) => Condition;
  /**
   * The clock of a list that has lost live objects with its parent. It stops at the last timestamp: a list without
   * timestamps left must not keep its parent from being deleted.
   */
  readonly emptied: (clock: Value, now: Value) => Value;
  /** The horizon after a deletion of this timestamp without a tombstone. */
  readonly horizon: (horizon: Value, deletion: Value) => Value;
}

/** Writes the rule in a notation. */
export function clockRule<Value, Condition>(notation: Notation<Value, Condition>): ClockRule<Value, Condition> {
  const { literal, sum, larger, smaller, isAtMost } = notation;
  const [one, lastOfAll] = [literal(1), literal(Number.MAX_SAFE_INTEGER)];
  const next = (clock: Value, now: Value): Value => larger(now, sum(clock, one));
  return {
    next,
    // In this order no sum of floating-point numbers is rounded to an earlier timestamp.
    last: (first, count) => sum(first, sum(count, literal(-1))),
    exists: (timestamp) => isAtMost(timestamp, lastOfAll),
    isPast: (given, clock) => isAtMost(given, clock),
    emptied: (clock, now) => smaller(next(clock, now), lastOfAll),
    horizon: larger,
  };
}
