// One history entry as text: what was done to which object, by whom, and the whole object after it.
import { formatEntry } from '../../core/objects/stored.ts';
import type { Change } from '../../engine/events/event.ts';

/**
 * The attributes of the entry about a change. The object goes in as the text it is stored as, so that it loses nothing.
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

/** The bucket is known from the list, unless the entry is about the bucket itself. */
function idsBelowBucket({ kind, ids }: Change): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(ids).filter(([name]) => kind === 'bucket' || name !== 'bucket_id'));
}

/** ISO 8601 in UTC, with the microseconds that clients expect; the clock knows none. */
function formatDate(now: number): string {
  return new Date(now).toISOString().replace('Z', '000+00:00');
}
