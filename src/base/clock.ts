// Time as a dependency: tests set it, stop it and step it back.

export interface Clock {
  /** Milliseconds since 1970 UTC, a whole number; may step back when the machine's clock does. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
