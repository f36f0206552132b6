// What listeners are told of a change or of a read, as a value that can leave the process. See
// docs/reference/events.md.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { entryValue, type StoredEntry, type StoredObject } from '../objects/stored.ts';

export type ChangeAction = 'create' | 'update' | 'delete';
export type Action = ChangeAction | 'read';

export const actions: readonly Action[] = ['create', 'update', 'delete', 'read'];

/** What a payload is made from. */
export interface PayloadSource {
  readonly action: Action;
  /** Kind of the objects, `record`. */
  readonly kind: string;
  /** Clock of the list after the operation. */
  readonly timestamp: number;
  /** Path of the request without the version prefix: of the list for POST and for DELETE on a list. */
  readonly path: string;
  /** Prefixed; `undefined` for anonymous callers. */
  readonly userId: string | undefined;
  /** Ids in the path, by name. */
  readonly ids: Readonly<Record<string, string>>;
}

/** The payload of an event, without any object. */
export function formatPayload({ action, kind, timestamp, path, userId, ids }: PayloadSource): JsonObject {
  return { timestamp, action, uri: path, user_id: userId ?? null, resource_name: kind, ...ids };
}

/** An object before and after: `{"new": …}`, `{"new": …, "old": …}`; a deletion has its tombstone as `new`. */
export function formatImpact({ old, new: entry }: { old: StoredObject | undefined; new: StoredEntry }): JsonValue {
  return old === undefined ? { new: entryValue(entry) } : { new: entryValue(entry), old: entryValue(old) };
}
