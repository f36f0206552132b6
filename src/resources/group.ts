// Groups: named lists of users in a bucket. The URI of a group is a principal of its members.
import { pause } from '../base/steps.ts';
import { getKey, setKey, type JsonObject, type JsonValue, type MutableJsonObject } from '../base/json.ts';
import { invalidParameters } from '../core/errors.ts';
import { isTombstone, type StoredEntry } from '../core/objects/stored.ts';
import { EVERYONE, toPrincipal, toPrincipals, type Principal } from '../core/permissions/principals.ts';
import type { Complain, PendingWrite, ResourceKind } from '../engine/kind.ts';
import type { Change } from '../engine/events/event.ts';
import type { Writer } from '../engine/unit-of-work.ts';
import type { ResourceOptions } from './options.ts';
import { validateByBucket } from './schema-validation.ts';

export function groupKind({ maxMembers, validatesSchemas }: ResourceOptions): ResourceKind {
  const validate = validatesSchemas ? validateByBucket('group:schema') : undefined;
  return {
    name: 'group',
    path: '/buckets/{bucket_id}/groups',
    flavour: 'shareable',
    parent: 'bucket',
    idGenerator: 'NameGenerator',
    permissions: {
      names: ['read', 'write'],
      granted: {
        write: [
          { kind: 'bucket', entry: 'write' },
          { kind: 'group', entry: 'write' },
        ],
        read: [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'read' },
          { kind: 'group', entry: 'write' },
          { kind: 'group', entry: 'read' },
        ],
      },
    },
    checkAttributes: checkMembers,
    describesAttributes: {
      type: 'object',
      properties: {
        members: { type: 'array', items: { type: 'string' }, description: 'Ids of the users in the group.' },
      },
    },
    beforeWrite: async (write) => {
      requireFewMembers(write, maxMembers);
      return validate === undefined ? write.attributes : validate(write);
    },
    afterChange: updateMemberships,
  };
}

/** Returns the attributes of a group with `members`, which each group has; empty if absent. */
export function withMembers(attributes: JsonObject): JsonObject {
  if (getKey(attributes, 'members') !== undefined) return attributes;
  const completed: MutableJsonObject = { ...attributes };
  setKey(completed, 'members', []);
  return completed;
}

/** Maximum number of reported faults per list: a million of them would make the response larger than the request. */
const maxFaults = 100;

function checkMembers(attributes: JsonObject, complain: Complain): JsonObject {
  const members = getKey(attributes, 'members');
  if (members === undefined) return withMembers(attributes);
  if (!Array.isArray(members)) complain('members', 'expected a list of user ids');
  else {
    let faults = 0;
    for (const [index, member] of (members as readonly JsonValue[]).entries()) {
      const fault = memberFault(member);
      if (fault === undefined) continue;
      complain(`members.${index}`, fault);
      if (++faults === maxFaults) break;
    }
  }
  return attributes;
}

/** Refuses too many members. A group that is already larger, for example an imported one, may be changed but must not grow. */
function requireFewMembers({ attributes, old }: PendingWrite, maxMembers: number): void {
  const { size } = membersIn(attributes);
  if (maxMembers === 0 || size <= maxMembers || size <= membersOf(old).size) return;
  const description = `${size} members are more than ${maxMembers}`;
  throw invalidParameters([{ location: 'body', name: 'data.members', description }]);
}

const groupForm = /^\/buckets\/([^/]+)\/groups\//;

/** Returns the id of the bucket of a group whose URI is the principal; `undefined` for other principals. */
export function bucketOfGroup(principal: Principal): string | undefined {
  return groupForm.exec(principal)?.[1];
}

/** Returns why a value cannot be a member of a group, or `undefined`. */
export function memberFault(member: JsonValue): string | undefined {
  if (typeof member !== 'string') return 'expected a text';
  if (member === '') return 'expected a user id, not an empty text';
  if (member === EVERYONE) return `${EVERYONE} cannot be a member`;
  if (member.startsWith('/buckets/')) return 'a group cannot be a member of a group';
  return undefined;
}

/** Updates the memberships to match the list of members, in the same transaction. */
async function updateMemberships({ uri, old, new: entry }: Change, { permission }: Writer): Promise<void> {
  const group = toPrincipal(uri);
  if (isTombstone(entry)) return permission.removePrincipal(group);
  const before = membersOf(old);
  const after = membersOf(entry);
  let changed = 0;
  const count = async (): Promise<void> => {
    if (++changed % membersPerStep === 0) await pause('urgent');
  };
  for (const member of after) {
    if (before.has(member)) continue;
    await permission.addUserPrincipal(member, group);
    await count();
  }
  for (const member of before) {
    if (after.has(member)) continue;
    await permission.removeUserPrincipal(member, group);
    await count();
  }
}

/** Memberships to change between pauses. Backends in this process would not let other requests run otherwise. */
const membersPerStep = 500;

function membersOf(entry: StoredEntry | undefined): ReadonlySet<Principal> {
  return entry === undefined || isTombstone(entry) ? new Set() : membersIn(entry.attributes);
}

/** Returns the members that the API accepts: only they get the group as a principal. An imported group may list others. */
export function membersIn(attributes: JsonObject): ReadonlySet<Principal> {
  const members = getKey(attributes, 'members');
  if (!Array.isArray(members)) return new Set();
  const accepted = (members as readonly JsonValue[]).filter(
    (member): member is string => memberFault(member) === undefined,
  );
  return new Set(toPrincipals(accepted));
}
