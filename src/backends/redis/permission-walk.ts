// Walks over all entries and all memberships. The registries name their keys in a stable order. Within a hash or set that
// is too large for a page, the walk uses the server's cursor.
import { inChunks } from '../../base/in-chunks.ts';
import type { WalkPage } from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import { toPrincipal, toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import { compareText } from '../../core/query/compare.ts';
import type { RedisClient } from './client.ts';
import { unescapeTag, type Keys } from './keys.ts';
import { membershipsOf } from './memberships.ts';
import { parseEntries, type Entries } from './permission-log.ts';

/** Number of names that are read from a registry at once. */
const namesPerStep = 100;
/** Number of users whose principals are read at once. */
const usersPerStep = 20;

/** Position of a walk: the registry, its last name and, within the key of that name, the cursor. */
type Place = readonly [shard: number, name?: string, cursor?: string];

/** The keys that the names of one kind of registry stand for. */
interface Registered<T> {
  readonly registry: 'e' | 'h';
  /** Returns the key of a name. */
  readonly key: (name: string) => string;
  readonly commands: readonly [size: 'HLEN' | 'SCARD', all: 'HGETALL' | 'SMEMBERS', scan: 'HSCAN' | 'SSCAN'];
  readonly parse: (name: string, reply: readonly string[]) => readonly T[];
}

export class PermissionWalk {
  readonly #client: RedisClient;
  readonly #keys: Keys;

  constructor(client: RedisClient, keys: Keys) {
    this.#client = client;
    this.#keys = keys;
  }

  /** Returns a page of objects with entries. */
  entries(
    from: string | undefined,
    limit: number,
  ): Promise<WalkPage<readonly [objectId: ObjectUri, entries: Entries]>> {
    return this.#page<readonly [ObjectUri, Entries]>(from, limit, {
      registry: 'e',
      key: (place) => this.#keys.entries(unescapeTag(place)),
      commands: ['HLEN', 'HGETALL', 'HSCAN'],
      parse: (_, fields) => {
        return fields.flatMap((id, at) =>
          at % 2 === 0 ? [[storedUri(id), parseEntries(fields[at + 1])] as const] : [],
        );
      },
    });
  }

  /** Returns a page of users with principals. */
  async memberships(
    from: string | undefined,
    limit: number,
  ): Promise<WalkPage<readonly [userId: Principal, principals: readonly Principal[]]>> {
    const { found, next } = await this.#page(from, limit, {
      registry: 'h',
      key: (principal) => this.#keys.members(toPrincipal(principal)),
      commands: ['SCARD', 'SMEMBERS', 'SSCAN'],
      parse: (principal, users) => toPrincipals(users).map((userId) => ({ userId, principal })),
    });
    const inPage = new Map<Principal, Principal[]>();
    for (const { userId, principal } of found) {
      const known = inPage.get(userId);
      if (known === undefined) inPage.set(userId, [toPrincipal(principal)]);
      else known.push(toPrincipal(principal));
    }
    const users: (readonly [Principal, readonly Principal[]])[] = [];
    for (const some of inChunks([...inPage], usersPerStep)) {
      const read = some.map(([userId]) => membershipsOf(this.#client, this.#keys, userId));
      for (const [index, principals] of (await Promise.all(read)).entries()) {
        const [userId, here] = some[index]!;
        // A user occurs once for each principal, and counts at the first one.
        const [first] = principals.toSorted(compareText);
        if (first !== undefined && here.includes(first)) users.push([userId, principals]);
      }
    }
    return { found: users, next };
  }

  async #page<T>(from: string | undefined, limit: number, registered: Registered<T>): Promise<WalkPage<T>> {
    const [start, name, cursor] = from === undefined ? ([0] as Place) : (JSON.parse(from) as Place);
    if (name !== undefined && cursor !== undefined) return this.#scan(start, name, cursor, limit, registered);
    let [shard, after] = [start, name];
    const { registry, key, commands, parse } = registered;
    const found: T[] = [];
    while (shard < this.#keys.shards.length && found.length < limit) {
      const low = after === undefined ? '-' : `(${after}`;
      const range = [`${this.#keys.shards[shard]}${registry}`, low, '+', 'LIMIT', 0, namesPerStep] as const;
      const names = (await this.#client.read('permission', 'ZRANGEBYLEX', ...range)) as string[];
      const sizes = await Promise.all(names.map((each) => this.#client.read('permission', commands[0], key(each))));
      const fitting = countFitting(sizes.map(Number), limit - found.length);
      const first = names[0];
      if (fitting === 0 && first !== undefined) {
        if (found.length === 0) return this.#scan(shard, first, '0', limit, registered);
        break;
      }
      const taken = names.slice(0, fitting);
      const replies = await Promise.all(taken.map((each) => this.#client.read('permission', commands[1], key(each))));
      for (const [at, each] of taken.entries()) found.push(...parse(each, replies[at] as readonly string[]));
      if (fitting < names.length || names.length === namesPerStep) after = taken.at(-1);
      else [shard, after] = [shard + 1, undefined];
    }
    return { found, next: shard < this.#keys.shards.length ? formatPlace([shard, after]) : undefined };
  }

  /** Returns a part of the key of one name. */
  async #scan<T>(
    shard: number,
    name: string,
    cursor: string,
    limit: number,
    { key, commands, parse }: Registered<T>,
  ): Promise<WalkPage<T>> {
    const args = [key(name), cursor, 'COUNT', limit] as const;
    const [next, reply] = (await this.#client.read('permission', commands[2], ...args)) as [string, string[]];
    return { found: parse(name, reply), next: formatPlace(next === '0' ? [shard, name] : [shard, name, next]) };
  }
}

/** Returns how many of the first sizes fit into the space together. */
function countFitting(sizes: readonly number[], space: number): number {
  let sum = 0;
  const over = sizes.findIndex((size) => (sum += size) > space);
  return over === -1 ? sizes.length : over;
}

function formatPlace(place: readonly [number, (string | undefined)?, string?]): string {
  return JSON.stringify(place.filter((part) => part !== undefined));
}
