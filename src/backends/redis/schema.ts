// The version of the layout of keys, and what has to be true of a server that is to keep data.
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';

const layout = 1;

/**
 * Marks an empty database as one of this layout.
 *
 * @returns one line for each step done, or to be done with `dryRun`
 * @throws Error when a newer version has written the database, or the server may evict data
 */
export async function pendingSteps(client: RedisClient, keys: Keys, dryRun: boolean): Promise<readonly string[]> {
  const found = await client.read('storage', 'HGET', keys.schema(), 'layout');
  if (Number(found ?? 0) > layout) {
    throw new Error(
      `the Redis database has layout ${String(found)}, this version knows ${layout}: use a newer version`,
    );
  }
  await requireKeeping(client);
  if (found !== null) return [];
  if (!dryRun) await client.call('storage', 'HSET', keys.schema(), 'layout', layout);
  return [`Redis layout, version ${layout}: note it in the database`];
}

/** Data has no time to live, so only policies that evict any key can lose it. */
async function requireKeeping(client: RedisClient): Promise<void> {
  const memory = String(await client.read('storage', 'INFO', 'memory'));
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'noeviction';
  const limit = /^maxmemory:(\d+)/m.exec(memory)?.[1] ?? '0';
  if (policy.startsWith('allkeys-') && limit !== '0') {
    throw new Error(
      `the Redis server evicts data when its memory is full: set maxmemory-policy to noeviction, not ${policy}`,
    );
  }
}
