// What a mail is about: one object that was changed, or of which a plugin tells by an event of its own. Gives filters and
// placeholders their values.
import { formatJson } from '../../base/json.ts';
import type { Change, NamedEvent } from '../../engine/events/event.ts';
import type { ServiceRequest } from '../../engine/exchange.ts';
import { EVERYONE } from '../../core/permissions/principals.ts';
import type { Filter } from './filters.ts';
import type { Placeholders } from './template.ts';

/** An event whose objects mails are about. */
export interface Occasion {
  readonly event: string;
  readonly timestamp: number;
  readonly changes: readonly Change[];
  readonly request: ServiceRequest;
  /** What else the event tells. */
  readonly more?: ReadonlyMap<string, string>;
}

/** What is told by an event of another plugin, such as `ReviewRequested`; its payload can be shown. */
export function occasionOf({ name, payload, changes, request }: NamedEvent): Occasion {
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

/** The event of each change of an object. */
export const changeEvent = 'AfterResourceChanged';

/** Whether all filters let the change through. */
export function matchesAll(filters: readonly Filter[], { event }: Occasion, change: Change): boolean {
  const { action, kind, ids } = change;
  const given = {
    event: eventNames(event),
    action: [action],
    resource_name: [kind],
    id: [change.new.id],
    record_id: presentIds(ids, 'record_id'),
    collection_id: presentIds(ids, 'collection_id'),
  };
  return filters.every(({ name, matches }) => matches(given[name]));
}

/** Everything that a template may show. */
export function placeholdersOf(
  { event, timestamp, request, more }: Occasion,
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

/** Names by which regular expressions of existing hooks may look for an event. */
function eventNames(event: string): readonly string[] {
  if (event === changeEvent) return [event, 'ResourceChanged', `kinto.core.events.${event}`];
  return [event, `kinto_signer.events.${event}`, `kinto_remote_settings.signer.events.${event}`];
}

function presentIds(ids: Change['ids'], name: string): readonly string[] {
  return Object.hasOwn(ids, name) ? [ids[name]!] : [];
}
