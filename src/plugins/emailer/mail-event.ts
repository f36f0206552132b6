// Events that send mails: changed objects, and named events of other plugins. Provides the values of filters and
// placeholders.
import { formatJson } from '../../base/json.ts';
import type { Change, NamedEvent } from '../../engine/events/event.ts';
import type { ServiceRequest } from '../../engine/exchange.ts';
import { EVERYONE } from '../../core/permissions/principals.ts';
import type { FilterName } from './filters.ts';
import type { Placeholders } from '../../base/template.ts';

/** An event with the changed objects that mails describe. */
export interface MailEvent {
  readonly event: string;
  readonly timestamp: number;
  readonly changes: readonly Change[];
  readonly request: ServiceRequest;
  /** Members of the payload of a named event. */
  readonly more?: ReadonlyMap<string, string>;
}

/** Converts a named event of another plugin, such as `ReviewRequested`. Templates can show its payload. */
export function mailEventOf({ name, payload, changes, request }: NamedEvent): MailEvent {
  const { timestamp } = payload;
  const texts = Object.entries(payload).map(([key, value]): [string, string] => {
    return [key, typeof value === 'string' ? value : formatJson(value)];
  });
  return {
    event: name,
    timestamp: typeof timestamp === 'number' ? timestamp : 0,
    changes: changes.filter(({ kind }) => kind === 'collection' || kind === 'record'),
    request,
    more: new Map(texts),
  };
}

/** Name of the event of every committed change. */
export const changeEvent = 'AfterResourceChanged';

/** The values of a change that filters test. */
export type FilteredValues = Readonly<Record<FilterName, readonly string[]>>;

export function filteredValues({ event }: MailEvent, { action, kind, ids, new: entry }: Change): FilteredValues {
  return {
    event: eventNames(event),
    action: [action],
    resource_name: [kind],
    id: [entry.id],
    record_id: presentIds(ids, 'record_id'),
    collection_id: presentIds(ids, 'collection_id'),
  };
}

/** Returns the values of all placeholders. */
export function placeholdersOf(
  { event, timestamp, request, more }: MailEvent,
  change: Change,
  { versionPrefix, shownSettings }: { readonly versionPrefix: string; readonly shownSettings: Placeholders },
): Placeholders {
  const { action, kind, uri, ids, caller } = change;
  return new Map([
    ...shownSettings,
    ...(more ?? []),
    ...Object.entries(ids),
    ['id', change.new.id],
    ['user_id', caller.userId ?? EVERYONE],
    ['resource_name', kind],
    ['uri', uri],
    ['action', action],
    ['timestamp', String(timestamp)],
    ['root_url', `${request.origin}${versionPrefix}/`],
    ['client_address', request.clientAddress ?? ''],
    ['user_agent', request.headers['user-agent'] ?? ''],
    ['event', event],
  ]);
}

/** Returns the names that regular expressions of existing hooks may match. */
function eventNames(event: string): readonly string[] {
  if (event === changeEvent) return [event, 'ResourceChanged', `kinto.core.events.${event}`];
  return [event, `kinto_signer.events.${event}`, `kinto_remote_settings.signer.events.${event}`];
}

function presentIds(ids: Change['ids'], name: string): readonly string[] {
  return Object.hasOwn(ids, name) ? [ids[name]!] : [];
}
