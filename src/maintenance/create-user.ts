// Creates accounts from the command line.
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../contracts/logger.ts';
import { runInUnit } from '../engine/retry.ts';
import { accountsSecret } from '../plugins/accounts/account-cache.ts';
import { OneTimeCodes } from '../plugins/accounts/one-time-codes.ts';
import { isAccountName, replaceAccount } from '../plugins/accounts/replace-account.ts';
import { accountSettings } from '../plugins/accounts/settings.ts';
import type { Settings } from '../settings/settings.ts';
import { withBackends } from './units.ts';

export interface NewUser {
  readonly username: string;
  readonly password: string;
}

/** Whether an account may have this name. */
export function isUserName(settings: Settings, name: string): boolean {
  return isAccountName(name, settings.get('max_id_length'));
}

/** Creates an account, or replaces it with its attributes. */
export async function createUser(settings: Settings, { username, password }: NewUser): Promise<void> {
  const secret = accountsSecret(settings);
  const values = settings.read(accountSettings);
  const ttlSeconds = values['account_validation.reset_password_cache_ttl_seconds'];
  await withBackends(settings, (backends) => {
    const codes = new OneTimeCodes(
      { state: backends.securityState, clock: systemClock },
      secret,
      'password-reset',
      ttlSeconds,
    );
    const hashCost = values.account_hash_cost;
    const account = { id: username, password, hashCost, revokeCodes: (id: string) => codes.revoke(id) };
    return runInUnit(backends, silentLogger, (unit) => replaceAccount(unit, account));
  });
}
