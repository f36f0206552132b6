// What the membership changes of a unit come to on a cluster, where each user's principals lie in a slot of their own: for
// each user and principal the last word, found by asking the registries whom the sweeping changes concern.
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import { membersWithPrefix } from './registries.ts';
import type { MembershipChange } from './permission-log.ts';

export interface Membership {
  readonly userId: string;
  readonly principal: string;
  readonly isMember: boolean;
}

/** The state of each membership that the changes touch; what they add must have been announced already. */
export async function planMemberships(
  client: RedisClient,
  keys: Keys,
  changes: readonly MembershipChange[],
): Promise<readonly Membership[]> {
  const planned = new Map<string, Membership>();
  const plan = (userId: string, principal: string, isMember: boolean): void => {
    planned.set(`${userId}\0${principal}`, { userId, principal, isMember });
  };
  const expelAll = async (principal: string): Promise<void> => {
    const users = (await client.read('permission', 'SMEMBERS', keys.members(principal))) as string[];
    for (const userId of users) plan(userId, principal, false);
  };
  for (const change of changes) {
    switch (change.kind) {
      case 'admit':
      case 'expel':
        plan(change.userId, change.principal, change.kind === 'admit');
        break;
      case 'expelAll':
        await expelAll(change.principal);
        break;
      case 'expelBelow':
      case 'expelEverybody': {
        const prefix = change.kind === 'expelBelow' ? change.prefix : '';
        await Promise.all((await membersWithPrefix(client, keys, 'h', prefix)).map(expelAll));
        break;
      }
    }
  }
  return [...planned.values()];
}
