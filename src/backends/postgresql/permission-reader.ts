// The reading half of the permission contract. The same code serves committed state and units of work.
import type { BoundPattern, BoundPermission, ObjectPermissions, PermissionReader } from '../../contracts/permission.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { findAccessible, findAllAccessible, type AccessibleObjects } from './accessible-objects.ts';
import type { Access } from './access.ts';
import { quick, type Row } from './connection.ts';
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
const checkEntries = quick(
  'check-entries',
  `SELECT EXISTS (SELECT FROM ${bounds} CROSS JOIN LATERAL (
    SELECT 1 ${ofBound} AND e.permission = b.permission AND e.principal_key = ANY ($4::text[]) OFFSET 0
  ) e)`,
);
const readEntries = quick(
  'read-entries',
  `SELECT b.place, e.permission, e.principal
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS b (parent, name, place) CROSS JOIN LATERAL (
    SELECT e.permission, coalesce(e.principal, e.principal_key) AS principal ${ofBound} OFFSET 0
  ) e`,
);

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

  async checkPermission(principals: readonly string[], bound: readonly BoundPermission[]): Promise<boolean> {
    if (principals.length === 0 || bound.length === 0) return false;
    const { rows } = await this.access.run(checkEntries, [...boundColumns(bound), principals.map(keyOfText)]);
    return rows[0]?.[0] === 't';
  }

  async getAccessibleObjects(
    principals: readonly string[],
    { bound, withChildren = true }: { readonly bound?: readonly BoundPattern[]; readonly withChildren?: boolean } = {},
  ): Promise<AccessibleObjects> {
    return bound === undefined
      ? findAllAccessible(this.access, principals)
      : findAccessible(this.access, principals, bound, withChildren);
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
