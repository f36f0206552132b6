// Accounts in storage and permissions: their list, URIs, ids and owners.
import { findIdGenerator, type IdGenerator } from '../../core/objects/ids.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { uriBelow, type ObjectUri } from '../../core/objects/uris.ts';
import { formatUserId, type UserId } from '../../core/permissions/principals.ts';

/** The list of all accounts. Administrators can page through it. Other callers see only their own account. */
export const accountList: ListKey = { kind: 'account', parent: '' };

/** Prefix of user ids from the policy, independent of its name in the settings. */
export const policyName = 'account';

/** Returns the user id of an account. */
export function accountPrincipal(id: string): UserId {
  return formatUserId(policyName, id);
}

/** Returns the URI of an account. */
export function accountUri(id: string): ObjectUri {
  return uriBelow('', 'accounts', id);
}

/** Ids are names or e-mail addresses. No setting changes this. */
export const accountIds: IdGenerator = findIdGenerator('AccountIdGenerator')!;
