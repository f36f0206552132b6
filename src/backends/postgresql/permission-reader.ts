// The reading half of the permission contract. The same code serves committed state and units of work.
import type {
  AccessibleOptions,
  BoundPermission,
  Memberships,
  ObjectEntries,
  ObjectPermissions,
  PermissionReader,
  WalkPage,
} from '../../contracts/permission.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { walkPage } from '../sql/walk-page.ts';
import { findAccessible, findAllAccessible, type AccessibleObjects } from './accessible-objects.ts';
import type { Access } from './access.ts';
import { prepared, quick, type Row, type Statement } from './connection.ts';
import { keyOfText } from './text-key.ts';

const readMemberships = quick(
  'read-memberships',
  `SELECT principal FROM coffer_memberships WHERE user_key IN ($1, 'system.Authenticated')`,
);
// OFFSET 0 keeps the inner query as it stands: joined freely, the server may read all entries of a folder to find those
// of one name.
const ofBound = `FROM coffer_folders f JOIN coffer_entries e ON e.parent = f.parent AND e.folder = f.folder
  WHERE f.parent = b.parent AND e.parent = b.parent AND e.name = b.name`;
const bounds = 'unnest($1::text[], $2::text[], $3::text[]) AS b (parent, name, permission)';
const readPrincipals = quick(
  'read-principals',
  `SELECT DISTINCT e.principal FROM ${bounds} CROSS JOIN LATERAL (
    SELECT coalesce(e.principal, e.principal_key) AS principal ${ofBound} AND e.permission = b.permission OFFSET 0
  ) e`,
);
/** Whether an entry asked for fulfils a condition. */
const isAnyEntry = (condition: string): string => `EXISTS (SELECT FROM ${bounds} CROSS JOIN LATERAL (
    SELECT 1 ${ofBound} AND e.permission = b.permission AND ${condition} OFFSET 0
  ) e)`;
const isNamed = 'e.principal_key = ANY ($4::text[])';
// Few principals stand in an entry, but a user may be in many groups, so entries lead to memberships.
const isGiven = `EXISTS (
    SELECT FROM coffer_memberships m
    WHERE m.user_key IN ($5, 'system.Authenticated') AND m.principal = coalesce(e.principal, e.principal_key) OFFSET 0
  )`;
const checkEntries = quick('check-entries', `SELECT ${isAnyEntry(isNamed)}`);
const checkEntriesOfMember = quick(
  'check-entries-of-member',
  `SELECT ${isAnyEntry(isNamed)} OR ${isAnyEntry(isGiven)}`,
);
const readEntries = quick(
  'read-entries',
  `SELECT b.place, e.permission, e.principal
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS b (parent, name, place) CROSS JOIN LATERAL (
    SELECT e.permission, coalesce(e.principal, e.principal_key) AS principal ${ofBound} OFFSET 0
  ) e`,
);
// Folders in order, then the names in each. A condition on both at once would read the folder from its start each time.
const objectsInFolder = prepared(
  'objects-in-folder',
  `SELECT e.parent, e.name FROM coffer_entries e
  WHERE e.parent = $2 AND e.folder = (SELECT folder FROM coffer_folders WHERE parent = $2) AND e.name > $3
  GROUP BY e.parent, e.name ORDER BY e.name LIMIT $1`,
);
// Folders that nothing is left in are passed over, or a page could be empty before the end.
const objectsInFolders = (name: string, condition: string): Statement =>
  prepared(
    name,
    `SELECT f.parent, k.name FROM (
      SELECT f.parent, f.folder FROM coffer_folders f WHERE ${condition} EXISTS (
        SELECT FROM coffer_entries e WHERE e.parent = f.parent AND e.folder = f.folder
      ) ORDER BY f.parent LIMIT $1
    ) f CROSS JOIN LATERAL (
      SELECT e.name FROM coffer_entries e WHERE e.parent = f.parent AND e.folder = f.folder
      GROUP BY e.name ORDER BY e.name LIMIT $1
    ) k ORDER BY f.parent, k.name LIMIT $1`,
  );
const firstObjects = objectsInFolders('first-objects', '');
const nextObjects = objectsInFolders('next-objects', 'f.parent > $2 AND');
const usersFrom = (condition: string): string =>
  `SELECT u.user_key, m.user_id, m.principal FROM (
    SELECT DISTINCT user_key FROM coffer_memberships ${condition} ORDER BY user_key LIMIT $1
  ) u JOIN coffer_memberships m ON m.user_key = u.user_key ORDER BY u.user_key`;
const firstUsers = prepared('first-users', usersFrom(''));
const nextUsers = prepared('next-users', usersFrom('WHERE user_key > $2'));

export class PostgresPermissionReader<Reach extends Access = Access> implements PermissionReader {
  protected readonly access: Reach;

  constructor(access: Reach) {
    this.access = access;
  }

  async getUserPrincipals(userId: string): Promise<ReadonlySet<string>> {
    const { rows } = await this.access.run(readMemberships, [keyOfText(userId)]);
    return new Set(rows.map(([principal]) => principal!));
  }

  getObjectPermissionPrincipals(objectId: string, permission: string): Promise<ReadonlySet<string>> {
    return this.getAuthorizedPrincipals([{ objectId, permission }]);
  }

  async getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<string>> {
    if (bound.length === 0) return new Set();
    const { rows } = await this.access.run(readPrincipals, boundColumns(bound));
    return new Set(rows.map(([principal]) => principal!));
  }

  async checkPermission(
    principals: readonly string[],
    bound: readonly BoundPermission[],
    memberOf?: string,
  ): Promise<boolean> {
    if (bound.length === 0) return false;
    const values = [...boundColumns(bound), principals.map(keyOfText)];
    const { rows } = await (memberOf === undefined
      ? this.access.run(checkEntries, values)
      : this.access.run(checkEntriesOfMember, [...values, keyOfText(memberOf)]));
    return rows[0]?.[0] === 't';
  }

  async getAccessibleObjects(
    principals: readonly string[],
    { bound, withChildren = true, memberOf, limit }: AccessibleOptions = {},
  ): Promise<AccessibleObjects> {
    const all = memberOf === undefined ? principals : [...principals, ...(await this.getUserPrincipals(memberOf))];
    return bound === undefined
      ? findAllAccessible(this.access, all)
      : findAccessible(this.access, all, bound, { withChildren, limit });
  }

  async getObjectPermissions(objectId: string, permissions?: readonly string[]): Promise<ObjectPermissions> {
    return (await this.getObjectsPermissions([objectId], permissions))[0]!;
  }

  async getObjectsPermissions(
    objectIds: readonly string[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]> {
    if (objectIds.length === 0) return [];
    const split = objectIds.map(splitObjectId);
    const { rows } = await this.access.run(readEntries, [
      split.map(({ folder }) => folder),
      split.map(({ name }) => name),
    ]);
    const found = objectIds.map(() => new Map<string, string[]>());
    for (const row of rows) addEntry(found, row, permissions);
    return found.map((entries) => Object.fromEntries(entries));
  }

  async entries(after: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>> {
    const rows = await this.#objectsAfter(after, limit);
    const ids = rows.map(([folder, name]) => folder! + name!);
    const permissions = await this.getObjectsPermissions(ids);
    const found = ids.map((objectId, index) => ({ objectId, permissions: permissions[index]! }));
    return walkPage(found, limit, ({ objectId }) => objectId);
  }

  async #objectsAfter(after: string | undefined, limit: number): Promise<readonly Row[]> {
    if (after === undefined) return (await this.access.run(firstObjects, [limit])).rows;
    const { folder, name } = splitObjectId(after);
    const { rows } = await this.access.run(objectsInFolder, [limit, folder, name]);
    if (rows.length === limit) return rows;
    return [...rows, ...(await this.access.run(nextObjects, [limit - rows.length, folder])).rows];
  }

  async memberships(after: string | undefined, limit: number): Promise<WalkPage<Memberships>> {
    const { rows } =
      after === undefined
        ? await this.access.run(firstUsers, [limit])
        : await this.access.run(nextUsers, [limit, keyOfText(after)]);
    const users = new Map<string, { userId: string; readonly principals: string[] }>();
    for (const [key, userId, principal] of rows) {
      const user = users.get(key!) ?? { userId: key!, principals: [] };
      users.set(key!, user);
      user.principals.push(principal!);
      // Rows from before the whole id was kept are without it.
      if (userId !== null && userId !== undefined) user.userId = userId;
    }
    const found = [...users.values()];
    return walkPage(found, limit, ({ userId }) => userId);
  }
}

function addEntry(
  found: readonly Map<string, string[]>[],
  [place, permission, principal]: Row,
  wanted: readonly string[] | undefined,
): void {
  if (wanted !== undefined && !wanted.includes(permission!)) return;
  const entries = found[Number(place) - 1]!;
  const principals = entries.get(permission!);
  if (principals === undefined) entries.set(permission!, [principal!]);
  else principals.push(principal!);
}

/** Folders, names and permissions of the entries. */
function boundColumns(bound: readonly BoundPermission[]): readonly (readonly string[])[] {
  const split = bound.map(({ objectId }) => splitObjectId(objectId));
  return [split.map(({ folder }) => folder), split.map(({ name }) => name), bound.map(({ permission }) => permission)];
}
