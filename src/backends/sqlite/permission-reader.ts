// Reads of the permission contract, for committed state and for units of work.
import { inChunks } from '../../base/in-chunks.ts';
import type {
  AccessibleOptions,
  BoundPermission,
  Memberships,
  ObjectEntries,
  ObjectPermissions,
  PermissionReader,
  WalkPage,
} from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { AUTHENTICATED, type Principal, type UserId } from '../../core/permissions/principals.ts';
import { findAccessible, findAllAccessible } from './accessible-objects.ts';
import type { Access } from './access.ts';
import type { Connection, SqlValue } from './connection.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { groupEntries, walkPage, type AccessibleObjects } from '../sql/permission-rows.ts';
import { readObjectsAfter } from './permission-walk.ts';
import type { Steps } from '../../base/steps.ts';

/** Maximum number of entries that one statement looks up; most checks have few, so few statements are cached. */
const boundPerStatement = 16;
/** Number of rows that are read without a pause; each object counts as one more. */
const rowsPerStep = 2000;

export class SqlitePermissionReader implements PermissionReader {
  protected readonly access: Access;

  constructor(access: Access) {
    this.access = access;
  }

  getUserPrincipals(userId: UserId): Promise<ReadonlySet<Principal>> {
    return this.access.read((connection) => readPrincipals(connection, userId));
  }

  getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<Principal>> {
    return this.access.run((connection) => {
      const principals = new Set<Principal>();
      for (const chunk of inChunks(bound, boundPerStatement)) {
        const { sql, parameters } = fromEntries(chunk);
        for (const [principal] of connection.all<[Principal]>(`SELECT e.principal ${sql}`, ...parameters)) {
          principals.add(principal);
        }
      }
      return principals;
    });
  }

  checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean> {
    if (bound.length === 0) return Promise.resolve(false);
    return this.access.run((connection) => findGrant(connection, { principals, bound, memberOf }));
  }

  getAccessibleObjects(
    principals: readonly Principal[],
    { bound, withChildren = true, lists, memberOf, limit, requireRoom }: AccessibleOptions = {},
  ): Promise<AccessibleObjects> {
    return this.access.read(function* (connection) {
      const given = memberOf === undefined ? [] : yield* readPrincipals(connection, memberOf);
      const all = [...principals, ...given];
      return bound === undefined
        ? yield* findAllAccessible(connection, all, { lists, requireRoom })
        : yield* findAccessible(connection, all, bound, { withChildren, limit, requireRoom });
    });
  }

  getObjectPermissions(objectId: ObjectUri): Promise<ObjectPermissions> {
    return this.access.read((connection) => readEntries(connection, objectId));
  }

  getObjectsPermissions(
    objectIds: readonly ObjectUri[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]> {
    return this.access.read((connection) => readManyEntries(connection, objectIds, permissions));
  }

  async entries(after: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>> {
    const found = await this.access.read((connection) => readObjectsAfter(connection, after, limit));
    return walkPage(found, limit, ({ objectId }) => objectId);
  }

  async memberships(after: string | undefined, limit: number): Promise<WalkPage<Memberships>> {
    const found = await this.access.run((connection) => {
      const users = 'SELECT DISTINCT user_id FROM user_principals WHERE user_id > ? ORDER BY user_id LIMIT ?';
      const allUsers = 'SELECT DISTINCT user_id FROM user_principals ORDER BY user_id LIMIT ?';
      const rows =
        after === undefined
          ? connection.all<[Principal]>(allUsers, limit)
          : connection.all<[Principal]>(users, after, limit);
      return rows.map(([userId]) => {
        const sql = 'SELECT principal FROM user_principals WHERE user_id = ?';
        return { userId, principals: connection.all<[Principal]>(sql, userId).map(([principal]) => principal) };
      });
    });
    return walkPage(found, limit, ({ userId }) => userId);
  }
}

/** The arguments of `checkPermission`. */
export interface PermissionCheck {
  readonly principals: readonly Principal[];
  readonly bound: readonly BoundPermission[];
  readonly memberOf: UserId | undefined;
}

/** Returns whether one of the entries grants access. */
export function findGrant(connection: Connection, { principals, bound, memberOf }: PermissionCheck): boolean {
  const among = JSON.stringify(principals);
  return (
    isAnyEntry(connection, bound, 'e.principal IN (SELECT value FROM json_each(?))', among) ||
    (memberOf !== undefined && isAnyEntry(connection, bound, isGiven, memberOf))
  );
}

/** Returns the principals that count for a user. */
function* readPrincipals(connection: Connection, userId: UserId): Steps<ReadonlySet<Principal>> {
  const found = new Set<Principal>();
  for (const user of [userId, AUTHENTICATED]) {
    for (let last = ''; ;) {
      const sql = `SELECT principal FROM user_principals WHERE user_id = ? AND principal > ? ORDER BY principal LIMIT ?`;
      const rows = connection.all<[Principal]>(sql, user, last, rowsPerStep);
      for (const [principal] of rows) found.add(principal);
      const end = rows[rowsPerStep - 1];
      if (end === undefined) break;
      [last] = end;
      yield;
    }
  }
  return found;
}

/** Whether the principal of an entry counts for a user. An entry has few principals, but a user may be in many groups. */
const isGiven = `EXISTS (
  SELECT 1 FROM user_principals u WHERE u.user_id IN (?, 'system.Authenticated') AND u.principal = e.principal
)`;

/** Returns whether a condition with one parameter holds for any row of the entries. */
function isAnyEntry(
  connection: Connection,
  bound: readonly BoundPermission[],
  condition: string,
  parameter: SqlValue,
): boolean {
  return inChunks(bound, boundPerStatement).some((chunk) => {
    const { sql, parameters } = fromEntries(chunk);
    return connection.get<[number]>(`SELECT 1 ${sql} AND ${condition} LIMIT 1`, ...parameters, parameter) !== undefined;
  });
}

/** Returns `FROM … WHERE …` for the rows of the entries, as `e`. */
function fromEntries(bound: readonly BoundPermission[]): { readonly sql: string; readonly parameters: SqlValue[] } {
  const parameters: SqlValue[] = [];
  for (const { objectId, permission } of bound) {
    const { folder, name } = splitObjectId(objectId);
    parameters.push(folder, name, permission);
  }
  const values = bound.map(() => '(?, ?, ?)').join(', ');
  const sql = `FROM (VALUES ${values}) b CROSS JOIN folders f CROSS JOIN entries e
    WHERE f.uri = b.column1 AND e.folder = f.folder AND e.name = b.column2 AND e.permission = b.column3`;
  return { sql, parameters };
}

function* readManyEntries(
  connection: Connection,
  objectIds: readonly ObjectUri[],
  permissions: readonly string[] | undefined,
): Steps<readonly ObjectPermissions[]> {
  const found: ObjectPermissions[] = [];
  let read = 0;
  for (const objectId of objectIds) {
    if (read >= rowsPerStep) {
      yield;
      read = 0;
    }
    const rows = readEntryRows(connection, objectId, rowsPerStep);
    read += rows.length + 1;
    const all = rows.length < rowsPerStep ? rows : yield* readRestOfEntries(connection, objectId, rows);
    found.push(groupEntries(all, permissions));
  }
  return found;
}

/** Returns the existing entries of one object. */
export function* readEntries(connection: Connection, objectId: ObjectUri): Steps<ObjectPermissions> {
  const rows = readEntryRows(connection, objectId, rowsPerStep);
  const all = rows.length < rowsPerStep ? rows : yield* readRestOfEntries(connection, objectId, rows);
  return groupEntries(all, undefined);
}

/** Returns the given rows and, in steps, all rows after them. */
function* readRestOfEntries(
  connection: Connection,
  objectId: ObjectUri,
  first: readonly EntryRow[],
): Steps<readonly EntryRow[]> {
  const all = [...first];
  const { folder: uri, name } = splitObjectId(objectId);
  const folder = connection.get<[number]>('SELECT folder FROM folders WHERE uri = ?', uri)?.[0];
  if (folder === undefined) return all;
  for (;;) {
    yield;
    const [permission, principal] = all.at(-1)!;
    const rows = connection.all<EntryRow>(
      `SELECT permission, principal FROM entries
      WHERE folder = ? AND name = ? AND (permission, principal) > (?, ?) ORDER BY permission, principal LIMIT ?`,
      folder,
      name,
      permission,
      principal,
      rowsPerStep,
    );
    all.push(...rows);
    if (rows.length < rowsPerStep) return all;
  }
}

export type EntryRow = readonly [permission: string, principal: Principal];

/** Returns permissions and principals of the entries of one object, in their order. */
export function readEntryRows(connection: Connection, objectId: ObjectUri, limit: number): readonly EntryRow[] {
  const { folder, name } = splitObjectId(objectId);
  return connection.all<EntryRow>(
    `SELECT e.permission, e.principal FROM folders f CROSS JOIN entries e
    WHERE f.uri = ? AND e.folder = f.folder AND e.name = ? ORDER BY e.permission, e.principal LIMIT ?`,
    folder,
    name,
    limit,
  );
}

/** Returns those of the principals that are in one entry. */
export function readInEntry(
  connection: Connection,
  { objectId, permission }: BoundPermission,
  principals: readonly Principal[],
): readonly Principal[] {
  const { folder, name } = splitObjectId(objectId);
  const sql = `SELECT e.principal FROM folders f CROSS JOIN json_each(?) j CROSS JOIN entries e
    WHERE f.uri = ? AND e.folder = f.folder AND e.name = ? AND e.permission = ? AND e.principal = j.value`;
  const rows = connection.all<[Principal]>(sql, JSON.stringify(principals), folder, name, permission);
  return rows.map(([principal]) => principal);
}
