// Reads of the permission contract, for committed state and for units of work.
import type {
  AccessibleOptions,
  BoundPermission,
  Memberships,
  ObjectEntries,
  ObjectPermissions,
  PermissionReader,
  WalkPage,
} from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import { toPrincipal, type Principal, type UserId } from '../../core/permissions/principals.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { groupEntries, walkPage, type AccessibleObjects } from '../sql/permission-rows.ts';
import { findAccessible, findAllAccessible } from './accessible-objects.ts';
import type { Access } from './access.ts';
import { textArray } from './array-text.ts';
import { prepared, quick, type Row, type Statement } from './connection.ts';
import { batchableQuery } from './batchable-query.ts';
import type { ObjectCheck } from './known-checks.ts';
import { keyOfText } from './text-key.ts';

const readMemberships = batchableQuery(
  'read-memberships',
  `SELECT m.principal FROM coffer_memberships m WHERE m.user_key IN ($1::text, 'system.Authenticated')`,
);
// One lookup for the folder of the object, and one for its entries. In a join the server may read all entries of a folder
// to find those of one name.
const entriesOfObject = `coffer_entries e WHERE e.parent = $1::text
  AND e.folder = (SELECT f.folder FROM coffer_folders f WHERE f.parent = $1::text) AND e.name = $2::text`;
const readPrincipals = quick(
  'read-principals',
  `SELECT DISTINCT e.principal FROM unnest($1::text[], $2::text[], $3::text[]) AS b (parent, name, permission)
  CROSS JOIN LATERAL (
    SELECT coalesce(e.principal, e.principal_key) AS principal FROM coffer_entries e
    WHERE e.parent = b.parent AND e.folder = (SELECT f.folder FROM coffer_folders f WHERE f.parent = b.parent)
    AND e.name = b.name AND e.permission = b.permission OFFSET 0
  ) e`,
);
/** Returns a condition: an entry of the object, for one of the permissions, meets `condition`. */
const isAnyEntry = (condition: string): string => `EXISTS (
    SELECT FROM ${entriesOfObject} AND e.permission = ANY ($3::text[]) AND ${condition} OFFSET 0
  )`;
const isNamed = isAnyEntry('e.principal_key = ANY ($4::text[])');
// An entry has few principals, but a user may be in many groups, so the search starts from the entries.
const isGiven = isAnyEntry(`EXISTS (
    SELECT FROM coffer_memberships m
    WHERE m.user_key IN ($5::text, 'system.Authenticated') AND m.principal = coalesce(e.principal, e.principal_key)
    OFFSET 0
  )`);
const checkEntries = batchableQuery('check-entries', `SELECT 1 WHERE ${isNamed}`);
const checkEntriesOfMember = batchableQuery('check-entries-of-member', `SELECT 1 WHERE ${isNamed} OR ${isGiven}`);
/** Maximum number of principals of an object that a batch reads; longer entries are read by a statement of their own. */
export const maxBatched = 200;
const principalsOfObject = `SELECT e.permission, coalesce(e.principal, e.principal_key) FROM ${entriesOfObject}`;
const fewPrincipals = `${principalsOfObject} LIMIT ${maxBatched + 1}`;
const readFewEntries = batchableQuery('read-few-entries', fewPrincipals);
/** For units of work, which may plan it in another way than reads of committed state. */
export const readExpectedEntries = batchableQuery('read-expected-entries', fewPrincipals);
export const readEntries = batchableQuery('read-entries', principalsOfObject);
// One row for each principal would cost the driver more than the rest of the work.
const readManyEntries = prepared(
  'read-many-entries',
  `SELECT e.permission, json_agg(coalesce(e.principal, e.principal_key))::text FROM ${entriesOfObject}
  GROUP BY e.permission`,
);
// Folders in order, then the names in each. With one condition on both, the server would read the folder from its start.
const objectsInFolder = prepared(
  'objects-in-folder',
  `SELECT e.parent, e.name FROM coffer_entries e
  WHERE e.parent = $2 AND e.folder = (SELECT folder FROM coffer_folders WHERE parent = $2) AND e.name > $3
  GROUP BY e.parent, e.name ORDER BY e.name LIMIT $1`,
);
// Skips empty folders, which could make a page empty before the end.
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

  async getUserPrincipals(userId: UserId): Promise<ReadonlySet<Principal>> {
    const rows = await this.access.ask(readMemberships, [keyOfText(userId)]);
    return new Set(rows.map(([principal]) => toPrincipal(principal!)));
  }

  async getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<Principal>> {
    if (bound.length === 0) return new Set();
    const { rows } = await this.access.run(readPrincipals, boundColumns(bound));
    return new Set(rows.map(([principal]) => toPrincipal(principal!)));
  }

  async checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean> {
    if (bound.length === 0) return false;
    return (await this.askChecks(principals, checksOf(bound), memberOf)).includes(true);
  }

  /** Returns the result of each check. */
  protected async askChecks(
    principals: readonly Principal[],
    checks: readonly ObjectCheck[],
    memberOf?: UserId,
  ): Promise<readonly boolean[]> {
    const keys = textArray(principals.map(keyOfText));
    const asked = memberOf === undefined ? [keys] : [keys, keyOfText(memberOf)];
    const valueLists = checks.map(({ objectId, permissions }) => {
      const { folder, name } = splitObjectId(objectId);
      return [folder, name, textArray(permissions), ...asked];
    });
    const answers = await this.access.askAll(memberOf === undefined ? checkEntries : checkEntriesOfMember, valueLists);
    return answers.map((rows) => rows.length > 0);
  }

  async getAccessibleObjects(
    principals: readonly Principal[],
    { bound, withChildren = true, lists, memberOf, limit, requireRoom }: AccessibleOptions = {},
  ): Promise<AccessibleObjects> {
    const all = memberOf === undefined ? principals : [...principals, ...(await this.getUserPrincipals(memberOf))];
    return bound === undefined
      ? findAllAccessible(this.access, all, { lists, requireRoom })
      : findAccessible(this.access, all, bound, { withChildren, limit, requireRoom });
  }

  async getObjectPermissions(objectId: ObjectUri): Promise<ObjectPermissions> {
    return (await this.getObjectsPermissions([objectId]))[0]!;
  }

  async getObjectsPermissions(
    objectIds: readonly ObjectUri[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]> {
    if (objectIds.length === 0) return [];
    const valueLists = objectIds.map((objectId) => {
      const { folder, name } = splitObjectId(objectId);
      return [folder, name];
    });
    const answers = await this.askEntries(valueLists);
    return answers.map((rows) => groupEntries(rows, permissions));
  }

  /** Returns the entries of objects, each named by its folder and its name there. */
  protected async askEntries(valueLists: readonly (readonly string[])[]): Promise<readonly (readonly Row[])[]> {
    const answers = await this.access.askAll(readFewEntries, valueLists);
    const readWhole = async (few: readonly Row[], index: number): Promise<readonly Row[]> => {
      if (few.length <= maxBatched) return few;
      const [folder, name] = valueLists[index] as [string, string];
      const scans = { of: 'entries', name: folder + name } as const;
      const { rows } = await this.access.run({ ...readManyEntries, scans }, [folder, name]);
      return rows.flatMap(([permission, principals]) =>
        (JSON.parse(principals!) as string[]).map((principal): Row => [permission!, principal]),
      );
    };
    return answers.some((rows) => rows.length > maxBatched) ? Promise.all(answers.map(readWhole)) : answers;
  }

  async entries(after: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>> {
    const rows = await this.#objectsAfter(after, limit);
    const ids = rows.map(([folder, name]) => storedUri(folder! + name!));
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
    const users = new Map<string, { userId: Principal; readonly principals: Principal[] }>();
    for (const [key, userId, principal] of rows) {
      const user = users.get(key!) ?? { userId: toPrincipal(key!), principals: [] };
      users.set(key!, user);
      user.principals.push(toPrincipal(principal!));
      // Old rows have no user id.
      if (userId !== null && userId !== undefined) user.userId = toPrincipal(userId);
    }
    const found = [...users.values()];
    return walkPage(found, limit, ({ userId }) => userId);
  }
}

/**
 * Returns one check for each run of entries of one object, so that requests about records of a collection share those for
 * collection and bucket.
 */
export function checksOf(bound: readonly BoundPermission[]): readonly ObjectCheck[] {
  const checks: ObjectCheck[] = [];
  for (let index = 0; index < bound.length;) {
    const { objectId } = bound[index]!;
    const permissions: string[] = [];
    for (; bound[index]?.objectId === objectId; index++) permissions.push(bound[index]!.permission);
    checks.push({ objectId, permissions });
  }
  return checks;
}

/** Returns folders, names and permissions of the entries. */
function boundColumns(bound: readonly BoundPermission[]): readonly (readonly string[])[] {
  const split = bound.map(({ objectId }) => splitObjectId(objectId));
  return [split.map(({ folder }) => folder), split.map(({ name }) => name), bound.map(({ permission }) => permission)];
}
