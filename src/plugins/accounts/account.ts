// Accounts in storage and permissions: their list, URIs, ids and owners.
import { createHash } from 'node:crypto';
import { getKey } from '../../base/json.ts';
import { findIdGenerator, type IdGenerator } from '../../core/objects/ids.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
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

/** Returns the id of the account that a user id is of; `undefined` for users without account. */
export function ownAccount(userId: UserId): string | undefined {
  return userId.startsWith(`${policyName}:`) ? userId.slice(policyName.length + 1) : undefined;
}

/** Returns the URI of an account. */
export function accountUri(id: string): ObjectUri {
  return uriBelow('', 'accounts', id);
}

/** Ids are names or e-mail addresses. No setting changes this. */
export const accountIds: IdGenerator = findIdGenerator('AccountIdGenerator')!;

/** Returns the password hash of an account, if it has one. */
export function findHash(account: StoredObject): string | undefined {
  const password = getKey(account.attributes, 'password');
  return typeof password === 'string' ? password : undefined;
}

/** Returns what identifies a password hash, without revealing it. */
export function proofOf(hash: string | undefined): string {
  return createHash('sha256')
    .update(hash ?? '')
    .digest('base64url');
}
