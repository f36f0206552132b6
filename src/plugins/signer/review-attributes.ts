// Review attributes of a source collection: its status, and who edited, requested a review, reviewed and signed when.
import { getKey, setKey, type JsonObject, type MutableJsonObject } from '../../base/json.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { Caller } from '../../engine/caller.ts';
import { withEmptied } from './comments.ts';
import { placeUri } from './routes.ts';
import { collectionPlace, findCollection, type Work } from './service.ts';

/** An action recorded in two attributes, such as `last_edit_by` and `last_edit_date`. */
export type TrackedAction = 'edit' | 'review_request' | 'review' | 'signature';

const trackedActions: readonly TrackedAction[] = ['edit', 'review_request', 'review', 'signature'];

/** Attributes that only the plugin changes. */
export const trackingFields: readonly string[] = trackedActions.flatMap((action) => [
  `last_${action}_by`,
  `last_${action}_date`,
]);

export interface SourceChange {
  /** Status after the change; `undefined` removes it. */
  readonly status: string | undefined;
  /** Actions that the caller has just done. */
  readonly actions: readonly TrackedAction[];
  readonly caller: Caller;
  /** Attributes that become empty texts. */
  readonly emptied?: readonly string[];
  readonly permissions?: (stored: ObjectPermissions) => ObjectPermissions;
}

/** Returns the status that the plugin wrote to the source earlier in this unit of work; `isKnown` is false if none. */
export function writtenStatus({ service, actor, route }: Work): {
  readonly isKnown: boolean;
  readonly status: string | undefined;
} {
  const statuses = service.statuses.get(actor.unit);
  const uri = placeUri(route.source);
  return { isKnown: statuses?.has(uri) === true, status: statuses?.get(uri) };
}

/** Writes the status and the tracking attributes of the source. Does nothing if the source no longer exists. */
export async function writeSource({ service, actor, route }: Work, change: SourceChange): Promise<void> {
  const statuses = service.statuses.get(actor.unit) ?? new Map<string, string | undefined>();
  service.statuses.set(actor.unit, statuses.set(placeUri(route.source), change.status));
  const { permissions } = change;
  const place = collectionPlace(service.host.objects, route.source);
  if ((await findCollection({ service, actor }, route.source)) === undefined) return;
  const date = formatDate(service.host.clock.now());
  await service.host.objects.write(actor, place, {
    attributes: (old) => (old === undefined ? undefined : changed(old.attributes, change, date)),
    isVerbatim: true,
    ...(permissions === undefined ? {} : { permissions }),
  });
}

/** Returns the new attributes, or `undefined` if nothing changes. */
function changed(old: JsonObject, change: SourceChange, date: string): JsonObject | undefined {
  const { status, actions, caller, permissions } = change;
  if (actions.length === 0 && permissions === undefined && getKey(old, 'status') === status) return undefined;
  const attributes: MutableJsonObject = { ...withEmptied(old, change.emptied ?? []) };
  if (status === undefined) delete attributes['status'];
  else attributes['status'] = status;
  for (const action of actions) {
    setKey(attributes, `last_${action}_by`, caller.principal);
    setKey(attributes, `last_${action}_date`, date);
  }
  return attributes;
}

/** Formats a time as ISO 8601 with microseconds and an offset, as existing clients expect. */
function formatDate(time: number): string {
  return new Date(time).toISOString().replace('Z', '000+00:00');
}
