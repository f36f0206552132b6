// Checks at start that settings of accounts fit together. Each error says what to change.
import { EVERYONE } from '../../core/permissions/principals.ts';
import { policyClass } from '../../settings/kinto-names.ts';
import type { Settings } from '../../settings/settings.ts';
import { policyName } from './account.ts';
import { accountSettings } from './settings.ts';

/**
 * Checks the settings of accounts.
 *
 * @returns whether a policy after `account` accepts Basic credentials too
 * @throws Error for settings that do not fit together
 */
export function checkSettings(settings: Settings): boolean {
  const isFollowed = checkPolicies(settings);
  const own = settings.read(accountSettings);
  const writers = own.account_write_principals;
  const strangers = own.account_create_principals.filter(
    (principal) => principal !== EVERYONE && !writers.includes(principal),
  );
  if (strangers.length > 0) {
    throw new Error(
      `account_create_principals contains ${strangers.join(', ')}, which account_write_principals does not contain. ` +
        'Authenticated users have only their own account, so principals that create other accounts must be in both.',
    );
  }
  return isFollowed;
}

function checkPolicies(settings: Settings): boolean {
  const policies = settings.get('multiauth.policies').map((name) => ({ name, use: implementationOf(settings, name) }));
  const accounts = policies.findIndex(({ use }) => use === 'AccountsPolicy');
  if (accounts === -1) {
    throw new Error(
      'The plugin accounts is included, but no policy checks accounts. Add account to multiauth.policies before basicauth ' +
        '(multiauth.policy.account.use = AccountsPolicy).',
    );
  }
  const basic = policies.findIndex(({ use }) => use === 'BasicAuthAuthenticationPolicy');
  if (basic !== -1 && basic < accounts) {
    throw new Error(
      `multiauth.policies has ${policies[basic]!.name} before ${policies[accounts]!.name}, so the credentials of ` +
        'every account would be accepted as those of another user. Put it after.',
    );
  }
  const twin = policies.find(({ name, use }) => name.toLowerCase() === policyName && use !== 'AccountsPolicy');
  if (twin !== undefined) {
    throw new Error(
      `multiauth.policy.${twin.name}.use is ${twin.use}, but the prefix ${policyName}: belongs to the user ids of ` +
        'accounts. Give that policy another name.',
    );
  }
  return basic !== -1;
}

/** Returns the policy class that the setting `use` names, or that the policy name implies. */
function implementationOf(settings: Settings, name: string): string {
  const byDefault = ['basicauth', 'account', 'accounts'].includes(name) ? name : '';
  return policyClass(settings.lookup(`multiauth.policy.${name}.use`) ?? byDefault);
}
