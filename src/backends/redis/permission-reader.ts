// Reads of the permission contract. The entries of an object are one text, so a check reads one field per object. Sorted
// sets of grants lead from principals to objects.
import { inChunks } from '../../base/in-chunks.ts';
import type {
  AccessibleOptions,
  BoundPermission,
  Memberships,
  ObjectEntries,
  ObjectPermissions,
  PermissionReader,
  RequireRoomForObjects,
  WalkPage,
} from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import { listNameOf, parsePattern, type ObjectPattern } from '../../core/permissions/object-pattern.ts';
import { AUTHENTICATED, type Principal, type UserId } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import { grantsOf, parentOf, rangeOfGrants, unescapeTag, type Keys } from './keys.ts';
import { membershipsOf } from './memberships.ts';
import type { Entries, PermissionLog } from './permission-log.ts';
import { fieldChunk, PermissionReads } from './permission-reads.ts';
import { PermissionWalk } from './permission-walk.ts';

/** Maximum number of requests that one search sends at once. */
const requestChunk = 200;

/** Number of principals of a user above which a check reads only those that the entries name. */
const manyPrincipals = 1000;

interface Seen {
  readonly entries: ReadonlyMap<ObjectUri, Entries>;
  readonly principals: ReadonlySet<Principal>;
}

interface Wanted {
  readonly pattern: ObjectPattern;
  readonly permission: string;
}

export class RedisPermissionReader implements PermissionReader {
  readonly #client: RedisClient;
  readonly #keys: Keys;
  readonly #reads: PermissionReads;

  constructor(client: RedisClient, keys: Keys) {
    this.#client = client;
    this.#keys = keys;
    this.#reads = new PermissionReads(client, keys);
  }

  /** Returns the changes that reads must see; committed state has none. */
  protected log(): PermissionLog | undefined {
    return undefined;
  }

  /** Resolves when the calls before a read have taken effect. */
  protected async settled(): Promise<void> {
    // Committed state waits for nothing.
  }

  async getUserPrincipals(userId: UserId): Promise<ReadonlySet<Principal>> {
    return (await this.#look([], userId)).principals;
  }

  async getAuthorizedPrincipals(bound: readonly BoundPermission[]): Promise<ReadonlySet<Principal>> {
    const entries = await this.#load(bound.map(({ objectId }) => objectId));
    const principals = new Set<Principal>();
    for (const { objectId, permission } of bound) {
      for (const principal of entries.get(objectId)?.get(permission) ?? []) principals.add(principal);
    }
    return principals;
  }

  async checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean> {
    if (bound.length === 0) return false;
    const ids = bound.map(({ objectId }) => objectId);
    // Changes of the unit may name principals that the stored entries do not.
    const isStored = this.log()?.isEmpty !== false;
    const { entries, principals: groups } = await this.#look(ids, memberOf, isStored ? manyPrincipals : 0);
    return bound.some(({ objectId, permission }) => {
      const allowed = entries.get(objectId)?.get(permission);
      if (allowed === undefined) return false;
      return principals.some((principal) => allowed.has(principal)) || [...groups].some((group) => allowed.has(group));
    });
  }

  async getAccessibleObjects(
    own: readonly Principal[],
    { bound, withChildren = true, lists, memberOf, limit = Infinity, requireRoom }: AccessibleOptions = {},
  ): Promise<ReadonlyMap<ObjectUri, ReadonlySet<string>>> {
    const principals = new Set(await this.#withPrincipalsOf(memberOf, own));
    const wanted = bound?.map(({ pattern, permission }) => ({
      pattern: parsePattern(pattern, withChildren),
      permission,
    }));
    const found = new Map<ObjectUri, Set<string>>();
    const inLists = lists && new Set(lists);
    const ids = await this.#candidates(principals, { wanted, inLists }, requireRoom);
    for (const id of this.log()?.granted() ?? []) if (inLists?.has(listNameOf(id)) !== false) ids.add(id);
    const all = [...ids];
    for (let start = 0; start < all.length && found.size < limit; start += fieldChunk) {
      for (const [objectId, entries] of await this.#load(all.slice(start, start + fieldChunk))) {
        const names = new Set<string>();
        for (const [permission, allowed] of entries) {
          if (!haveCommon(principals, allowed)) continue;
          if (wanted?.some((each) => each.permission === permission && each.pattern.matches(objectId)) === false)
            continue;
          names.add(permission);
        }
        if (names.size > 0) found.set(objectId, names);
      }
    }
    return found;
  }

  async getObjectPermissions(objectId: ObjectUri): Promise<ObjectPermissions> {
    return (await this.getObjectsPermissions([objectId]))[0]!;
  }

  async getObjectsPermissions(
    objectIds: readonly ObjectUri[],
    permissions?: readonly string[],
  ): Promise<readonly ObjectPermissions[]> {
    const entries = await this.#load(objectIds);
    return objectIds.map((objectId) => {
      const all = [...(entries.get(objectId) ?? [])];
      return formatEntries(permissions === undefined ? all : all.filter(([name]) => permissions.includes(name)));
    });
  }

  async entries(from: string | undefined, limit: number): Promise<WalkPage<ObjectEntries>> {
    const { found, next } = await new PermissionWalk(this.#client, this.#keys).entries(from, limit);
    const log = this.log();
    const all = log === undefined ? found : found.map(([id, stored]) => [id, log.entriesAfter(id, stored)] as const);
    const added = log === undefined || next !== undefined ? [] : await this.#addedObjects(log);
    const existing = [...all, ...added].filter(([, entries]) => entries.size > 0);
    return { found: existing.map(([objectId, entries]) => ({ objectId, permissions: formatEntries(entries) })), next };
  }

  async memberships(from: string | undefined, limit: number): Promise<WalkPage<Memberships>> {
    const { found, next } = await new PermissionWalk(this.#client, this.#keys).memberships(from, limit);
    const log = this.log();
    const all = found.map(([userId, stored]) => {
      return { userId, principals: [...(log?.principalsAfter(userId, stored) ?? stored)] };
    });
    const added = log === undefined || next !== undefined ? [] : await this.#addedUsers(log);
    return { found: [...all, ...added].filter(({ principals }) => principals.length > 0), next };
  }

  /** Returns the objects of the log that have no stored entries. */
  async #addedObjects(log: PermissionLog): Promise<readonly (readonly [ObjectUri, Entries])[]> {
    const stored = await this.#loadStored([...log.granted()]);
    return stored.flatMap(([id, entries]) => (entries.size > 0 ? [] : [[id, log.entriesAfter(id, entries)] as const]));
  }

  /** Returns the users of the log that have no stored principals. */
  async #addedUsers(log: PermissionLog): Promise<readonly Memberships[]> {
    const users = Array.from(log.admitted(), async (userId) => {
      const stored = await membershipsOf(this.#client, this.#keys, userId);
      return stored.length > 0 ? [] : [{ userId, principals: [...log.principalsAfter(userId, stored)] }];
    });
    return (await Promise.all(users)).flat();
  }

  async #withPrincipalsOf(userId: UserId | undefined, principals: readonly Principal[]): Promise<readonly Principal[]> {
    return userId === undefined ? principals : [...principals, ...(await this.getUserPrincipals(userId))];
  }

  /** Counts the objects of a parent with the principal in their entries. */
  async #countGrantedIn(parent: string, principal: Principal): Promise<number> {
    const range = rangeOfGrants(grantsOf(principal));
    return Number(await this.#client.read('permission', 'ZLEXCOUNT', this.#keys.granted(parent), ...range));
  }

  /**
   * Adds the ids of a parent's objects with the principal in their entries.
   *
   * @param expect called with their number when they are many
   */
  async #addGrantedIn(
    parent: string,
    principal: Principal,
    add: (objectId: ObjectUri) => void,
    expect: RequireRoomForObjects | undefined,
  ): Promise<void> {
    const grants = grantsOf(principal);
    const key = this.#keys.granted(parent);
    const [first, high] = rangeOfGrants(grants);
    let low = first;
    for (;;) {
      const range = [key, low, high, 'LIMIT', 0, fieldChunk] as const;
      const members = (await this.#client.read('permission', 'ZRANGEBYLEX', ...range)) as readonly string[];
      for (const member of members) add(storedUri(member.slice(grants.length)));
      if (members.length < fieldChunk) return;
      if (low === first && expect !== undefined) expect(await this.#countGrantedIn(parent, principal));
      low = `(${members.at(-1)}`;
    }
  }

  /** Returns the objects that may grant something to the principals, as stored. */
  async #candidates(
    principals: ReadonlySet<Principal>,
    {
      wanted,
      inLists,
    }: { readonly wanted: readonly Wanted[] | undefined; readonly inLists: ReadonlySet<string> | undefined },
    requireRoom: RequireRoomForObjects | undefined,
  ): Promise<Set<ObjectUri>> {
    const ids = new Set<ObjectUri>();
    if (wanted?.length === 0) return ids;
    const add = (id: ObjectUri): void => {
      if (inLists !== undefined) {
        if (!inLists.has(listNameOf(id))) return;
        ids.add(id);
        if (ids.size % fieldChunk === 0) requireRoom?.(ids.size + fieldChunk);
      } else if (wanted === undefined || wanted.some(({ pattern }) => pattern.matches(id))) ids.add(id);
    };
    let expected = 0;
    const expect =
      requireRoom &&
      ((more: number): void => {
        expected += more;
        if (expected > fieldChunk) requireRoom(expected);
      });
    for (const some of inChunks([...principals], requestChunk)) {
      const pairs = some.map(async (principal) => {
        const parents = await this.#parentsOf(principal, wanted);
        return parents.map((parent) => [parent, principal] as const);
      });
      for (const few of inChunks((await Promise.all(pairs)).flat(), requestChunk)) {
        // Many parents with few objects each are many objects.
        if (wanted === undefined && inLists === undefined && expect !== undefined) {
          const counts = await Promise.all(few.map(([parent, principal]) => this.#countGrantedIn(parent, principal)));
          expect(counts.reduce((sum, count) => sum + count, 0));
        }
        const expectMore = wanted === undefined ? undefined : expect;
        await Promise.all(few.map(([parent, principal]) => this.#addGrantedIn(parent, principal, add, expectMore)));
      }
    }
    return ids;
  }

  /** Returns the parents to search: one when the patterns name it, otherwise all where the principal may be in an entry. */
  async #parentsOf(principal: Principal, wanted: readonly Wanted[] | undefined): Promise<readonly string[]> {
    if (wanted?.every(({ pattern }) => pattern.flat) === true) {
      return [...new Set(wanted.map(({ pattern }) => parentOf(`${pattern.folder}*`)))];
    }
    return ((await this.#client.read('permission', 'SMEMBERS', this.#keys.places(principal))) as string[]).map(
      unescapeTag,
    );
  }

  /** Returns the entries of objects with the changes applied; objects without entries are left out. */
  async #load(objectIds: readonly ObjectUri[]): Promise<ReadonlyMap<ObjectUri, Entries>> {
    return (await this.#look(objectIds, undefined)).entries;
  }

  /**
   * Returns entries as `#load` does, and the principals that a user has by memberships at the same moment.
   *
   * @param many number of principals above which those that no entry names may be left out; 0: never
   */
  async #look(objectIds: readonly ObjectUri[], userId: UserId | undefined, many = 0): Promise<Seen> {
    await this.settled();
    const log = this.log();
    const users = userId === undefined ? [] : [...new Set([userId, AUTHENTICATED])];
    const { members, found } = await this.#reads.read(objectIds, users, many);
    const entries = new Map<ObjectUri, Entries>();
    for (const [objectId, stored] of found) {
      const after = log === undefined ? stored : log.entriesAfter(objectId, stored);
      if (after.size > 0) entries.set(objectId, after);
    }
    const principals = new Set<Principal>();
    for (const [index, user] of users.entries()) {
      const stored = members[index]!;
      for (const principal of log?.principalsAfter(user, stored) ?? stored) principals.add(principal);
    }
    return { entries, principals };
  }

  /** Returns the stored entries of objects. */
  async #loadStored(objectIds: readonly ObjectUri[]): Promise<readonly (readonly [ObjectUri, Entries])[]> {
    await this.settled();
    return (await this.#reads.read(objectIds, [])).found;
  }
}

function formatEntries(entries: Iterable<readonly [string, ReadonlySet<Principal>]>): ObjectPermissions {
  return Object.fromEntries(Array.from(entries, ([permission, principals]) => [permission, [...principals]]));
}

function haveCommon<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  for (const item of few) if (many.has(item)) return true;
  return false;
}
