// Questions to the registries: which parents, kinds and principals there may be. They name too many at times, never too few.
import { compareLists } from '../../core/objects/list-order.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { compareText } from '../../core/query/compare.ts';
import type { RedisClient } from './client.ts';
import { escapeTag, unescapeTag, type Keys } from './keys.ts';

/** Kinds that any list of the shards has. */
export async function registeredKinds(client: RedisClient, shards: readonly string[]): Promise<ReadonlySet<string>> {
  const found = await Promise.all(shards.map((shard) => client.read('storage', 'SMEMBERS', `${shard}kinds`)));
  return new Set((found as string[][]).flat());
}

/** The members of one sorted set of texts, over all shards that may know the prefix. */
export async function membersWithPrefix(
  client: RedisClient,
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

/** The parents, escaped, that one sorted set knows: the URI itself and those below it. */
export async function placesBelow(
  client: RedisClient,
  keys: Keys,
  name: string,
  uri: string,
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
 * The first lists after one that were ever written, by parent and then by kind. Each registry has its part of them, so
 * a few are taken from each, and again from where the first of them ends.
 */
export async function listsAfter(
  client: RedisClient,
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
        return (places as string[]).map((place) => ({ kind, parent: unescapeTag(place) }));
      }),
    );
    const [end] = parts.flatMap((part) => (part.length < chunk ? [] : part.slice(-1))).toSorted(compareLists);
    const known = parts.flat().filter((list) => end === undefined || compareLists(list, end) <= 0);
    for (const list of known.toSorted(compareLists)) found.push(list);
    if (end === undefined || found.length >= limit) return found.slice(0, limit);
    from = end;
  }
}

/** Where the lists of a kind go on after a list, as `ZRANGEBYLEX` wants it. */
function lowestAfter(after: ListKey | undefined, kind: string): string {
  if (after === undefined) return '-';
  return `${compareText(kind, after.kind) > 0 ? '[' : '('}${escapeTag(after.parent)}`;
}
