// All faults of a configuration are reported at once, by every command that reads it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import { createService } from '../../src/app/service.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { SettingsError } from '../../src/settings/problems.ts';
import { run, workingFolder } from './process.ts';

/** Wrong in the file's form, in the core, in tables, families and set-ups of plugins, in policies, and in listeners. */
const wrong = [
  '[app:main]',
  'storage_backend = memory',
  'kinto.project_name = %(nobody)s',
  'a line that is no setting',
  'paginate_by = many',
  'workers = 3',
  'multiauth.policies = basicauth ldap',
  'includes = signer attachments changes history nonsense',
  'changes.since_max_age_days = soon',
  'signer.staging.to_review_enabled = maybe',
  'attachment.max_size_bytes = some',
  'history.exclude_resources = /nowhere',
  'event_listeners = odd',
  'event_listeners.odd.use = webhook',
];

const complaints = [
  /nobody/,
  /line 4: expected key = value/,
  /paginate_by = "many" \(coffer\.ini line 5\): expected a whole number/,
  /userid_hmac_secret: must be set/,
  /workers = "3": must be 1 with storage_backend = memory/,
  /includes names nonsense/,
  /changes\.since_max_age_days = "soon" .*: expected a whole number/,
  /signer\.staging\.to_review_enabled = "maybe" .*: expected true or false/,
  /attachment\.max_size_bytes = "some" .*: expected a whole number/,
  /history\.exclude_resources = "\/nowhere"/,
  /signer\.resources is empty/,
  /event listener odd could not be created/,
];

function configured(lines: readonly string[]): string {
  const cwd = workingFolder();
  writeFileSync(join(cwd, 'coffer.ini'), `${lines.join('\n')}\n`, { mode: 0o600 });
  return cwd;
}

describe('A configuration with mistakes everywhere', () => {
  test.each(['start', 'check'])('makes %s report all of them, each once.', async (command) => {
    const { code, err } = await run([command], { cwd: configured(wrong) });
    expect(code).toBe(1);
    for (const complaint of complaints) {
      const lines = err.split('\n').filter((line) => complaint.test(line));
      expect({ complaint, count: lines.length }).toEqual({ complaint, count: 1 });
    }
  });

  test('makes a start without a setting report misspelt names, one of which may have been meant.', async () => {
    const { code, err } = await run(['start'], { cwd: configured(['[app:main]', 'userid_hmac_secrte = any']) });
    expect(code).toBe(1);
    expect(err).toMatch(/userid_hmac_secret: must be set/);
    expect(err).toMatch(/unknown setting userid_hmac_secrte .*: did you mean userid_hmac_secret\?/);
  });

  test('with correct core settings makes the start report the problems of plugins, policies and listeners.', async () => {
    const lines = [
      '[app:main]',
      'userid_hmac_secret = a secret that is long enough for tests',
      'multiauth.policies = basicauth ldap kerberos',
      'includes = signer attachments statsd',
      'event_listeners = odd other',
    ];
    const { code, err } = await run(['start'], { cwd: configured(lines) });
    expect(code).toBe(1);
    const parts = ['signer.resources', 'attachment.base_path', 'statsd_url', 'listener odd', 'listener other'];
    for (const part of [...parts, 'names ldap', 'names kerberos']) expect(err).toContain(part);
  });

  test('with a missing plugin does not make other settings look unknown.', async () => {
    const lines = [
      '[app:main]',
      'userid_hmac_secret = a secret that is long enough for tests',
      'multiauth.policies = basicauth ldap',
      'multiauth.policy.ldap.use = LdapPolicy',
      'multiauth.authorization_policy = OfTheirs',
      'includes = ./ldap.js',
      'event_listeners = mails',
      'event_listeners.mails.use = webhook',
      'event_listeners.mails.url = https://hooks.example/',
      'event_listeners.mails.secret = another secret that is long enough',
      'event_listeners.mails.resources = theirs',
    ];
    const { code, err } = await run(['start'], { cwd: configured(lines) });
    expect(code).toBe(1);
    expect(err).toContain('includes names ./ldap.js');
    expect(err).not.toMatch(/LdapPolicy|OfTheirs|theirs/);
  });

  test('that plugins find at their start makes the start report all of them.', async () => {
    const lines = [
      '[app:main]',
      'userid_hmac_secret = a secret that is long enough for tests',
      'built_in_kinds = false',
      'includes = changes attachments',
      'changes.excluded_collections = /nowhere',
      'attachment.base_path = files',
    ];
    const { code, err } = await run(['start'], { cwd: configured(lines) });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/plugin changes could not be started(?:.|\n)*plugin attachments could/),
    ]);
  });

  test('is refused as a whole by the library too.', async () => {
    const settings = settingsOf({
      userid_hmac_secret: 'x',
      includes: 'changes nonsense bogus',
      'changes.since_max_age_days': 'soon',
    });
    const error: unknown = await createService({ settings, logger: silentLogger }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SettingsError);
    for (const part of ['includes names nonsense', 'includes names bogus', 'changes.since_max_age_days']) {
      expect(String(error)).toContain(part);
    }
  });
});

describe('One mistake', () => {
  test('is reported in the words of the check that found it.', async () => {
    const lines = ['[app:main]', 'userid_hmac_secret = x', 'multiauth.policies = basicauth', 'includes = signer'];
    const { code, err } = await run(['start'], { cwd: configured(lines) });
    expect(code).toBe(1);
    expect(err).toContain('coffer: The plugin signer could not be set up: signer.resources is empty');
  });

  test('in the heading of a file is reported with its consequences.', async () => {
    const { err } = await run(['start'], { cwd: configured(['[app:main', 'readonly = true', '[other]', 'x = y']) });
    expect(err).toContain('line 1: malformed section; expected [name]');
  });
});

describe('Commands other than start', () => {
  const database = ['storage_backend = sqlite', 'permission_backend = sqlite', 'multiauth.policies = basicauth'];

  test.each([
    ['migrate'],
    ['flush-cache'],
    ['purge-deleted', '--older-than', '1d'],
    ['export', 'all.coffer'],
    ['resync'],
    ['webhooks'],
    ['rebuild-quotas'],
    ['delete-collection', '--bucket', 'a', '--collection', 'b'],
    ['copy', '--to', 'sqlite:copy.sqlite3'],
  ])('need no secret: %s.', async (...args) => {
    const cwd = configured(['[app:main]', ...database, 'admin_port = 8888']);
    await run(['migrate'], { cwd });
    const { code, err } = await run(args, { cwd });
    expect(err).not.toMatch(/userid_hmac_secret|admin_port/);
    // These two have other reasons to refuse.
    expect(code).toBe({ 'rebuild-quotas': 42, 'delete-collection': 32 }[args[0]] ?? 0);
  });

  test('refuse missing settings that they use: migrate the URL of a database, create-user the secret.', async () => {
    const postgresql = await run(['migrate'], { cwd: configured(['[app:main]', 'storage_backend = postgresql']) });
    expect([postgresql.code, postgresql.err]).toEqual([1, expect.stringContaining('storage_url: expected postgresql')]);
    const accounts = ['[app:main]', ...database.slice(0, 2), 'multiauth.policies = account', 'includes = accounts'];
    const user = await run(['create-user', '-u', 'zoe', '-p', 'long enough'], { cwd: configured(accounts) });
    expect([user.code, user.err]).toEqual([1, expect.stringContaining('userid_hmac_secret: must be set')]);
    const mail = await run(['send-email', 'zoe@example.org'], {
      cwd: configured(['[app:main]', 'storage_backend = postgresql', 'mail.debug_mailer = true']),
    });
    expect(mail.err).not.toMatch(/storage_url|userid_hmac_secret/);
  });
});
