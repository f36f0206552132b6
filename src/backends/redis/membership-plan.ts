// Plans the membership changes of a unit on a cluster, where each user's principals lie in a slot of their own: the last
// change for each user and principal. The registries name the users of changes that concern all users.
import { toPrincipal, toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import type { RedisClient } from './client.ts';
import type { Keys } from './keys.ts';
import { membersWithPrefix } from './registries.ts';
import type { MembershipChange } from './permission-log.ts';

export interface Membership {
  readonly userId: Principal;
  readonly principal: Principal;
  readonly isMember: boolean;
}

/** Returns the final state of each membership that changes. New memberships must have been announced already. */
export async function planMemberships(
  client: RedisClient,
  keys: Keys,
  changes: readonly MembershipChange[],
): Promise<readonly Membership[]> {
  const planned = new Map<string, Membership>();
  const plan = (userId: Principal, principal: Principal, isMember: boolean): void => {
    planned.set(`${userId}\0${principal}`, { userId, principal, isMember });
  };
  const expelAll = async (principal: Principal): Promise<void> => {
    const users = (await client.read('permission', 'SMEMBERS', keys.members(principal))) as string[];
    for (const userId of toPrincipals(users)) plan(userId, principal, false);
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
      case 'clearMemberships': {
        const prefix = change.kind === 'expelBelow' ? change.prefix : '';
        await Promise.all(
          (await membersWithPrefix(client, keys, 'h', prefix)).map((each) => expelAll(toPrincipal(each))),
        );
        break;
      }
    }
  }
  return [...planned.values()];
}
