// Writes of the permission contract. The unit of work records each call and applies it at the commit.
import { requireStorable } from '../../contracts/errors.ts';
import type { ObjectPermissions, PermissionWriter } from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import type { EntryChange, MembershipChange, PermissionLog } from './permission-log.ts';
import { RedisPermissionReader } from './permission-reader.ts';
import type { RedisUnit } from './unit.ts';

export class RedisPermissionWriter extends RedisPermissionReader implements PermissionWriter {
  readonly #unit: RedisUnit;

  constructor(client: RedisClient, keys: Keys, unit: RedisUnit) {
    super(client, keys);
    this.#unit = unit;
  }

  async addUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    this.#noteMembership({ kind: 'admit', userId, principal });
  }

  async removeUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    this.#noteMembership({ kind: 'expel', userId, principal });
  }

  async removePrincipal(principal: Principal): Promise<void> {
    this.#noteMembership({ kind: 'expelAll', principal });
  }

  async removePrincipalsBelow(prefix: string): Promise<void> {
    this.#noteMembership({ kind: 'expelBelow', prefix });
  }

  async addPrincipalToAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    this.#note({ kind: 'grant', objectId, permission, principals: [principal] });
  }

  async removePrincipalFromAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    this.#note({ kind: 'revoke', objectId, permission, principal });
  }

  async removePrincipalFromAces(principal: Principal): Promise<void> {
    this.#note({ kind: 'withdraw', principal });
  }

  async addToAces(
    entries: readonly { readonly objectId: ObjectUri; readonly permissions: ObjectPermissions }[],
  ): Promise<void> {
    for (const { objectId, permissions } of entries) {
      for (const [permission, principals] of Object.entries(permissions)) {
        if (principals.length > 0) this.#note({ kind: 'grant', objectId, permission, principals });
      }
    }
  }

  async replaceObjectPermissions(objectId: ObjectUri, permissions: ObjectPermissions): Promise<void> {
    if (Object.keys(permissions).length > 0) this.#note({ kind: 'replace', objectId, permissions });
  }

  async deleteObjectPermissions(objectIds: readonly ObjectUri[]): Promise<void> {
    for (const objectId of objectIds) this.#note({ kind: 'clear', objectId });
  }

  async deletePermissionsBelow(uri: ObjectUri): Promise<void> {
    this.#note({ kind: 'clearBelow', uri });
  }

  async flush(): Promise<void> {
    this.#note({ kind: 'clearAll' });
    this.#noteMembership({ kind: 'clearMemberships' });
  }

  protected override settled(): Promise<void> {
    return this.#unit.listsReady();
  }

  protected override log(): PermissionLog {
    this.#unit.requireOpen();
    return this.#unit.permissions;
  }

  /** Records a change. Texts are checked now: a commit may take several steps, none of which may be refused. */
  #note(change: EntryChange): void {
    for (const text of textsIn(change)) requireStorable(text);
    this.log().entries.push(change);
  }

  #noteMembership(change: MembershipChange): void {
    for (const text of Object.values(change)) requireStorable(text);
    this.log().memberships.push(change);
  }
}

function textsIn(change: EntryChange): readonly string[] {
  if (change.kind !== 'replace') return Object.values(change).flat();
  const { objectId, permissions } = change;
  return [objectId, ...Object.keys(permissions), ...Object.values(permissions).flat()];
}
