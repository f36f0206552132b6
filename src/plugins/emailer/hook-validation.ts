// Validation of hooks when a bucket or collection is saved, inside the transaction.
import { runFromNow, type Steps } from '../../base/steps.ts';
import { StepBudget } from '../../base/json-steps.ts';
import { getKey, type JsonValue } from '../../base/json.ts';
import { invalidParameters, type Issue } from '../../core/errors.ts';
import type { ObjectId } from '../../core/objects/object-id.ts';
import { isTombstone } from '../../core/objects/stored.ts';
import { equalInSteps } from '../../core/query/compare.ts';
import { isAllowed } from '../../engine/access.ts';
import type { Caller } from '../../engine/caller.ts';
import type { Change, ChangeEvent } from '../../engine/events/event.ts';
import type { EventScope } from '../../engine/events/subscriber.ts';
import type { Objects } from '../../engine/objects.ts';
import { FilterFactory, maxSharedPatternWork } from './filters.ts';
import { attributeName, hookValues, readHooks, type Hook, type HookRules } from './hooks.ts';

export interface ValidationOptions {
  readonly objects: Objects;
  readonly limits: Omit<HookRules, 'bucketId'>;
}

/** Maximum number of reported issues, so that the response is not larger than the request. */
const maxIssues = 20;

/** A group that the caller of a change has to be allowed to read. */
interface NamedGroup {
  readonly caller: Caller;
  readonly bucketId: string;
  /** Id of the group; `undefined`: all groups of the bucket, as a placeholder can have any value later. */
  readonly groupId: string | undefined;
  /** Index of the first hook that names the group. */
  readonly hook: number;
}

/**
 * Validates the hooks of changed buckets and collections.
 *
 * @throws ServiceError invalidParameters
 */
export async function validateHooks(event: ChangeEvent, scope: EventScope, options: ValidationOptions): Promise<void> {
  const named: NamedGroup[] = [];
  const shared = new FilterFactory({ maxWork: maxSharedPatternWork });
  for (const change of event.changes) {
    if (isTombstone(change.new)) continue;
    const attributes = await runFromNow(change.new.read(), 'urgent');
    if (getKey(attributes, attributeName) === undefined) continue;
    const bucketId = change.ids['bucket_id']!;
    const issues: Issue[] = [];
    const complain = (name: string, description: string): void => {
      if (issues.length < maxIssues) issues.push({ location: 'body', name: `data.${name}`, description });
    };
    const filters = new FilterFactory({ shared });
    const reading = readHooks(attributes, { ...options.limits, bucketId }, complain, filters);
    const hooks = (await runFromNow(reading, 'urgent')) ?? [];
    if (issues.length > 0) throw invalidParameters(issues);
    const { caller } = change;
    for (const { hook, groupId } of await runFromNow(findNewGroups(change, hookValues(attributes), hooks), 'urgent')) {
      named.push({ caller, bucketId, groupId, hook });
    }
  }
  await requireReadable(named, event, scope, options);
}

/**
 * Returns the groups that new and changed hooks name, without repetition. A mail shows the addresses of its recipients, so a change
 * of a hook, such as a further recipient, could reveal the members of its groups to the caller.
 *
 * @param values values of the hooks, all of which are valid
 */
function* findNewGroups(
  { old }: Change,
  values: readonly JsonValue[],
  hooks: readonly Hook[],
): Steps<readonly Pick<NamedGroup, 'hook' | 'groupId'>[]> {
  const before = old === undefined ? [] : hookValues(yield* old.read());
  const budget = new StepBudget();
  const found = new Map<string | undefined, number>();
  for (const [index, hook] of hooks.entries()) {
    const groups = groupsOf(hook).filter((groupId) => !found.has(groupId));
    if (groups.length === 0 || (yield* isOneOf(values[index]!, before, budget))) continue;
    for (const groupId of groups) found.set(groupId, index);
  }
  return Array.from(found, ([groupId, hook]) => ({ hook, groupId }));
}

function* isOneOf(value: JsonValue, others: readonly JsonValue[], budget: StepBudget): Steps<boolean> {
  for (const other of others) if (yield* equalInSteps(value, other, budget)) return true;
  return false;
}

/**
 * Requires the callers to have read permission on all groups. The number of queries depends on the number of callers and
 * buckets only, because other writers may wait for this transaction.
 *
 * @throws ServiceError invalidParameters
 */
async function requireReadable(
  named: readonly NamedGroup[],
  { request }: ChangeEvent,
  { unit }: EventScope,
  { objects }: ValidationOptions,
): Promise<void> {
  const { ids: groupIds } = objects.kind('group');
  for (const caller of new Set(named.map((group) => group.caller))) {
    const own = named.filter((group) => group.caller === caller);
    for (const bucketId of new Set(own.map((group) => group.bucketId))) {
      const groups = own.filter((group) => group.bucketId === bucketId);
      const list = { kind: 'group', ids: objects.place('bucket', { bucket_id: bucketId }).ids };
      const every = groups.find(({ groupId }) => groupId === undefined);
      if (every !== undefined) {
        const { readList } = objects.kind('group').rules;
        if (!(await isAllowed(readList, caller, unit.reader, list.ids))) throw groupNotReadable(every);
      }
      const ids = new Set<ObjectId>();
      for (const { groupId } of groups) {
        const id = groupId === undefined ? undefined : groupIds.parse(groupId);
        if (id !== undefined) ids.add(id);
      }
      const readable = await objects.filterAllowed({ unit, caller, request }, list, ids, 'read');
      const refused = groups.find(({ groupId }) => groupId !== undefined && !readable.has(groupId));
      if (refused !== undefined) throw groupNotReadable(refused);
    }
  }
}

function groupNotReadable({ hook, groupId }: NamedGroup): Error {
  const name = `data.${attributeName}.hooks.${hook}.recipients`;
  const groups = groupId === undefined ? 'all groups of the bucket, for its placeholders' : `the group ${groupId}`;
  return invalidParameters([{ location: 'body', name, description: `requires read permission on ${groups}` }]);
}

/** Returns the ids of the groups that a hook names; `undefined` for placeholders. */
function groupsOf({ recipients }: Hook): readonly (string | undefined)[] {
  return recipients.flatMap((recipient) => {
    if ('groupTemplate' in recipient) return [undefined];
    return 'groupId' in recipient ? [recipient.groupId] : [];
  });
}
