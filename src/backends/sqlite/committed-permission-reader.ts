// Permission checks from cached entries and memberships. Most entries have few principals, and most users are in few
// groups, so a check compares cached lists. Of a long list, only the principals of the other side are looked up, and the
// results are cached. When both sides are long, SQLite decides.
import type { Steps } from '../../base/steps.ts';
import type { BoundPermission, ObjectPermissions } from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import { AUTHENTICATED, type Principal, type UserId } from '../../core/permissions/principals.ts';
import { groupEntries } from '../sql/permission-rows.ts';
import type { CommittedAccess } from './access.ts';
import type { Connection } from './connection.ts';
import { TooMany, type ReadCache } from './read-cache.ts';
import {
  findGrant,
  readEntries,
  readEntryRows,
  readInEntry,
  SqlitePermissionReader,
  type PermissionCheck,
} from './permission-reader.ts';

/** Every authenticated user has its principals too. */
const everyUser = AUTHENTICATED;

export class CommittedPermissionReader extends SqlitePermissionReader {
  protected override readonly access: CommittedAccess;

  constructor(access: CommittedAccess) {
    super(access);
    this.access = access;
  }

  override checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean> {
    if (bound.length === 0) return Promise.resolve(false);
    return this.access.run((connection, cache) => {
      const check = { principals, bound, memberOf };
      return isGranted(connection, cache, check) ?? findGrant(connection, check);
    });
  }

  override getObjectPermissions(objectId: ObjectUri): Promise<ObjectPermissions> {
    return this.access.read((connection, cache) => entrySteps(connection, cache, objectId));
  }

  override async getUserPrincipals(userId: UserId): Promise<ReadonlySet<Principal>> {
    const known = await this.access.run((connection, cache) => {
      const own = recallPrincipals(connection, cache, userId);
      const all = recallPrincipals(connection, cache, everyUser);
      const isKept = !(own instanceof TooMany) && !(all instanceof TooMany);
      return isKept ? new Set([...own, ...all]) : undefined;
    });
    return known ?? super.getUserPrincipals(userId);
  }
}

function* entrySteps(
  connection: Connection,
  cache: ReadCache | undefined,
  objectId: ObjectUri,
): Steps<ObjectPermissions> {
  if (cache !== undefined) {
    const entries = recallEntries(connection, cache, objectId);
    if (!(entries instanceof TooMany)) return entries;
  }
  return yield* readEntries(connection, objectId);
}

/** An entry of an object with too many principals to cache. */
interface LargeEntry {
  readonly whole: TooMany;
  readonly bound: BoundPermission;
}

/** Returns the result of the check; `undefined` when both sides are long. */
function isGranted(
  connection: Connection,
  cache: ReadCache,
  { principals, bound, memberOf }: PermissionCheck,
): boolean | undefined {
  const small: (readonly Principal[])[] = [];
  const large: LargeEntry[] = [];
  for (const one of bound) {
    const entries = recallEntries(connection, cache, one.objectId);
    if (entries instanceof TooMany) {
      const entry = { whole: entries, bound: one };
      if (isInEntry(connection, cache, entry, principals)) return true;
      large.push(entry);
      continue;
    }
    const entry = Object.hasOwn(entries, one.permission) ? entries[one.permission] : undefined;
    if (entry === undefined) continue;
    if (entry.some((principal) => principals.includes(principal))) return true;
    small.push(entry);
  }
  if (memberOf === undefined || (small.length === 0 && large.length === 0)) return false;
  let isCertain = true;
  for (const userId of [memberOf, everyUser]) {
    const given = recallPrincipals(connection, cache, userId);
    if (given instanceof TooMany) {
      if (small.some((entry) => isGiven(connection, cache, { whole: given, userId }, entry))) return true;
      if (large.length > 0) isCertain = false;
    } else if (given.length > 0) {
      if (small.some((entry) => entry.some((principal) => given.includes(principal)))) return true;
      if (large.some((entry) => isInEntry(connection, cache, entry, given))) return true;
    }
  }
  return isCertain ? false : undefined;
}

/** Returns whether any of the principals is in an entry with many. */
function isInEntry(
  connection: Connection,
  cache: ReadCache,
  { whole, bound }: LargeEntry,
  principals: readonly Principal[],
): boolean {
  return cache.hasAny(whole, bound.permission, principals, (unknown) => readInEntry(connection, bound, unknown));
}

/** Returns whether a user with many principals has any of these. */
function isGiven(
  connection: Connection,
  cache: ReadCache,
  { whole, userId }: { readonly whole: TooMany; readonly userId: Principal },
  principals: readonly Principal[],
): boolean {
  return cache.hasAny(whole, '', principals, (unknown) =>
    connection
      .all<[Principal]>(
        `SELECT u.principal FROM json_each(?) j CROSS JOIN user_principals u
        WHERE u.user_id = ? AND u.principal = j.value`,
        JSON.stringify(unknown),
        userId,
      )
      .map(([principal]) => principal),
  );
}

function recallEntries(connection: Connection, cache: ReadCache, objectId: ObjectUri): ObjectPermissions | TooMany {
  return cache.entries(objectId, () => {
    const rows = readEntryRows(connection, objectId, cache.maxPrincipals + 1);
    return rows.length > cache.maxPrincipals ? new TooMany() : groupEntries(rows, undefined);
  });
}

function recallPrincipals(connection: Connection, cache: ReadCache, userId: Principal): readonly Principal[] | TooMany {
  return cache.principals(userId, () => {
    const rows = connection.all<[Principal]>(
      'SELECT principal FROM user_principals WHERE user_id = ? LIMIT ?',
      userId,
      cache.maxPrincipals + 1,
    );
    return rows.length > cache.maxPrincipals ? new TooMany() : rows.map(([principal]) => principal);
  });
}
