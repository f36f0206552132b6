// Reads the clocks of many lists together, with the number of flushes.
import type { ListClocks } from '../../contracts/storage.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import { script } from './script.ts';

/** Maximum number of lists that one script, or one burst of commands to a cluster, reads. */
const maxLists = 1000;

/** The first key is the hash of the database, the others are those of the lists. */
const clocksScript = script(`
local clocks = {}
for n = 2, #KEYS do clocks[n - 1] = redis.call('HGET', KEYS[n], 'c') end
return { redis.call('HGET', KEYS[1], 'flushes'), clocks }
`);

/** Returns the clocks of the lists in their order. */
export async function readListClocks(client: RedisClient, keys: Keys, lists: readonly ListKey[]): Promise<ListClocks> {
  const metas = lists.map((list) => keys.meta(list));
  const chunks: string[][] = [];
  for (let first = 0; first === 0 || first < metas.length; first += maxLists) {
    chunks.push(metas.slice(first, first + maxLists));
  }
  return client.isCluster ? readByNode(client, keys, chunks) : readByScript(client, keys, chunks);
}

/** On a server. Each script is one step, so the highest number has seen every flush that any of them has seen. */
async function readByScript(
  client: RedisClient,
  keys: Keys,
  chunks: readonly (readonly string[])[],
): Promise<ListClocks> {
  const replies = await Promise.all(
    chunks.map((chunk) => client.queryAnywhere('storage', clocksScript, [keys.schema(), ...chunk], [])),
  );
  const read = replies as readonly (readonly [flushes: string | null, clocks: readonly (string | null)[]])[];
  return { clocks: read.flatMap(([, clocks]) => clocks.map(numberOf)), flushes: highest(read.map(([count]) => count)) };
}

/** On a cluster, where no script reaches several parents. The number is read last: it may be newer than the clocks. */
async function readByNode(
  client: RedisClient,
  keys: Keys,
  chunks: readonly (readonly string[])[],
): Promise<ListClocks> {
  const replies = await Promise.all(
    chunks.map((chunk) =>
      client.readTogether(
        'storage',
        chunk.map((meta) => ['HGET', meta, 'c']),
      ),
    ),
  );
  const flushes = (await client.read('storage', 'HGET', keys.schema(), 'flushes')) as string | null;
  return { clocks: (replies.flat() as (string | null)[]).map(numberOf), flushes: numberOf(flushes) ?? 0 };
}

function numberOf(text: string | null): number | undefined {
  return text === null ? undefined : Number(text);
}

function highest(counts: readonly (string | null)[]): number {
  return Math.max(...counts.map((count) => numberOf(count) ?? 0));
}
