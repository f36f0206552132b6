// Writes of the permission contract inside a unit of work. No caller needs their results, so they are sent without waiting.
import type { BoundPermission, ObjectPermissions, PermissionWriter } from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import type { Principal, UserId } from '../../core/permissions/principals.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { rangeBelow, rangeOfPrefix } from '../sql/text-range.ts';
import type { UnitAccess } from './access.ts';
import { prepared, type Row, type SqlValue, type Statement } from './connection.ts';
import { PendingEntries } from './pending-entries.ts';
import { KnownChecks, type ObjectCheck } from './known-checks.ts';
import type { KnownEntries } from './known-entries.ts';
import type { ListLocks } from './list-locks.ts';
import {
  checksOf,
  maxBatched,
  PostgresPermissionReader,
  readEntries,
  readExpectedEntries,
} from './permission-reader.ts';
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
  readonly #lists: ListLocks;
  readonly #wakeReaper: () => void;
  readonly #checks = new KnownChecks();
  readonly #entries: KnownEntries;
  readonly #pending: PendingEntries;

  constructor(access: UnitAccess, lists: ListLocks, wakeReaper: () => void) {
    super(access);
    this.#lists = lists;
    this.#wakeReaper = wakeReaper;
    this.#entries = lists.knownEntries;
    this.#pending = new PendingEntries((statement, values) => access.send(statement, values));
    access.unit.keepBack(() => this.#pending.flush());
  }

  override checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean> {
    // Memberships change in many ways, so checks that depend on them are not cached.
    if (memberOf !== undefined) return super.checkPermission(principals, bound, memberOf);
    return this.#checks.find(principals, checksOf(bound), (checks) => this.#check(principals, checks));
  }

  /** Makes checks: those of expected objects by their entries, and all others with one statement. */
  #check(principals: readonly Principal[], checks: readonly ObjectCheck[]): readonly Promise<boolean>[] {
    const unknown: ObjectCheck[] = [];
    const known = checks.map((check) => {
      const rows = this.#findEntries(check.objectId);
      if (rows === undefined) unknown.push(check);
      return rows;
    });
    const asking = unknown.length === 0 ? undefined : this.askChecks(principals, unknown);
    return checks.map(async (check, index) => {
      const rows = await known[index];
      if (rows !== undefined) return rows.some((row) => isGranted(check, principals, row));
      if (known[index] !== undefined) return (await this.askChecks(principals, [check]))[0]!;
      return (await asking!)[unknown.indexOf(check)]!;
    });
  }

  /**
   * Returns the entries of an expected object under the lock of its list, and reads those of the others with them. Returns
   * `undefined` for other objects. The promise is of `undefined` if the object has too many entries.
   */
  #findEntries(objectId: ObjectUri): Promise<readonly Row[] | undefined> | undefined {
    const { unit } = this.access;
    // An earlier unit of the transaction may read them.
    if (unit.isWaiting && this.#lists.expected.hasUri(objectId)) {
      return unit.waitForTurn().then(() => this.#findEntries(objectId));
    }
    const known = this.#entries.find(objectId);
    const expected = known === undefined ? this.#lists.takeExpectedUris(objectId) : undefined;
    if (expected === undefined) return known;
    const reading = this.access.askAll(readExpectedEntries, expected.uris.map(placeOf));
    const fitting = reading.then((all) => all.map((rows) => (rows.length > maxBatched ? undefined : rows)));
    this.#entries.keep(expected, fitting);
    return fitting.then((all) => all[expected.uris.indexOf(objectId)]);
  }

  async addUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    const key = keyOfText(userId);
    this.#send(addMembership, key, principal, key === userId ? null : userId);
  }

  async removeUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    this.#send(removeMembership, keyOfText(userId), principal);
  }

  async removePrincipal(principal: Principal): Promise<void> {
    this.#send(removeMembers, principal);
  }

  async removePrincipalsBelow(prefix: string): Promise<void> {
    const { low, high } = rangeOfPrefix(prefix);
    if (high === undefined) this.#send(removeMembersFrom, low);
    else this.#send(removeMembersBetween, low, high);
  }

  async addPrincipalToAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    this.#forget([objectId]);
    this.#pending.add(objectId, { [permission]: [principal] });
  }

  async removePrincipalFromAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    const { folder, name } = splitObjectId(objectId);
    this.#forget([objectId]);
    this.#send(removePrincipal, folder, name, permission, keyOfText(principal));
  }

  async removePrincipalFromAces(principal: Principal): Promise<void> {
    this.#forgetAll();
    this.#send(removeFromAll, keyOfText(principal));
  }

  async addToAces(
    entries: readonly { readonly objectId: ObjectUri; readonly permissions: ObjectPermissions }[],
    { isFresh = false }: { readonly isFresh?: boolean } = {},
  ): Promise<void> {
    this.#forget(entries.map(({ objectId }) => objectId));
    for (const { objectId, permissions } of entries) this.#pending.add(objectId, permissions, isFresh);
  }

  /** Reads the entries, except known ones, with one statement, so that calls take effect in their order. */
  protected override askEntries(valueLists: readonly (readonly string[])[]): Promise<readonly (readonly Row[])[]> {
    const ask = (): Promise<readonly (readonly Row[])[]> => this.access.askAll(readEntries, valueLists);
    const known = valueLists.length === 1 ? this.#findEntries(storedUri(valueLists[0]!.join(''))) : undefined;
    return known === undefined ? ask() : known.then((rows) => (rows === undefined ? ask() : [rows]));
  }

  async replaceObjectPermissions(objectId: ObjectUri, permissions: ObjectPermissions): Promise<void> {
    this.#forget([objectId]);
    this.#pending.replace(objectId, permissions);
  }

  async deleteObjectPermissions(objectIds: readonly ObjectUri[]): Promise<void> {
    this.#forget(objectIds);
    this.#pending.remove(objectIds);
  }

  /** Deletes the folders. Their entries become unreachable, and the reaper deletes them. */
  async deletePermissionsBelow(uri: ObjectUri): Promise<void> {
    const { low, high } = rangeBelow(uri);
    this.#forgetAll();
    this.#send(detachFoldersBelow, low, high);
    this.access.unit.afterCommit(this.#wakeReaper);
  }

  async flush(): Promise<void> {
    this.#forgetAll();
    this.#send(detachAllFolders);
    this.#send(removeAllMemberships);
    this.access.unit.afterCommit(this.#wakeReaper);
  }

  /** Drops what is known about entries of these objects. */
  #forget(objectIds: readonly ObjectUri[]): void {
    this.#checks.forget(objectIds);
    this.#entries.forget(objectIds);
  }

  #forgetAll(): void {
    this.#checks.forgetAll();
    this.#entries.forgetAll();
  }

  #send(statement: Statement, ...values: readonly SqlValue[]): void {
    this.access.send(statement, values);
  }
}

/** Returns folder and name of an object, as the queries of entries take them. */
function placeOf(objectId: ObjectUri): readonly string[] {
  const { folder, name } = splitObjectId(objectId);
  return [folder, name];
}

/** Returns whether a row of permission and principal is one that a check looks for. */
function isGranted({ permissions }: ObjectCheck, principals: readonly string[], [permission, principal]: Row): boolean {
  return permissions.includes(permission!) && principals.includes(principal!);
}
