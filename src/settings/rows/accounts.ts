// Settings of the accounts plugin: who may do what with accounts, how passwords are kept and tried, and the mails that
// validate addresses and reset passwords.
import { setting } from '../definition.ts';
import { flag, integer, list, regexp, text } from '../readers.ts';

/** Accounts, passwords and logins. */
export const accountSettings = {
  account_create_principals: setting(
    list('principals'),
    'Who may create accounts: system.Everyone for anybody, else some of those in account_write_principals.',
    { default: [] },
  ),
  account_write_principals: setting(
    list('principals'),
    'Administrators: who may read, change and delete every account.',
    { default: [] },
  ),
  account_read_principals: setting(list('principals'), 'Who may read every account, without its password.', {
    default: [],
  }),
  account_cache_ttl_seconds: setting(
    integer({ min: 0 }),
    'Seconds after its last use for which a checked password is not checked the slow way again.',
    { default: 30 },
  ),
  account_hide_password: setting(
    flag(),
    'Shows nobody the hashes of passwords, which owners and administrators see otherwise.',
    { default: false },
  ),
  account_password_min_length: setting(integer({ min: 1, max: 1000 }), 'Characters that a new password has at least.', {
    default: 1,
  }),
  account_password_max_length: setting(integer({ min: 1, max: 4096 }), 'Characters that a new password has at most.', {
    default: 1000,
  }),
  account_hash_cost: setting(
    integer({ min: 10, max: 20 }),
    'How hard new passwords are to guess from their hashes; each step more doubles the time and the memory of a check. 15 takes 32 MiB.',
    { default: 15 },
  ),
  account_hashes_at_once: setting(
    integer({ min: 1, max: 64 }),
    'Passwords that are checked or hashed at the same time, in one process.',
    { default: 2 },
  ),
  account_hashes_waiting: setting(
    integer({ min: 0 }),
    'Passwords that may wait for that; who comes then is told to come back later.',
    { default: 100 },
  ),
  account_login_window_seconds: setting(
    integer({ min: 1 }),
    'Seconds for which failed logins count. Whoever reaches a limit has to wait for the rest of them.',
    { default: 300 },
  ),
  account_login_failures_per_account: setting(
    integer({ min: 0 }),
    'Failed logins that an account takes from addresses where it was not used before, and from each where it was; 0 is no limit.',
    { default: 20 },
  ),
  account_login_failures_per_address: setting(
    integer({ min: 0 }),
    'Failed logins that one address may have with all accounts that were not used there before; 0 is no limit.',
    { default: 100 },
  ),
  account_known_addresses_max: setting(
    integer({ min: 1, max: 1000 }),
    'Maximum number of addresses per account that count as known for 30 days after a login. A login from a further one succeeds and leaves it unknown.',
    { default: 50 },
  ),
};

const template = text('a text with placeholders such as {id}');

/** Mails about accounts. */
export const accountValidationSettings = {
  account_validation: setting(
    flag(),
    'Makes accounts have an e-mail address as their id, which must be confirmed before the first login, and lets passwords be reset by mail.',
    { default: false },
  ),
  'account_validation.email_regexp': setting(regexp(), 'What ids of new accounts have to look like.', {
    default: String.raw`^[a-zA-Z0-9_.+-]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$`,
  }),
  'account_validation.email_sender': setting(text('an address'), 'Sender of these mails.', {
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
    'Seconds for which an activation key can be used.',
    { default: 604_800 },
  ),
  'account_validation.reset_password_cache_ttl_seconds': setting(
    integer({ min: 1 }),
    'Seconds for which a temporary password can be used.',
    { default: 604_800 },
  ),
  'account_validation.reset_mails_per_hour': setting(
    integer({ min: 1 }),
    'Mails with temporary passwords that one account gets in an hour; further requests are answered alike and do nothing.',
    { default: 5 },
  ),
  'account_validation.reset_requests_per_address_per_hour': setting(
    integer({ min: 1 }),
    'Requests for temporary passwords that one address may make in an hour; further ones are answered alike and do nothing.',
    { default: 100 },
  ),
};
