// Members of the sorted set of a list's declared indexes: the slot as a digit, the key in hexadecimal, a mark below all
// digits, the timestamp such that later ones come first, and the id. Their order as texts is that of the index.
import { indexSlots } from '../../core/index/definition.ts';
import type { KeyRow } from '../../core/index/find-entries.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import type { StoredObject } from '../../core/objects/stored.ts';

const endOfKey = '!';
/** Digits of a timestamp in hexadecimal. */
const timeDigits = 14;

function timeText(timestamp: number): string {
  return (Number.MAX_SAFE_INTEGER - timestamp).toString(16).padStart(timeDigits, '0');
}

/** Returns the members of an object as a JSON array; empty when it has none. */
export function formatMembers({ id, lastModified, keys }: StoredObject): string {
  const members: string[] = [];
  for (const [slot, key] of keys?.entries() ?? []) {
    if (key !== undefined && slot < indexSlots)
      members.push(slot + key.toString('hex') + endOfKey + timeText(lastModified) + id);
  }
  return members.length === 0 ? '' : JSON.stringify(members);
}

export function parseMember(member: string): KeyRow {
  const end = member.indexOf(endOfKey);
  return { key: Buffer.from(member.slice(1, end), 'hex'), id: member.slice(end + 1 + timeDigits) };
}

/** Returns the ends of a range, for `ZRANGEBYLEX`. */
export function boundsOf({ slot, low, high, timestamps }: KeyRange): readonly [low: string, high: string] {
  const start = slot + low.toString('hex');
  if (timestamps === undefined) return [`[${start}`, `(${slot}${high.toString('hex')}`];
  // A range of timestamps is within one key.
  return [
    `[${start}${endOfKey}${timeText(timestamps.high)}`,
    `(${start}${endOfKey}${timeText(timestamps.low)}${above}`,
  ];
}

/** Above all characters of ids. */
const above = '\u{10ffff}';
