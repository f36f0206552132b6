// `If-Match` and `If-None-Match`: conditional.md of the protocol.
import { Refusal, stamps, uncached, type Ask, type Expected, type Issue } from './exchange.ts';
import type { JsonMap } from './json.ts';

/** A timestamp, or anything. */
type Condition = number | '*';

export interface Conditions {
  readonly match: Condition | undefined;
  readonly noneMatch: Condition | undefined;
}

/** Reads both headers; what is wrong goes to the issues. */
export function readConditions({ headers }: Ask, issues: Issue[]): Conditions {
  const read = (name: string): Condition | undefined => {
    const value = headers[name.toLowerCase()];
    if (value === undefined || value === '*') return value;
    const digits = /^"(\d+)"$/.exec(value)?.[1];
    if (digits === undefined) issues.push(['header', name]);
    return Number(digits);
  };
  return { match: read('If-Match'), noneMatch: read('If-None-Match') };
}

/** 304 when the reader has the current state already; `more` are further headers that the full answer would have. */
export function unchanged(
  { noneMatch }: Conditions,
  timestamp: number,
  more: Expected['headers'] = {},
): Expected | undefined {
  if (noneMatch !== timestamp) return undefined;
  return { status: 304, headers: { ...stamps(timestamp), ...uncached, ...more }, body: undefined };
}

/** Of what exists: an object as it is shown, or a list. */
export function requireConditions({ match, noneMatch }: Conditions, timestamp: number, existing?: JsonMap): void {
  const holds = noneMatch !== '*' && (match === undefined || match === '*' || match === timestamp);
  if (!holds) throw new Refusal(412, 114, existing === undefined ? undefined : { existing }, stamps(timestamp));
}

/** For creating what does not exist: a timestamp has to be that of the list for POST, of the tombstone for PUT. */
export function requireAbsent({ match }: Conditions, reference: number | undefined, touch: () => number): void {
  if (match === undefined || (match !== '*' && match === reference)) return;
  throw new Refusal(412, 114, undefined, stamps(touch()));
}
