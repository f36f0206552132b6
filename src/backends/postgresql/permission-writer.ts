// Writes of the permission contract inside a unit of work. No caller needs their results, so they are sent without waiting.
import type { BoundPermission, ObjectPermissions, PermissionWriter } from '../../contracts/permission.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { rangeBelow, rangeOfPrefix } from '../sql/text-range.ts';
import type { UnitAccess } from './access.ts';
import { prepared, type Row, type SqlValue, type Statement } from './connection.ts';
import { PendingEntries } from './pending-entries.ts';
import { KnownChecks } from './known-checks.ts';
import { PostgresPermissionReader, readEntries } from './permission-reader.ts';
import { keyOfText } from './text-key.ts';

const addMembership = prepared(
  'add-membership',
  'INSERT INTO coffer_memberships (user_key, principal, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
);
const removeMembership = prepared(
  'remove-membership',
  'DELETE FROM coffer_memberships WHERE user_key = $1 AND principal = $2',
);
const removeMembers = prepared('remove-members', 'DELETE FROM coffer_memberships WHERE principal = $1');
const removeMembersFrom = prepared('remove-members-from', 'DELETE FROM coffer_memberships WHERE principal >= $1');
const removeMembersBetween = prepared(
  'remove-members-between',
  'DELETE FROM coffer_memberships WHERE principal >= $1 AND principal < $2',
);

const ofFolder = 'USING coffer_folders f WHERE f.parent = $1 AND e.parent = f.parent AND e.folder = f.folder';
const removePrincipal = prepared(
  'remove-from-entry',
  `DELETE FROM coffer_entries e ${ofFolder} AND e.name = $2 AND e.permission = $3 AND e.principal_key = $4`,
);
const removeObjects = prepared(
  'remove-objects',
  `DELETE FROM coffer_entries e ${ofFolder} AND e.name = ANY ($2::text[])`,
);
const removeFromAll = prepared('remove-from-all-entries', 'DELETE FROM coffer_entries WHERE principal_key = $1');

const detachFolders = (name: string, condition: string): Statement =>
  prepared(
    name,
    `WITH gone AS (DELETE FROM coffer_folders WHERE ${condition} RETURNING parent, folder)
    INSERT INTO coffer_doomed_folders (parent, folder) SELECT parent, folder FROM gone`,
  );
const detachFoldersBelow = detachFolders('detach-folders-below', 'parent >= $1 AND parent < $2');
const detachAllFolders = detachFolders('detach-all-folders', 'true');
const removeAllMemberships = prepared('remove-all-memberships', 'DELETE FROM coffer_memberships');

export class PostgresPermissionWriter extends PostgresPermissionReader<UnitAccess> implements PermissionWriter {
  readonly #wakeReaper: () => void;
  readonly #checks = new KnownChecks();
  readonly #pending: PendingEntries;

  constructor(access: UnitAccess, wakeReaper: () => void) {
    super(access);
    this.#wakeReaper = wakeReaper;
    this.#pending = new PendingEntries((statement, values) => access.send(statement, values));
    access.unit.keepBack(() => this.#pending.flush());
  }

  override checkPermission(
    principals: readonly string[],
    bound: readonly BoundPermission[],
    memberOf?: string,
  ): Promise<boolean> {
    const ask = (): Promise<boolean> => super.checkPermission(principals, bound, memberOf);
    // Memberships change in many ways, so checks that depend on them are not cached.
    return memberOf === undefined ? this.#checks.find(principals, bound, ask) : ask();
  }

  async addUserPrincipal(userId: string, principal: string): Promise<void> {
    const key = keyOfText(userId);
    this.#send(addMembership, key, principal, key === userId ? null : userId);
  }

  async removeUserPrincipal(userId: string, principal: string): Promise<void> {
    this.#send(removeMembership, keyOfText(userId), principal);
  }

  async removePrincipal(principal: string): Promise<void> {
    this.#send(removeMembers, principal);
  }

  async removePrincipalsBelow(prefix: string): Promise<void> {
    const { low, high } = rangeOfPrefix(prefix);
    if (high === undefined) this.#send(removeMembersFrom, low);
    else this.#send(removeMembersBetween, low, high);
  }

  async addPrincipalToAce(objectId: string, permission: string, principal: string): Promise<void> {
    this.#checks.forget([objectId]);
    this.#pending.add(objectId, { [permission]: [principal] });
  }

  async removePrincipalFromAce(objectId: string, permission: string, principal: string): Promise<void> {
    const { folder, name } = splitObjectId(objectId);
    this.#checks.forget([objectId]);
    this.#send(removePrincipal, folder, name, permission, keyOfText(principal));
  }

  async removePrincipalFromAces(principal: string): Promise<void> {
    this.#checks.forgetAll();
    this.#send(removeFromAll, keyOfText(principal));
  }

  async addToAces(
    entries: readonly { readonly objectId: string; readonly permissions: ObjectPermissions }[],
    { isFresh = false }: { readonly isFresh?: boolean } = {},
  ): Promise<void> {
    this.#checks.forget(entries.map(({ objectId }) => objectId));
    for (const { objectId, permissions } of entries) this.#pending.add(objectId, permissions, isFresh);
  }

  /** Reads the entries with one statement, so that calls take effect in their order. */
  protected override askEntries(valueLists: readonly (readonly string[])[]): Promise<readonly (readonly Row[])[]> {
    return this.access.askAll(readEntries, valueLists);
  }

  async replaceObjectPermissions(objectId: string, permissions: ObjectPermissions): Promise<void> {
    this.#checks.forget([objectId]);
    this.#pending.replace(objectId, permissions);
  }

  async deleteObjectPermissions(objectIds: readonly string[]): Promise<void> {
    this.#checks.forget(objectIds);
    const names = new Map<string, string[]>();
    for (const { folder, name } of objectIds.map(splitObjectId)) {
      const known = names.get(folder);
      if (known === undefined) names.set(folder, [name]);
      else known.push(name);
    }
    for (const [folder, all] of names) this.#send(removeObjects, folder, all);
  }

  /** Deletes the folders. Their entries become unreachable, and the reaper deletes them. */
  async deletePermissionsBelow(uri: string): Promise<void> {
    const { low, high } = rangeBelow(uri);
    this.#checks.forgetAll();
    this.#send(detachFoldersBelow, low, high);
    this.access.unit.afterCommit(this.#wakeReaper);
  }

  async flush(): Promise<void> {
    this.#checks.forgetAll();
    this.#send(detachAllFolders);
    this.#send(removeAllMemberships);
    this.access.unit.afterCommit(this.#wakeReaper);
  }

  #send(statement: Statement, ...values: readonly SqlValue[]): void {
    this.access.send(statement, values);
  }
}
