// Writes an account without a running service, for the command line. It uses the kind and the pipeline of the service, but
// no subscribers and no settings of other kinds.
import { systemClock } from '../../base/clock.ts';
import { anonymous } from '../../engine/caller.ts';
import { compileKinds, type KindSettings } from '../../engine/compiled-kind.ts';
import { internalRequest } from '../../engine/exchange.ts';
import { Objects } from '../../engine/objects.ts';
import type { WriteOptions } from '../../engine/scope.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { accountKind } from './account-kind.ts';
import { accountIds } from './account.ts';
import { createPasswords, PreparedHashes } from './passwords.ts';

const kindSettings: KindSettings = {
  maxIdLength: 0,
  text: () => undefined,
  list: () => [],
  cacheSeconds: () => undefined,
  flag: (_key, byDefault) => byDefault,
};

const unlimited: WriteOptions = {
  explicitPermissions: false,
  maxPrincipals: 0,
  maxObjectChars: Infinity,
  maxObjectValues: Infinity,
  isImpossibleGroup: () => false,
  clock: systemClock,
};

/** Returns whether an account may have this name. */
export function isAccountName(name: string, maxIdLength: number): boolean {
  return accountIds.match(name) && (maxIdLength === 0 || name.length <= maxIdLength);
}

export interface NewAccount {
  readonly id: string;
  readonly password: string;
  /** Cost of the password hash, as in the setting `account_hash_cost`. */
  readonly hashCost: number;
  /** Revokes the one-time codes of the account. */
  readonly revokeCodes: (id: string) => Promise<void>;
}

/** Creates the account, or replaces all its attributes. Only its owner can change it. */
export async function replaceAccount(unit: UnitOfWork, account: NewAccount): Promise<void> {
  const passwords = createPasswords({ cost: account.hashCost, atOnce: 1, waiting: 0 });
  const kind = accountKind({
    hashes: new PreparedHashes(passwords),
    hidesPasswords: true,
    passwordLength: { min: 0, max: Infinity },
    validation: undefined,
    forget: account.revokeCodes,
  });
  const objects = new Objects(compileKinds([kind], kindSettings), unlimited);
  // Before the transaction opens, because hashing is slow.
  const hash = await passwords.hash(account.password, { address: undefined });
  const actor = { unit, caller: anonymous, request: internalRequest('create-user') };
  // Verbatim, because the password is hashed already, and an account from the operator needs no activation.
  const change = { attributes: () => ({ password: hash }), isVerbatim: true };
  await objects.write(actor, objects.place('account', { account_id: account.id }), change);
}
