// Reads of the principals of a user. On a cluster the set of a user lies in another slot than the groups: it lists every
// group of which the user has ever been a member, and the set of each group decides.
import { inChunks } from '../../base/in-chunks.ts';
import { toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';

/** Number of groups that are asked in one place of the pool of commands. */
const groupsPerRequest = 500;

/** Returns the principals of a user. */
export async function membershipsOf(client: RedisClient, keys: Keys, userId: Principal): Promise<readonly Principal[]> {
  return confirmMemberships(client, keys, userId, await listMemberships(client, keys, userId));
}

/** Returns the principals that a user may have; on a single server, those that the user has. */
export async function listMemberships(
  client: RedisClient,
  keys: Keys,
  userId: Principal,
): Promise<readonly Principal[]> {
  return toPrincipals((await client.read('permission', 'SMEMBERS', keys.memberships(userId))) as readonly string[]);
}

/** Returns those of the listed principals that the user has. */
export async function confirmMemberships(
  client: RedisClient,
  keys: Keys,
  userId: Principal,
  listed: readonly Principal[],
): Promise<readonly Principal[]> {
  if (!client.isCluster) return listed;
  const asking = inChunks(listed, groupsPerRequest).map(async (some) => {
    const commands = some.map((principal) => ['SISMEMBER', keys.members(principal), userId] as const);
    const replies = await client.readTogether('permission', commands);
    return some.filter((_, index) => replies[index] === 1);
  });
  return (await Promise.all(asking)).flat();
}
