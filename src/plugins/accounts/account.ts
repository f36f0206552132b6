// What an account is to storage and permissions: where it is kept and who owns it.
import { findIdGenerator, type IdGenerator } from '../../core/objects/ids.ts';
import type { ListKey } from '../../core/objects/stored.ts';

/** All accounts are one list, so that administrators can page through it; others only see their own. */
export const accountList: ListKey = { kind: 'account', parent: '' };

/** The policy gives ids with this prefix, whatever it is called in the settings. */
export const policyName = 'account';

/** The user that an account is. */
export function accountPrincipal(id: string): string {
  return `${policyName}:${id}`;
}

/** The key of its permissions. */
export function accountUri(id: string): string {
  return `/accounts/${id}`;
}

/** Ids are names or e-mail addresses; no setting changes that. */
export const accountIds: IdGenerator = findIdGenerator('AccountIdGenerator')!;
