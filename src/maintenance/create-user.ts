// Accounts from the command line.
import { OneTimeCodes } from '../plugins/accounts/one-time-codes.ts';
import { hashPassword, isAccountName, replaceAccount } from '../plugins/accounts/replace-account.ts';
import { accountSettings } from '../plugins/accounts/settings.ts';
import type { Settings } from '../settings/settings.ts';
import { withBackends, write } from './units.ts';

export interface NewUser {
  readonly username: string;
  readonly password: string;
}

/** Returns why no account can be created with these settings; `undefined` when one can. */
export function findObstacle(settings: Settings): 'readonly' | 'no plugin' | undefined {
  if (settings.get('readonly')) return 'readonly';
  return settings.get('includes').includes('accounts') ? undefined : 'no plugin';
}

/** Whether an account may have this name. */
export function isUserName(settings: Settings, name: string): boolean {
  return isAccountName(name, settings.get('max_id_length'));
}

/** Creates an account, or replaces it with its attributes. */
export async function createUser(settings: Settings, { username, password }: NewUser): Promise<void> {
  const hash = await hashPassword(password, settings.read(accountSettings).account_hash_cost);
  await withBackends(settings, async (backends) => {
    await write(backends, (writer) => replaceAccount(writer, username, hash));
    const secret = settings.get('userid_hmac_secret');
    const ttlSeconds = settings.read(accountSettings)['account_validation.reset_password_cache_ttl_seconds'];
    await new OneTimeCodes(backends.securityState, secret, 'password-reset', ttlSeconds).revoke(username);
  });
}
