// Checks of permissions by entries and memberships that are remembered. Whether somebody has access is decided here from
// the few principals that most entries have, and the few groups that most users are in; by SQLite where they are many.
import type { BoundPermission, ObjectPermissions } from '../../contracts/permission.ts';
import type { CommittedAccess } from './access.ts';
import type { Connection } from './connection.ts';
import { tooMany, type Memory } from './memory.ts';
import {
  findGrant,
  groupEntries,
  readEntries,
  readEntryRows,
  readPrincipals,
  SqlitePermissionReader,
  type PermissionQuestion,
} from './permission-reader.ts';

/** More principals in the entries of one object, or more groups of one user, are not kept. */
const mostPrincipals = 200;
/** Everybody who has logged in has its principals as well. */
const anybody = 'system.Authenticated';

export class CommittedPermissionReader extends SqlitePermissionReader {
  protected override readonly access: CommittedAccess;

  constructor(access: CommittedAccess) {
    super(access);
    this.access = access;
  }

  override checkPermission(
    principals: readonly string[],
    bound: readonly BoundPermission[],
    memberOf?: string,
  ): Promise<boolean> {
    if (bound.length === 0) return Promise.resolve(false);
    return this.access.run((connection, memory) => {
      const question = { principals, bound, memberOf };
      return isGranted(connection, memory, question) ?? findGrant(connection, question);
    });
  }

  override getObjectPermissions(objectId: string, permissions?: readonly string[]): Promise<ObjectPermissions> {
    return this.access.run((connection, memory) => {
      const entries = permissions === undefined ? recallEntries(connection, memory, objectId) : tooMany;
      return entries === tooMany ? readEntries(connection, objectId, permissions) : entries;
    });
  }

  override getUserPrincipals(userId: string): Promise<ReadonlySet<string>> {
    return this.access.run((connection, memory) => {
      const own = recallPrincipals(connection, memory, userId);
      const all = recallPrincipals(connection, memory, anybody);
      const isKept = own !== tooMany && all !== tooMany;
      return new Set(isKept ? [...own, ...all] : readPrincipals(connection, userId));
    });
  }
}

/** The answer to the question; `undefined` where there is too much to look at. */
function isGranted(
  connection: Connection,
  memory: Memory,
  { principals, bound, memberOf }: PermissionQuestion,
): boolean | undefined {
  let isCertain = true;
  const inEntries: (readonly string[])[] = [];
  for (const { objectId, permission } of bound) {
    const entries = recallEntries(connection, memory, objectId);
    if (entries === tooMany) {
      isCertain = false;
      continue;
    }
    const entry = Object.hasOwn(entries, permission) ? entries[permission] : undefined;
    if (entry === undefined) continue;
    if (entry.some((principal) => principals.includes(principal))) return true;
    inEntries.push(entry);
  }
  if (memberOf !== undefined && inEntries.length > 0) {
    for (const userId of [memberOf, anybody]) {
      const given = recallPrincipals(connection, memory, userId);
      if (given === tooMany) isCertain = false;
      else if (inEntries.some((entry) => entry.some((principal) => given.includes(principal)))) return true;
    }
  }
  return isCertain ? false : undefined;
}

function recallEntries(connection: Connection, memory: Memory, objectId: string): ObjectPermissions | typeof tooMany {
  return memory.entries(objectId, () => {
    const rows = readEntryRows(connection, objectId, mostPrincipals + 1);
    return rows.length > mostPrincipals ? tooMany : groupEntries(rows, undefined);
  });
}

function recallPrincipals(connection: Connection, memory: Memory, userId: string): readonly string[] | typeof tooMany {
  return memory.principals(userId, () => {
    const rows = connection.all<[string]>(
      'SELECT principal FROM user_principals WHERE user_id = ? LIMIT ?',
      userId,
      mostPrincipals + 1,
    );
    return rows.length > mostPrincipals ? tooMany : rows.map(([principal]) => principal);
  });
}
