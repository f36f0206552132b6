// Storage list, principal, URI and ids of accounts.
import { findIdGenerator, type IdGenerator } from '../../core/objects/ids.ts';
import type { ListKey } from '../../core/objects/stored.ts';

/** All accounts are in one list, so that administrators can page through it. Other users see only their own. */
export const accountList: ListKey = { kind: 'account', parent: '' };

/** Prefix of user ids of the policy, independent of its name in the settings. */
export const policyName = 'account';

/** Returns the user id of an account. */
export function accountPrincipal(id: string): string {
  return `${policyName}:${id}`;
}

/** Returns the URI of an account, the key of its permissions. */
export function accountUri(id: string): string {
  return `/accounts/${id}`;
}

/** Ids are names or e-mail addresses. No setting changes this. */
export const accountIds: IdGenerator = findIdGenerator('AccountIdGenerator')!;
