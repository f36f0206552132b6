// Reads of the registries: which parents, kinds and principals may exist. They may list too many, never too few.
import { compareLists } from '../../core/objects/list-order.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { storedParent, type ObjectUri } from '../../core/objects/uris.ts';
import { compareText } from '../../core/query/compare.ts';
import type { RedisClient } from './client.ts';
import { escapeTag, unescapeTag, type Keys } from './keys.ts';

type Client = Pick<RedisClient, 'read'>;

/** Returns the kinds of all lists of the shards. */
export async function registeredKinds(client: Client, shards: readonly string[]): Promise<ReadonlySet<string>> {
  const found = await Promise.all(shards.map((shard) => client.read('storage', 'SMEMBERS', `${shard}kinds`)));
  return new Set((found as string[][]).flat());
}

/** Returns the members of one sorted set of texts with the prefix, over all shards that may list it. */
export async function membersWithPrefix(
  client: Client,
  keys: Keys,
  name: string,
  prefix: string,
): Promise<readonly string[]> {
  const range = prefix === '' ? ['-', '+'] : [`[${prefix}`, '+'];
  const found = await Promise.all(
    keys.shardsOf(prefix).map((shard) => client.read('permission', 'ZRANGEBYLEX', `${shard}${name}`, ...range)),
  );
  return (found as string[][]).flat().filter((member) => member.startsWith(prefix));
}

/** Returns the parents, escaped, in one sorted set: the URI itself and those below it. */
export async function placesBelow(
  client: Client,
  keys: Keys,
  name: string,
  uri: ObjectUri,
): Promise<readonly string[]> {
  const place = escapeTag(uri);
  const found = await Promise.all(
    keys.shardsOf(`${uri}/`).map(async (shard) => {
      const key = `${shard}${name}`;
      const [below, exact] = await Promise.all([
        client.read('storage', 'ZRANGEBYLEX', key, `[${place}/`, `(${place}0`),
        client.read('storage', 'ZSCORE', key, place),
      ]);
      return exact === null ? (below as string[]) : [...(below as string[]), place];
    }),
  );
  return found.flat();
}

/**
 * Returns the first lists after the given one that were ever written, by parent and then by kind. Each registry has a part
 * of them. So the function reads a few from each, and continues where the first of these parts ends.
 */
export async function listsAfter(
  client: Client,
  keys: Keys,
  after: ListKey | undefined,
  limit: number,
): Promise<readonly ListKey[]> {
  const registries = await Promise.all(
    keys.shards.map(async (shard) => {
      const kinds = (await client.read('storage', 'SMEMBERS', `${shard}kinds`)) as string[];
      return kinds.map((kind) => ({ kind, key: `${shard}k:${kind}` }));
    }),
  );
  const chunk = Math.ceil(limit / 8) + 8;
  const found: ListKey[] = [];
  let from = after;
  for (;;) {
    const parts = await Promise.all(
      registries.flat().map(async ({ kind, key }) => {
        const low = lowestAfter(from, kind);
        const places = await client.read('storage', 'ZRANGEBYLEX', key, low, '+', 'LIMIT', 0, chunk);
        return (places as string[]).map((place) => ({ kind, parent: storedParent(unescapeTag(place)) }));
      }),
    );
    const [end] = parts.flatMap((part) => (part.length < chunk ? [] : part.slice(-1))).toSorted(compareLists);
    const known = parts.flat().filter((list) => end === undefined || compareLists(list, end) <= 0);
    for (const list of known.toSorted(compareLists)) found.push(list);
    if (end === undefined || found.length >= limit) return found.slice(0, limit);
    from = end;
  }
}

/** Returns where the lists of a kind continue after a list, for `ZRANGEBYLEX`. */
function lowestAfter(after: ListKey | undefined, kind: string): string {
  if (after === undefined) return '-';
  return `${compareText(kind, after.kind) > 0 ? '[' : '('}${escapeTag(after.parent)}`;
}
