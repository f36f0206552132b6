// Ages and dates as operators write them.
import { date, duration } from '../settings/readers.ts';

const ages = duration({ min: 0 });
const dates = date();

/**
 * The moment that lies an age such as `30d` or `12h` before now, or that a date such as `2026-01-31` names, in
 * milliseconds since 1970 UTC; `undefined` when the text is neither.
 */
export function parseMoment(given: string, now: number): number | undefined {
  // A number without a unit could be meant as days as well as seconds.
  const age = /\d$/.test(given) ? undefined : ages.read(given);
  if (age?.kind === 'value') return Math.floor(now - age.value * 1000);
  const reading = dates.read(given);
  return reading.kind === 'value' ? reading.value.time : undefined;
}
