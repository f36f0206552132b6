// Reads of stored permission entries and memberships for checks, together where the server can.
import type { ObjectUri } from '../../core/objects/uris.ts';
import { toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import { parentOf, type Keys } from './keys.ts';
import { confirmMemberships, listMemberships } from './memberships.ts';
import { parseEntries, type Entries } from './permission-log.ts';
import { script } from './script.ts';

/** Maximum number of fields, or of members of a sorted set, in one request. The server runs one request at a time. */
export const fieldChunk = 1000;

/**
 * Reads sets, and then fields of hashes. Arguments: the number of sets, the size above which only those members of a set are
 * read that the entries in the fields name (0: none), then the number of fields of each hash, and the fields.
 */
const lookScript = script(`
local sets, many = tonumber(ARGV[1]), tonumber(ARGV[2])
local found, at = {}, 3
for n = sets + 1, #KEYS do
  local count = tonumber(ARGV[at])
  found[n] = redis.call('HMGET', KEYS[n], unpack(ARGV, at + 1, at + count))
  at = at + count + 1
end
local function findNamed(key)
  local members, seen = {}, {}
  for n = sets + 1, #KEYS do
    for _, text in ipairs(found[n]) do
      for _, principals in pairs(text and cjson.decode(text) or {}) do
        for _, principal in ipairs(principals) do
          if not seen[principal] and redis.call('SISMEMBER', key, principal) == 1 then members[#members + 1] = principal end
          seen[principal] = true
        end
      end
    end
  end
  return members
end
for n = 1, sets do
  local isLarge = many > 0 and redis.call('SCARD', KEYS[n]) > many
  found[n] = isLarge and findNamed(KEYS[n]) or redis.call('SMEMBERS', KEYS[n])
end
return found
`);

/** Objects of one parent. */
interface Part {
  readonly key: string;
  readonly ids: readonly ObjectUri[];
}

/** Stored entries of objects, and principals of users. */
export interface StoredPermissions {
  /** Principals of each user, in the order asked. */
  readonly members: readonly (readonly Principal[])[];
  readonly found: readonly (readonly [objectId: ObjectUri, entries: Entries])[];
}

export class PermissionReads {
  readonly #client: RedisClient;
  readonly #keys: Keys;

  constructor(client: RedisClient, keys: Keys) {
    this.#client = client;
    this.#keys = keys;
  }

  /**
   * Reads the entries of objects and the memberships of users. On a single server all belong to one moment. Otherwise a check
   * could combine a permission that a group has lost with a membership that was added later.
   *
   * @param many number of principals of a user above which those that no entry names may be left out; 0: never
   */
  async read(objectIds: readonly ObjectUri[], users: readonly Principal[], many = 0): Promise<StoredPermissions> {
    const parts = this.#partsOf(objectIds);
    const sets = users.map((user) => this.#keys.memberships(user));
    if (this.#client.isCluster || parts.length + sets.length < 2) return this.#readApart(parts, users, many);
    const keys = [...sets, ...parts.map(({ key }) => key)];
    const args: (string | number)[] = [sets.length, many];
    for (const { ids } of parts) args.push(ids.length, ...ids);
    const reply = await this.#client.queryAnywhere('permission', lookScript, keys, args);
    const members = (reply as string[][]).slice(0, sets.length).map(toPrincipals);
    return { members, found: entriesIn(parts, (reply as (string | null)[][]).slice(sets.length)) };
  }

  /** Reads stored entries and memberships by a command for each part. */
  async #readApart(parts: readonly Part[], users: readonly Principal[], many: number): Promise<StoredPermissions> {
    const [replies, listed] = await Promise.all([
      Promise.all(parts.map(({ key, ids }) => this.#client.read('permission', 'HMGET', key, ...ids))),
      Promise.all(users.map((user) => listMemberships(this.#client, this.#keys, user))),
    ]);
    const found = entriesIn(parts, replies as (string | null)[][]);
    // Groups that no entry names cannot decide a check, so they need not be asked.
    const asksFew = many > 0 && this.#client.isCluster && users.length > 0;
    const named = asksFew
      ? new Set(found.flatMap(([, entries]) => [...entries.values()].flatMap((each) => [...each])))
      : undefined;
    const members = users.map((user, index) => {
      const wanted = listed[index]!.filter((principal) => named?.has(principal) !== false);
      return confirmMemberships(this.#client, this.#keys, user, wanted);
    });
    return { members: await Promise.all(members), found };
  }

  /** Returns the keys of the entries of objects, with a limited number of objects in each part. */
  #partsOf(objectIds: readonly ObjectUri[]): readonly Part[] {
    const parts: { readonly key: string; readonly ids: ObjectUri[] }[] = [];
    const last = new Map<string, ObjectUri[]>();
    for (const objectId of new Set(objectIds)) {
      const parent = parentOf(objectId);
      let ids = last.get(parent);
      if (ids === undefined || ids.length === fieldChunk) {
        ids = [];
        last.set(parent, ids);
        parts.push({ key: this.#keys.entries(parent), ids });
      }
      ids.push(objectId);
    }
    return parts;
  }
}

/** Parses the replies of the parts. */
function entriesIn(
  parts: readonly Part[],
  replies: readonly (readonly (string | null)[])[],
): StoredPermissions['found'] {
  return parts.flatMap(({ ids }, part) => ids.map((id, index) => [id, parseEntries(replies[part]![index])] as const));
}
