// Validation of hooks when a bucket or collection is saved, inside the transaction.
import { getKey } from '../../base/json.ts';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import { isTombstone } from '../../core/objects/stored.ts';
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import type { EventScope } from '../../engine/events/subscriber.ts';
import type { Objects } from '../../engine/objects.ts';
import { attributeName, readHooks, type Hook, type HookRules } from './hooks.ts';

export interface ValidationOptions {
  readonly objects: Objects;
  readonly limits: Omit<HookRules, 'bucketId'>;
}

/** Maximum number of reported issues, so that the response is not larger than the request. */
const maxIssues = 20;

/**
 * Validates the hooks of changed buckets and collections.
 *
 * @throws ServiceError invalidParameters
 */
export async function validateHooks(
  { changes }: ChangeEvent,
  scope: EventScope,
  options: ValidationOptions,
): Promise<void> {
  for (const change of changes) {
    if (isTombstone(change.new) || getKey(change.new.attributes, attributeName) === undefined) continue;
    const rules = { ...options.limits, bucketId: change.ids['bucket_id']! };
    const issues: Issue[] = [];
    const hooks = readHooks(change.new.attributes, rules, (name, description) => {
      if (issues.length < maxIssues) issues.push({ location: 'body', name: `data.${name}`, description });
    });
    if (issues.length > 0) throw invalidParameters(issues);
    const before = readHooks(change.old?.attributes ?? {}, rules, () => {});
    const known = new Set((before ?? []).flatMap(groupsOf));
    for (const [index, hook] of (hooks ?? []).entries()) {
      for (const groupId of groupsOf(hook)) {
        if (known.has(groupId)) continue;
        if (!(await canRead(change, groupId, scope, options))) throw groupNotReadable(index, groupId);
        known.add(groupId);
      }
    }
  }
}

/**
 * Returns whether the caller can read the group. A mail lists its recipients, so naming a group reveals its members.
 */
function canRead(
  { ids, caller }: Change,
  groupId: string,
  { unit }: EventScope,
  { objects }: ValidationOptions,
): Promise<boolean> {
  const place = objects.findPlace('group', { bucket_id: ids['bucket_id']!, group_id: groupId });
  return place === undefined ? Promise.resolve(false) : objects.isAllowed({ unit, caller }, place, 'read');
}

function groupNotReadable(index: number, groupId: string): Error {
  const name = `data.${attributeName}.hooks.${index}.recipients`;
  return invalidParameters([
    { location: 'body', name, description: `requires read permission on the group ${groupId}` },
  ]);
}

function groupsOf({ recipients }: Hook): readonly string[] {
  return recipients.flatMap((recipient) => ('groupId' in recipient ? [recipient.groupId] : []));
}
