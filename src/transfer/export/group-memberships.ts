// Memberships in groups follow from the members of the groups: an export has only the groups, and an import sets the members of
// each. Read one after the other, both could disagree in a store in use.
import type { Memberships, PermissionWriter } from '../../contracts/permission.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import { toPrincipal, type Principal } from '../../core/permissions/principals.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { walkEntries, walkLists, walkMemberships } from '../../maintenance/walk.ts';
import { bucketOfGroup, membersIn } from '../../resources/group.ts';
import { addMemberships, DigestSum, type SetDigest } from '../copy/digest.ts';

/** A group with its members; a deleted group has none. */
export interface Group {
  readonly uri: Principal;
  readonly members: ReadonlySet<Principal>;
}

/** Returns the group that an entry of a list is; `undefined` for entries of other kinds. */
export function groupOf({ kind, parent }: ListKey, entry: StoredEntry): Group | undefined {
  if (kind !== 'group') return undefined;
  const uri = toPrincipal(`${parent}/groups/${entry.id}`);
  if (bucketOfGroup(uri) === undefined) return undefined;
  return { uri, members: isTombstone(entry) ? new Set() : membersIn(entry.attributes) };
}

/** Returns the memberships that do not follow from groups. Plugins may add some. */
export function withoutGroups(page: readonly Memberships[]): readonly Memberships[] {
  return page.flatMap(({ userId, principals }) => {
    const others = principals.filter((principal) => bucketOfGroup(principal) === undefined);
    return others.length === 0 ? [] : [{ userId, principals: others }];
  });
}

/** Maximum number of calls that are not awaited. */
const callsAtOnce = 1000;

/** Makes the memberships in the groups equal to their members. */
export async function setMembers(writer: PermissionWriter, groups: readonly Group[]): Promise<void> {
  let calls: Promise<void>[] = [];
  const add = async (call: Promise<void>): Promise<void> => {
    if (calls.push(call) < callsAtOnce) return;
    await Promise.all(calls);
    calls = [];
  };
  for (const { uri, members } of groups) {
    // A group that was changed during the export occurs twice.
    await add(writer.removePrincipal(uri));
    for (const member of members) await add(writer.addUserPrincipal(member, uri));
  }
  await Promise.all(calls);
}

/** Returns whether memberships in groups are those of their members, and the digest of all other memberships. */
export async function compareGroups({
  storage,
  permission,
}: Stores): Promise<{ readonly followGroups: boolean; readonly others: SetDigest }> {
  const [wanted, found, others] = [new DigestSum(), new DigestSum(), new DigestSum()];
  for await (const list of walkLists(storage.reader)) {
    if (list.kind !== 'group') continue;
    for await (const entry of walkEntries(storage.reader, list)) {
      const { uri, members } = groupOf(list, entry) ?? { uri: undefined, members: [] };
      for (const member of members) wanted.add(JSON.stringify([member, uri]));
    }
  }
  for await (const page of walkMemberships(permission.reader)) {
    addMemberships(others, withoutGroups(page));
    for (const { userId, principals } of page) {
      for (const uri of principals) {
        if (bucketOfGroup(uri) !== undefined) found.add(JSON.stringify([userId, uri]));
      }
    }
  }
  return { followGroups: wanted.result().digest === found.result().digest, others: others.result() };
}
