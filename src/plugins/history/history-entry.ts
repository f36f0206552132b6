// History entries: the JSON text of an entry with the action, the user and the whole object, and filters on its fields.
import type { JsonValue } from '../../base/json.ts';
import { formatEntry } from '../../core/objects/stored.ts';
import type { Comparison, Filter } from '../../core/query/ast.ts';
import { parseField } from '../../core/query/fields.ts';
import type { Change } from '../../engine/events/event.ts';

/**
 * Formats the attributes of the entry for a change. The object is inserted as its stored text, which keeps all digits.
 *
 * @param now milliseconds since 1970 UTC
 */
export function formatHistoryEntry(change: Change, now: number): string {
  const { uri, kind, action, caller, permissions } = change;
  const head = JSON.stringify({
    uri,
    resource_name: kind,
    action,
    date: formatDate(now),
    user_id: caller.userId ?? null,
    ...idsBelowBucket(change),
  });
  const target = `{"data":${formatEntry(change.new)},"permissions":${JSON.stringify(permissions)}}`;
  return `${head.slice(0, -1)},"target":${target}}`;
}

/** Returns the ids without that of the bucket, which the list implies, unless the change is to the bucket itself. */
function idsBelowBucket({ kind, ids }: Change): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(ids).filter(([name]) => kind === 'bucket' || name !== 'bucket_id'));
}

/** Formats ISO 8601 in UTC, with the microseconds that clients expect. */
function formatDate(now: number): string {
  return new Date(now).toISOString().replace('Z', '000+00:00');
}

/** Returns the filter that compares a field of entries with a value. */
export function where(name: string, operator: Comparison, value: JsonValue): Filter {
  return { field: parseField(name), operator, value };
}
