// The attributes of a source collection that tell who did what when, and the writing of them.
import { getKey, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { Caller } from '../../engine/caller.ts';
import { placeUri } from './routes.ts';
import { collectionPlace, type Work } from './service.ts';

/** What is told of: each has two attributes, `last_edit_by` and `last_edit_date`. */
export type TrackedAction = 'edit' | 'review_request' | 'review' | 'signature';

const trackedActions: readonly TrackedAction[] = ['edit', 'review_request', 'review', 'signature'];

/** Attributes that clients cannot change. */
export const trackingFields: readonly string[] = trackedActions.flatMap((action) => [
  `last_${action}_by`,
  `last_${action}_date`,
]);

export interface SourceChange {
  /** Status afterwards; `undefined`: none. */
  readonly status: string | undefined;
  /** What the caller has just done. */
  readonly actions: readonly TrackedAction[];
  readonly caller: Caller;
  readonly permissions?: (stored: ObjectPermissions) => ObjectPermissions;
}

/** The status that the plugin has written to the source before in this unit of work; `isKnown` says whether it has. */
export function writtenStatus({ service, actor, route }: Work): {
  readonly isKnown: boolean;
  readonly status: string | undefined;
} {
  const statuses = service.statuses.get(actor.unit);
  const uri = placeUri(route.source);
  return { isKnown: statuses?.has(uri) === true, status: statuses?.get(uri) };
}

/** Writes status and tracking attributes of the source; the rest stays as it is. Nothing is written when it is gone. */
export async function writeSource({ service, actor, route }: Work, change: SourceChange): Promise<void> {
  const statuses = service.statuses.get(actor.unit) ?? new Map<string, string | undefined>();
  service.statuses.set(actor.unit, statuses.set(placeUri(route.source), change.status));
  const { permissions } = change;
  const place = collectionPlace(service.host.objects, route.source);
  if ((await service.host.objects.find(actor, place)) === undefined) return;
  const date = formatDate(service.host.clock.now());
  await service.host.objects.write(actor, place, {
    attributes: (old) => (old === undefined ? undefined : changed(old.attributes, change, date)),
    isVerbatim: true,
    ...(permissions === undefined ? {} : { permissions }),
  });
}

/** `undefined` when it would be what it is. */
function changed(old: JsonObject, change: SourceChange, date: string): JsonObject | undefined {
  const { status, actions, caller, permissions } = change;
  if (actions.length === 0 && permissions === undefined && getKey(old, 'status') === status) return undefined;
  const attributes: MutableJsonObject = { ...old };
  if (status === undefined) delete attributes['status'];
  else attributes['status'] = status;
  for (const action of actions) {
    setKey(attributes, `last_${action}_by`, caller.principal);
    setKey(attributes, `last_${action}_date`, date);
  }
  return attributes;
}

/** ISO 8601 with microseconds and an offset, as existing clients know it. */
function formatDate(time: number): string {
  return new Date(time).toISOString().replace('Z', '000+00:00');
}
