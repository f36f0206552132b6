// The use of a `last_modified` from a client. The rest is up to the storage contract; see
// docs/reference/http-api/objects.md#sent-timestamps.
import { ExactNumber, type JsonValue } from '../../base/json.ts';

/**
 * The latest timestamp that a client may give. It is far below the largest exact integer, because the clock of the list
 * continues from it: at the end of the range no write to the list would be possible.
 */
export const latestTimestamp = 2 ** 52;

/**
 * The latest timestamp, clock or horizon that an import accepts. A list to which a client has given the latest timestamp continues
 * beyond it, so the limit leaves room for a trillion writes. Above it, too few timestamps may be left for the list here.
 */
export const latestImportedTimestamp = latestTimestamp + 2 ** 40;

/** Whether an import accepts the number as a timestamp, a clock or a horizon. */
export function isImportedTimestamp(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= latestImportedTimestamp;
}

const integerText = /^-?\d+$/;

/**
 * Returns the timestamp to use, or `undefined` when the storage gives one: nothing was sent, or no integer, a negative one,
 * or one not above the current timestamp.
 *
 * @param sent `last_modified` of the data sent, `undefined` when absent
 * @param current timestamp of the existing object, `undefined` on creation
 */
export function honouredTimestamp(
  sent: JsonValue | undefined,
  current: number | undefined,
): number | undefined | 'out of range' {
  if (typeof sent !== 'number' && !(sent instanceof ExactNumber)) return undefined;
  // The text decides: `1.0` and `1e3` are not integers here.
  if (!integerText.test(sent instanceof ExactNumber ? sent.text : String(sent))) return undefined;
  const timestamp = Number(sent) + 0;
  if (timestamp < 0) return undefined;
  if (timestamp > latestTimestamp) return 'out of range';
  return current === undefined || timestamp > current ? timestamp : undefined;
}
