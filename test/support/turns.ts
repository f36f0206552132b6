// Counts turns of the event loop during work that has to let others run.
import { setImmediate } from 'node:timers/promises';

/** Returns the result of the work, and the number of turns of the event loop until its end. */
export async function countTurns<T>(work: Promise<T>): Promise<{ readonly result: T; readonly turns: number }> {
  const progress = { isOver: false };
  const watched = work.finally(() => (progress.isOver = true));
  let turns = 0;
  for (; !progress.isOver; turns++) await setImmediate();
  return { result: await watched, turns };
}
