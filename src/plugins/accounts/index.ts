// Local accounts: users sign up, log in with name and password, and manage their accounts. See docs/guides/accounts.md.
import type { PolicyFactory } from '../../contracts/authentication.ts';
import { EVERYONE } from '../../core/permissions/principals.ts';
import { passwordParameters, readParameters } from '../../http/authentication/parameters.ts';
import { definePlugin, type PluginHost } from '../../http/plugin.ts';
import { accountsSecret } from './account-cache.ts';
import { accountKind } from './account-kind.ts';
import { OneTimeCodes } from './one-time-codes.ts';
import { createPasswords, PreparedHashes } from './passwords.ts';
import { AccountsPolicy, type AccountsPolicyOptions } from './policy.ts';
import { accountSettings } from './settings.ts';
import { checkSettings } from './start-checks.ts';
import { Throttle } from './throttle.ts';
import { Validation } from './validation.ts';

export const accounts = definePlugin({
  name: 'accounts',
  kindNames: ['account'],
  settings: accountSettings,
  setup(host) {
    const { settings } = host;
    const isFollowed = checkSettings(settings);
    const own = settings.read(accountSettings);
    const passwords = createPasswords({
      cost: own.account_hash_cost,
      atOnce: own.account_hashes_at_once,
      waiting: own.account_hashes_waiting,
    });
    const codes = own.account_validation ? oneTimeCodes(host) : undefined;
    const throttle = createThrottle(host);
    const validation = codes === undefined ? undefined : createValidation(host, codes);
    return {
      kinds: [
        accountKind({
          hashes: new PreparedHashes(passwords),
          hidesPasswords: own.account_hide_password,
          passwordLength: {
            min: own.account_password_min_length,
            max: own.account_password_max_length,
          },
          validation,
          async forget(id, change, { once }) {
            if (once === undefined) await codes?.temporary.revoke(id);
            if (change === 'delete') await codes?.activation.revoke(id);
          },
        }),
      ],
      actions: validation?.actions ?? [],
      subscribers: [
        {
          name: 'accounts',
          on: 'AfterResourceChanged',
          kinds: ['account'],
          actions: ['update', 'delete'],
          // After the commit: until then, the former owner can log in.
          async handle({ action, changes }) {
            for (const { new: account, caller } of changes) {
              if (action === 'delete' || caller.once !== undefined) await throttle.forgetAddresses(account.id);
            }
          },
        },
      ],
      policies: {
        AccountsPolicy: policyFactory(host, { passwords, throttle, temporary: codes?.temporary, isFollowed }),
      },
      capabilities: {
        accounts: {
          description: 'Users have accounts with names and passwords, which they manage themselves.',
          url: host.documentationUrl('accounts'),
          validation_enabled: validation !== undefined,
          sign_up_enabled: own.account_create_principals.includes(EVERYONE),
        },
      },
    };
  },
});

type PolicyParts = Pick<AccountsPolicyOptions, 'passwords' | 'throttle' | 'temporary' | 'isFollowed'>;

function createThrottle({ settings, securityState }: PluginHost): Throttle {
  const own = settings.read(accountSettings);
  return new Throttle(securityState, accountsSecret(settings), {
    windowSeconds: own.account_login_window_seconds,
    failuresPerAccount: own.account_login_failures_per_account,
    failuresPerAddress: own.account_login_failures_per_address,
    knownAddressesPerAccount: own.account_known_addresses_max,
  });
}

function policyFactory({ settings, cache, stores }: PluginHost, parts: PolicyParts): PolicyFactory {
  const secret = accountsSecret(settings);
  const own = settings.read(accountSettings);
  return (context) =>
    new AccountsPolicy({
      ...parts,
      realm: readParameters(context, passwordParameters).realm,
      secret,
      cache,
      storage: stores.storage.reader,
      cacheTtlSeconds: own.account_cache_ttl_seconds,
      maxIdLength: settings.get('max_id_length'),
    });
}

interface Codes {
  readonly activation: OneTimeCodes;
  readonly temporary: OneTimeCodes;
}

function oneTimeCodes({ settings, securityState: state, clock }: PluginHost): Codes {
  const secret = accountsSecret(settings);
  const own = settings.read(accountSettings);
  const store = { state, clock };
  const activationSeconds = own['account_validation.validation_key_cache_ttl_seconds'];
  const resetSeconds = own['account_validation.reset_password_cache_ttl_seconds'];
  return {
    activation: new OneTimeCodes(store, secret, 'account-activation', activationSeconds),
    temporary: new OneTimeCodes(store, secret, 'password-reset', resetSeconds),
  };
}

function createValidation({ settings, securityState, mailer, logger }: PluginHost, codes: Codes): Validation {
  const own = settings.read(accountSettings);
  return new Validation({
    addressForm: new RegExp(own['account_validation.email_regexp']),
    sender: own['account_validation.email_sender'],
    templates: {
      activation: {
        subject: own['account_validation.email_subject_template'],
        body: own['account_validation.email_body_template'],
      },
      confirmation: {
        subject: own['account_validation.email_confirmation_subject_template'],
        body: own['account_validation.email_confirmation_body_template'],
      },
      reset: {
        subject: own['account_validation.email_reset_password_subject_template'],
        body: own['account_validation.email_reset_password_body_template'],
      },
    },
    resetMailsPerHour: own['account_validation.reset_mails_per_hour'],
    resetRequestsPerAddressPerHour: own['account_validation.reset_requests_per_address_per_hour'],
    ...codes,
    securityState,
    secret: accountsSecret(settings),
    mailer,
    logger,
  });
}
