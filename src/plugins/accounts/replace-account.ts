// Creation of accounts from the command line. It bypasses the resource pipeline, because operators have all
// permissions.
import { formatAttributes } from '../../core/objects/stored.ts';
import type { Writer } from '../../engine/unit-of-work.ts';
import { accountIds, accountList, accountPrincipal, accountUri } from './account.ts';
import { createPasswords } from './passwords.ts';

/** Returns whether the name is valid for an account. */
export function isAccountName(name: string, maxIdLength: number): boolean {
  return accountIds.match(name) && (maxIdLength === 0 || name.length <= maxIdLength);
}

/** Hashes one password. */
export function hashPassword(password: string, cost: number): Promise<string> {
  return createPasswords({ cost, atOnce: 1, waiting: 0 }).hash(password);
}

/**
 * Creates the account or replaces its attributes. Only its owner can change it, and the previous password is invalid.
 */
export async function replaceAccount({ storage, permission }: Writer, id: string, hash: string): Promise<void> {
  await storage.lock(accountList, id);
  await storage.update(accountList, id, formatAttributes({ password: hash }));
  await permission.replaceObjectPermissions(accountUri(id), { write: [accountPrincipal(id)] });
}
