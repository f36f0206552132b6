// Memberships follow from the imported groups: each member that the API accepts has the URI of the group as a
// principal.
import type { Memberships, PermissionBackend } from '../../contracts/permission.ts';
import type { StoredObject } from '../../core/objects/stored.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { toPrincipal, type Principal } from '../../core/permissions/principals.ts';
import { inUnit } from '../../maintenance/units.ts';
import { walkMemberships } from '../../maintenance/walk.ts';
import { bucketOfGroup, membersIn } from '../../resources/group.ts';
import type { Compared, Side } from '../copy/verify.ts';
import type { ListReport } from './findings.ts';
import type { SourceList } from './lists.ts';

/** Collects users and their groups. */
export class ExpectedMemberships {
  readonly #groupsOf = new Map<Principal, Set<Principal>>();
  readonly #buckets = new Set<string>();
  readonly #hidden = new Set<string>();

  /** Adds all groups of a bucket. Groups that the source hides stay as they are. */
  addBucket(bucket: string, groups: SourceList, { objects, hidden }: ListReport): void {
    this.#buckets.add(bucket);
    for (const uri of hidden) this.#hidden.add(uri);
    for (const group of objects) this.#add(groups.uriOf(group.id), group);
  }

  #add(uri: ObjectUri, group: StoredObject): void {
    for (const member of membersIn(group.attributes)) {
      const groups = this.#groupsOf.get(member);
      if (groups === undefined) this.#groupsOf.set(member, new Set([toPrincipal(uri)]));
      else groups.add(toPrincipal(uri));
    }
  }

  /** Writes the memberships of the target, or compares them alone, and returns the differences. */
  async settle(permission: PermissionBackend, { writes }: { readonly writes: boolean }): Promise<Compared> {
    const first = await this.#compare(permission);
    if (!writes || first.changes.length === 0) return first.compared;
    for (let at = 0; at < first.changes.length; at += changesAtOnce) {
      await inUnit(permission.database, async (transaction) => {
        const writer = permission.writer(transaction);
        for (const { userId, group, isMissing } of first.changes.slice(at, at + changesAtOnce)) {
          if (isMissing) await writer.addUserPrincipal(userId, group);
          else await writer.removeUserPrincipal(userId, group);
        }
      });
    }
    return (await this.#compare(permission)).compared;
  }

  async #compare(
    permission: PermissionBackend,
  ): Promise<{ readonly compared: Compared; readonly changes: readonly Change[] }> {
    const changes: Change[] = [];
    const found = new Set<Principal>();
    let held = 0;
    for await (const page of walkMemberships(permission.reader)) {
      for (const membership of page) {
        found.add(membership.userId);
        const groups = this.#ownGroups(membership);
        held += groups.size;
        const wanted = this.#groupsOf.get(membership.userId) ?? new Set();
        for (const group of groups) if (!wanted.has(group)) changes.push({ ...membership, group, isMissing: false });
        for (const group of wanted) if (!groups.has(group)) changes.push({ ...membership, group, isMissing: true });
      }
    }
    let wanted = 0;
    for (const [userId, groups] of this.#groupsOf) {
      wanted += groups.size;
      if (!found.has(userId)) for (const group of groups) changes.push({ userId, group, isMissing: true });
    }
    const differences = changes
      .slice(0, maxNamed)
      .map(({ userId, group, isMissing }) => `${userId} ${isMissing ? 'is missing in' : 'is still in'} ${group}`);
    const side = (objects: number): Side => ({ lists: 0, objects, tombstones: 0, digest: '' });
    return { changes, compared: { name: 'memberships', source: side(wanted), target: side(held), differences } };
  }

  #ownGroups({ principals }: Memberships): ReadonlySet<Principal> {
    return new Set(
      principals.filter((principal) => {
        const bucket = bucketOfGroup(principal);
        return bucket !== undefined && this.#buckets.has(bucket) && !this.#hidden.has(principal);
      }),
    );
  }
}

interface Change {
  readonly userId: Principal;
  readonly group: Principal;
  readonly isMissing: boolean;
}

const changesAtOnce = 500;
const maxNamed = 5;
