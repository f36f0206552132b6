// What becomes of a `last_modified` that a client sends. The storage backend decides the rest (storage contract); see
// docs/reference/http-api/objects.md#sent-timestamps.
import { ExactNumber, type JsonValue } from '../../base/json.ts';

/**
 * The latest timestamp a client may give. It lies far below the end of exact integers, because the clock of the list
 * goes on from there: at the end it would stand still, and nobody could write to the list any more.
 */
export const latestTimestamp = 2 ** 52;

const integerText = /^-?\d+$/;

/**
 * The timestamp to honour; `undefined` when the storage shall give one, because nothing fitting was sent: no integer,
 * a negative one, or none above the current timestamp.
 *
 * @param sent `last_modified` of the data sent, `undefined` when absent
 * @param current timestamp of the object that exists already, `undefined` when it is being created
 */
export function honouredTimestamp(
  sent: JsonValue | undefined,
  current: number | undefined,
): number | undefined | 'out of range' {
  if (typeof sent !== 'number' && !(sent instanceof ExactNumber)) return undefined;
  // Whether a number is an integer shows in its text: `1.0` and `1e3` are none.
  if (!integerText.test(sent instanceof ExactNumber ? sent.text : String(sent))) return undefined;
  const timestamp = Number(sent) + 0;
  if (timestamp < 0) return undefined;
  if (timestamp > latestTimestamp) return 'out of range';
  return current === undefined || timestamp > current ? timestamp : undefined;
}
