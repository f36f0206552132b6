// Payloads of events for listeners, as JSON values. See docs/reference/events.md.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { entryValue, type StoredEntry, type StoredObject } from '../objects/stored.ts';
import type { UserId } from '../permissions/principals.ts';

export type ChangeAction = 'create' | 'update' | 'delete';
export type Action = ChangeAction | 'read';

export const actions: readonly Action[] = ['create', 'update', 'delete', 'read'];

/** Input of `formatPayload`. */
export interface PayloadSource {
  readonly action: Action;
  /** Kind of the objects, such as `record`. */
  readonly kind: string;
  /** Clock of the list after the operation. */
  readonly timestamp: number;
  /** Path of the request without the version prefix; the path of the list for POST and for DELETE on a list. */
  readonly path: string;
  /** User id with prefix; `undefined` for anonymous callers. */
  readonly userId: UserId | undefined;
  /** Ids in the path, by name. */
  readonly ids: Readonly<Record<string, string>>;
}

/** Returns the payload of an event without its objects. */
export function formatPayload({ action, kind, timestamp, path, userId, ids }: PayloadSource): JsonObject {
  return { timestamp, action, uri: path, user_id: userId ?? null, resource_name: kind, ...ids };
}

/** Returns an object before and after a change: `{"new": …, "old": …}`. A creation has no `old`; `new` of a deletion is the tombstone. */
export function formatImpact({ old, new: entry }: { old: StoredObject | undefined; new: StoredEntry }): JsonValue {
  return old === undefined ? { new: entryValue(entry) } : { new: entryValue(entry), old: entryValue(old) };
}
