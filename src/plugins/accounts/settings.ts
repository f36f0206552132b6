// Settings of the plugin `accounts`: permissions on accounts, passwords, limits on logins, and the mails that validate
// addresses and reset passwords.
import { inSection, setting } from '../../settings/definition.ts';
import { flag, integer, list, regexp, text } from '../../settings/readers.ts';
import { maxPasswordChars } from './passwords.ts';
import { maxHashCost } from './scrypt-hash.ts';

const logins = inSection('Accounts', {
  account_create_principals: setting(
    list('principals'),
    'Principals that may create accounts: system.Everyone for any client, or a part of account_write_principals.',
    { default: [] },
  ),
  account_write_principals: setting(
    list('principals'),
    'Administrators: principals that may read, change and delete every account.',
    { default: [] },
  ),
  account_read_principals: setting(
    list('principals'),
    'Principals that may read every account, without its password.',
    {
      default: [],
    },
  ),
  account_cache_ttl_seconds: setting(
    integer({ min: 0 }),
    'Time after its last use for which a checked password is compared with the cache instead of its slow hash, in seconds.',
    { default: 30 },
  ),
  account_hide_password: setting(flag(), 'Hides password hashes from owners and administrators.', { default: false }),
  account_password_min_length: setting(
    integer({ min: 1, max: 1000 }),
    'Minimum number of characters of a new password.',
    {
      default: 1,
    },
  ),
  account_password_max_length: setting(
    integer({ min: 1, max: maxPasswordChars }),
    'Maximum number of characters of a new password.',
    {
      default: 1000,
    },
  ),
  account_hash_cost: setting(
    integer({ min: 10, max: maxHashCost }),
    'Cost of the hashes of new passwords. Each step doubles the time and the memory of a check. 15 takes 32 MiB.',
    { default: 15 },
  ),
  account_hashes_at_once: setting(
    integer({ min: 1, max: 64 }),
    'Maximum number of passwords that one process checks or hashes at the same time.',
    { default: 2 },
  ),
  account_hashes_waiting: setting(
    integer({ min: 0 }),
    'Maximum number of queued passwords, each for known and unknown addresses of accounts. Above it, requests of the address with the most get 503.',
    { default: 100 },
  ),
  account_login_window_seconds: setting(
    integer({ min: 1 }),
    'Time for which failed logins count, in seconds. A client that reaches a limit waits for the rest of it.',
    { default: 300 },
  ),
  account_login_failures_per_account: setting(
    integer({ min: 0 }),
    'Failed logins allowed per account: one budget for unknown addresses, and one for each known address. 0 means unlimited.',
    { default: 20 },
  ),
  account_login_failures_per_address: setting(
    integer({ min: 0 }),
    'Failed logins allowed per address, for all accounts that do not know the address. 0 means unlimited.',
    { default: 100 },
  ),
  account_known_addresses_max: setting(
    integer({ min: 1, max: 1000 }),
    'Maximum number of addresses per account that count as known for 30 days after a login. A login from a further one succeeds and leaves it unknown.',
    { default: 50 },
  ),
});

const template = text('a text with placeholders such as {id}');

const mails = inSection('Account validation', {
  account_validation: setting(
    flag(),
    'Requires e-mail addresses as ids of accounts, and their confirmation before the first login. Passwords can be reset by mail.',
    { default: false },
  ),
  'account_validation.email_regexp': setting(regexp(), 'Regular expression that ids of new accounts must match.', {
    default: String.raw`^[a-zA-Z0-9_.+-]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$`,
  }),
  'account_validation.email_sender': setting(text('an address'), 'Sender of the mails about accounts.', {
    default: 'admin@example.com',
  }),
  'account_validation.email_subject_template': setting(template, 'Subject of the mail with the activation key.', {
    default: 'Activate your account',
  }),
  'account_validation.email_body_template': setting(template, 'Text of the mail with the activation key.', {
    default: '{activation-key}',
  }),
  'account_validation.email_confirmation_subject_template': setting(
    template,
    'Subject of the mail that confirms the activation.',
    { default: 'Account {id} is active' },
  ),
  'account_validation.email_confirmation_body_template': setting(
    template,
    'Text of the mail that confirms the activation.',
    { default: 'The account {id} is active now.' },
  ),
  'account_validation.email_reset_password_subject_template': setting(
    template,
    'Subject of the mail with a temporary password.',
    { default: 'Reset your password' },
  ),
  'account_validation.email_reset_password_body_template': setting(
    template,
    'Text of the mail with a temporary password.',
    { default: '{reset-password}' },
  ),
  'account_validation.validation_key_cache_ttl_seconds': setting(
    integer({ min: 1 }),
    'Lifetime of an activation key, in seconds.',
    { default: 604_800 },
  ),
  'account_validation.reset_password_cache_ttl_seconds': setting(
    integer({ min: 1 }),
    'Lifetime of a temporary password, in seconds.',
    { default: 604_800 },
  ),
  'account_validation.reset_mails_per_hour': setting(
    integer({ min: 1 }),
    'Maximum number of mails with temporary passwords per account in an hour. Further requests get the same response and do nothing.',
    { default: 5 },
  ),
  'account_validation.reset_requests_per_address_per_hour': setting(
    integer({ min: 1 }),
    'Maximum number of requests for temporary passwords per address in an hour. Further requests get the same response and do nothing.',
    { default: 100 },
  ),
});

export const accountSettings = { ...logins, ...mails };
