// Questions to the registries: which parents, kinds and principals there may be. They name too many at times, never too few.
import type { RedisClient } from './client.ts';
import { escapeTag, type Keys } from './keys.ts';

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
