// Configurations as deployments of Kinto have them: they load as they are, and whatever has no meaning here is named.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { loadAllBuiltIn } from '../../src/app/built-in-plugins.ts';
import type { SettingsFamily } from '../../src/settings/families.ts';
import { loadSettings } from '../../src/backends/load-settings.ts';
import { rewriteConfigFile } from '../../src/settings/rewrite.ts';
import { coreSettingsFor } from '../../src/settings/table.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { changesSettings } from '../../src/plugins/changes/settings.ts';
import { objectUris } from '../../src/plugins/history/object-uris.ts';
import { policyClass } from '../../src/settings/kinto-names.ts';
import { folderWith, problemsOf } from './helpers.ts';
import { unreadLines } from '../support/unread-settings.ts';

const file = new URL('kinto-26.ini', import.meta.url);
const builtInPlugins = await loadAllBuiltIn();
const tables = builtInPlugins.map((plugin) => plugin.settings ?? {});
const families: readonly SettingsFamily[] = builtInPlugins.flatMap((plugin) => plugin.families ?? []);

function load(text: string): Settings {
  return loadSettings({ cwd: folderWith({ 'coffer.ini': text }), environment: {}, tables });
}

describe('The complete configuration of a Kinto 26', () => {
  const settings = loadSettings({ configFile: fileURLToPath(file), environment: {}, tables });

  test('loads, with one line about all deprecated spellings and no other.', () => {
    expect(settings.warnings).toEqual([
      expect.stringMatching(
        /kinto-26\.ini: 1\d\d settings in a deprecated spelling .*coffer init --from \S*kinto-26\.ini$/,
      ),
    ]);
  });

  test.each([
    ['project_name', 'Town library'],
    ['http_scheme', 'https'],
    ['http_host', 'kinto.library.example'],
    ['http_port', 8888],
    ['storage_backend', 'postgresql'],
    ['storage_url', 'postgresql://kinto:s%40cret@db.library.example:5432/kinto'],
    ['storage_pool_size', 50],
    ['permission_backend', 'postgresql'],
    ['cache_backend', 'postgresql'],
    ['cache_prefix', 'library_'],
    ['userid_hmac_secret', 'b4c96a8692291d88fe5a97dd91846eb4'],
    ['multiauth.policies', ['account', 'portal', 'basicauth']],
    ['bucket_create_principals', ['account:admin']],
    ['user-data_delete_principals', ['account:admin']],
    ['experimental_permissions_endpoint', true],
    ['experimental_collection_schema_validation', true],
    ['bucket_id_generator', 'NameGenerator'],
    ['record_id_generator', 'RelaxedUUID'],
    ['id_generator', 'UUID4'],
    ['paginate_by', 1000],
    ['batch_max_requests', 200],
    ['retry_after_seconds', 5],
    ['backoff', 10],
    ['backoff_percentage', 20],
    ['eos_message', 'We are moving'],
    ['cors_max_age_seconds', 3600],
    ['trailing_slash_redirect_ttl_seconds', 3600],
  ] as const)('sets %s: %j', (key, expected) => {
    expect(settings.get(key)).toEqual(expected);
  });

  test.each([
    ['bucket_write_principals', 'account:admin /buckets/staff/groups/operators'],
    ['multiauth.policy.portal.issuer', 'https://login.library.example'],
    ['multiauth.policy.portal.header_type', 'Bearer+Portal'],
    ['history.auto_trim_max_count', '1000'],
    ['catalogue.books.record_cache_expires_seconds', '30'],
    ['event_listeners.redis.use', 'kinto_redis.listeners'],
  ])('has a value for %s: %j', (key, expected) => {
    expect(settings.lookup(key)).toBe(expected);
  });

  test('includes the plugins by their names here.', () => {
    const known = ['default_bucket', 'openid', 'history', 'quotas', 'flush', 'prometheus', 'admin', 'changes'];
    expect(settings.get('includes')).toEqual(expect.arrayContaining(known));
    expect(settings.get('includes').filter((name) => /kinto/.test(name))).toEqual([]);
  });

  test('has names without effect, each reported with the reason, and no unknown ones except those of missing plugins.', () => {
    const lines = unreadLines(settings, tables, families);
    const names = (form: RegExp): readonly string[] => lines.flatMap((line) => form.exec(line)?.[1] ?? []);
    expect(names(/^(?:kinto\.)?(\S+) \(.*\) has no effect: ./)).toEqual([
      'initialization_sequence',
      'settings_prefix',
      'json_renderer',
      'transaction_per_request',
      'tm.annotate_user',
      'storage_poolclass',
      'permission_poolclass',
      'sentry_dsn',
      'sentry_env',
      'newrelic_config',
      'newrelic_env',
      'profiler_enabled',
    ]);
    const plugins = /^(?:account_|history\.|quotas\.|attachment\.|signer\.|mail\.)/;
    expect(names(/^unknown setting (?:kinto\.)?(\S+)/).filter((name) => !plugins.test(name))).toEqual([]);
  });
});

describe('Names of plugins', () => {
  test.each([
    ['kinto.plugins.accounts', ['accounts']],
    ['accounts', ['accounts']],
    ['kinto.plugins.counters', ['counters']],
    ['kinto_attachment', ['attachments']],
    ['kinto-attachment', ['attachments']],
    ['attachment', ['attachments']],
    ['kinto_signer', ['signer']],
    ['kinto-changes', ['changes']],
    ['kinto_remote_settings', ['changes', 'signer']],
    ['kinto-remote-settings', ['changes', 'signer']],
    ['kinto_remote_settings.signer', ['signer']],
    ['kinto_remote_settings.changes kinto_remote_settings', ['changes', 'signer']],
    ['kinto_emailer kinto.plugins.statsd kinto.plugins.openid', ['emailer', 'statsd', 'openid']],
    ['kinto_redis kinto.plugins.history', ['history']],
  ])('"%s" load %j.', (given, names) => {
    expect(load(`[app:main]\nuserid_hmac_secret = x\nincludes = ${given}\n`).get('includes')).toEqual(names);
  });

  test('that are unknown stay unchanged, so that no package of another name is loaded.', () => {
    const settings = load('[app:main]\nuserid_hmac_secret = x\nincludes = kinto_elasticsearch kinto.plugins.quux\n');
    expect(settings.get('includes')).toEqual(['kinto_elasticsearch', 'kinto.plugins.quux']);
  });
});

describe('Names of authentication policies', () => {
  const required = 'userid_hmac_secret: must be set';

  test.each([
    ['kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy', 'AccountsPolicy'],
    ['kinto.plugins.accounts.AccountsPolicy', 'AccountsPolicy'],
    ['kinto.plugins.account.AccountsPolicy', 'AccountsPolicy'],
    ['accounts', 'AccountsPolicy'],
    ['account', 'AccountsPolicy'],
    ['kinto.core.authentication.BasicAuthAuthenticationPolicy', 'BasicAuthAuthenticationPolicy'],
    ['basicauth', 'BasicAuthAuthenticationPolicy'],
    ['kinto.plugins.openid.OpenIDConnectPolicy', 'OpenIDConnectPolicy'],
    ['openid', 'OpenIDConnectPolicy'],
    ['kinto_ldap.authentication.LDAPBasicAuthAuthenticationPolicy', 'LDAPBasicAuthAuthenticationPolicy'],
  ])('%s means %s.', (given, name) => {
    expect(policyClass(given)).toBe(name);
  });

  test('of accounts require the secret in every spelling.', () => {
    const use = 'kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy';
    const text = `[app:main]\nmultiauth.policies = people\nmultiauth.policy.people.use = ${use}\n`;
    expect(problemsOf(() => load(text)).message).toContain(
      `${required} to a long random text, because the policy people`,
    );
  });
});

describe('Addresses with a slash at the end', () => {
  test('equal those without.', () => {
    const settings = load(
      '[app:main]\nuserid_hmac_secret = x\nchanges.resources =\n  /buckets/a/\n  /buckets/b/collections/c/\n' +
        'changes.excluded_collections = /buckets/a/collections/x/\nhistory.exclude_resources = /buckets/a/\n',
    );
    expect(settings.read(changesSettings)).toMatchObject({
      'changes.resources': ['/buckets/a', '/buckets/b/collections/c'],
      'changes.excluded_collections': ['/buckets/a/collections/x'],
    });
    expect(settings.lookupWith(objectUris(), 'history.exclude_resources')).toEqual(['/buckets/a']);
  });
});

describe('Unknown setting names', () => {
  test.each([
    ['kinto.pagniate_by', 'paginate_by'],
    ['kinto.storage_backened', 'storage_backend'],
    ['kinto.bucket_create_principal', 'bucket_create_principals'],
    ['kinto.experimental_collection_schema_validations', 'experimental_collection_schema_validation'],
    ['multiauth.polices', 'multiauth.policies'],
    ['userid_hmac_secrets', 'userid_hmac_secret'],
    ['kinto.batch_max_request', 'batch_max_requests'],
  ])('%s is reported with %s as the nearest.', (given, nearest) => {
    const settings = load(`[app:main]\nuserid_hmac_secret = x\n${given} = 5\n`);
    expect(unreadLines(settings, tables, families)).toEqual([
      `unknown setting ${given} (coffer.ini line 3): did you mean ${nearest}?`,
    ]);
  });

  test('those without a similar name are reported too.', () => {
    const settings = load('[app:main]\nuserid_hmac_secret = x\nour_own_thing = 5\n');
    expect(unreadLines(settings, tables, families)).toEqual(['unknown setting our_own_thing (coffer.ini line 3)']);
  });
});

describe('Files of paste and uWSGI', () => {
  const main = 'kinto.userid_hmac_secret = x\nkinto.paginate_by = 7\n';

  test.each([
    [
      'one application behind a map of addresses',
      `[composite:main]\nuse = egg:Paste#urlmap\n/ = kinto\n[app:kinto]\n${main}`,
    ],
    [
      'one application in a pipeline',
      `[pipeline:main]\npipeline = gzip kinto\n[filter:gzip]\nuse = egg:gz\n[app:kinto]\n${main}`,
    ],
    [
      'values for all sections',
      `[DEFAULT]\nsize = 7\n[app:main]\nkinto.userid_hmac_secret = x\nkinto.paginate_by = %(size)s\n`,
    ],
    ['keys that uWSGI repeats or gives alone', `[uwsgi]\nenv = A=1\nenv = B=2\nmaster\n[app:main]\n${main}`],
    [
      'colons, comments and long lists',
      '[app:main]\n; old\nuserid_hmac_secret: x\n# new\npaginate_by: 7\ncors_origins:\n  https://a.example\n  https://b.example\n',
    ],
    [
      'formats of log lines with percent signs',
      `[app:main]\n${main}[formatter_generic]\nformat = %(asctime)s %(message)s\n`,
    ],
  ])('load: %s.', (_what, text) => {
    expect(load(text).get('paginate_by')).toBe(7);
  });

  test('a duplicate key in the settings section is still an error.', () => {
    const { message } = problemsOf(() => load(`[app:main]\n${main}kinto.paginate_by = 8\n`));
    expect(message).toContain('kinto.paginate_by is already set in line 3');
  });
});

describe('The line `use`', () => {
  const base =
    '[DEFAULT]\nsize = 7\n[app:main]\nuse = egg:kinto\nkinto.readonly = true\nkinto.paginate_by = %(size)s\n' +
    'kinto.project_name = %(here)s\nmultiauth.policies = basicauth\nkinto.includes = kinto.plugins.history\n';
  const own = 'kinto.userid_hmac_secret = x\npaginate_by = 8\nkinto.includes =\n';

  function loadFiles(files: Readonly<Record<string, string>>): Settings {
    return loadSettings({ cwd: folderWith(files), configFile: 'child.ini', environment: {}, tables });
  }

  test.each([
    ['config:base.ini', 'base.ini'],
    ['config:%(here)s/conf/base.ini#main', 'conf/base.ini'],
  ])('%s adds the settings of that file below those of the section.', (use, path) => {
    const cwd = folderWith({ 'child.ini': `[app:main]\nuse = ${use}\n${own}`, [path]: base });
    const settings = loadSettings({ cwd, configFile: 'child.ini', environment: {}, tables });
    expect(settings.get('readonly')).toBe(true);
    expect(settings.get('paginate_by')).toBe(8);
    expect(settings.get('includes')).toEqual([]);
    expect(settings.get('project_name')).toBe(dirname(join(cwd, path)));
    expect(settings.warnings).toEqual([
      expect.stringContaining('(kinto.userid_hmac_secret, kinto.includes, kinto.readonly and 1 more)'),
    ]);
    expect(unreadLines(settings, tables, families)).toEqual([]);
  });

  test('may name a section of the same file or of another one, which may use a further one.', () => {
    const shared = base.replace('[app:main]', '[app:kinto]');
    const first = `[app:main]\nuse = kinto\n${own}`;
    expect(loadFiles({ 'child.ini': first + shared }).get('readonly')).toBe(true);
    const other = { 'base.ini': shared, 'middle.ini': '[app:x]\nuse = config:base.ini#kinto\nbackoff = 3\n' };
    const settings = loadFiles({ 'child.ini': `[app:main]\nuse = config:middle.ini#x\n${own}`, ...other });
    expect([settings.get('readonly'), settings.get('backoff'), settings.get('paginate_by')]).toEqual([true, 3, 8]);
  });

  test('adds no other spelling of a setting of the section.', () => {
    const files = {
      'base.ini': '[app:main]\nkinto.user_hmac_secret = y\nhttp_port = 7\n',
      'child.ini': `[app:main]\nuse = config:base.ini\n${own}[server:main]\nport = 8\n`,
    };
    const settings = loadFiles(files);
    expect([settings.get('userid_hmac_secret'), settings.get('http_port')]).toEqual(['x', 7]);
    const { text } = rewriteConfigFile(join(folderWith(files), 'child.ini'), {
      format: 'ini',
      tables: [coreSettingsFor([])],
      families,
    });
    const written = text.split('\n').filter((line) => /^(?:userid_hmac_secret|http_port)/.test(line));
    expect(written).toEqual(['http_port = 7', 'userid_hmac_secret = x']);
    const twice = {
      'base.ini': 'user_hmac_secret = y\nuserid_hmac_secret = z\n',
      'child.ini': 'use = config:base.ini\n',
    };
    expect(problemsOf(() => loadFiles(twice)).message).toContain('conflicts with');
  });

  test('lets values of a used file refer to [DEFAULT] of its own, and then of the file that uses it.', () => {
    const settings = loadFiles({
      'child.ini': `[DEFAULT]\nsize = 9\ntitle = outer\n[app:main]\nuse = config:middle.ini\n${own}`,
      'middle.ini': '[app:main]\nuse = config:base.ini\n',
      'base.ini': '[DEFAULT]\nsize = 7\n[app:main]\nbackoff = %(size)s\nproject_name = %(title)s\n',
    });
    expect([settings.get('backoff'), settings.get('project_name')]).toEqual([7, 'outer']);
    expect(settings.warnings).not.toContainEqual(expect.stringContaining('title'));
  });

  test('is refused, with its place, when it names nothing or leads back.', () => {
    const refusal = (use: string, files: Readonly<Record<string, string>> = {}): string =>
      problemsOf(() => loadFiles({ 'child.ini': `[app:main]\nuse = ${use}\n${own}`, ...files })).message;
    expect(refusal('kinto')).toContain('use = "kinto" (child.ini line 2): child.ini has no section [app:kinto]');
    expect(refusal('config:base.ini#x', { 'base.ini': base })).toContain('base.ini has no section [app:x]');
    expect(refusal('config:base.ini')).toMatch(/child\.ini line 2: use: configuration file .*base\.ini: .* not exist/);
    expect(refusal('wsgi:kinto')).toContain('has no section [app:wsgi:kinto]; expected egg:…, config:FILE');
    const back = { 'base.ini': '[app:main]\nuse = config:child.ini\n' };
    expect(refusal('config:base.ini', back)).toContain('(base.ini line 2): [app:main] of child.ini is used by itself');
    expect(refusal('config:base.ini', { 'base.ini': '[app:main]\nmalformed\n' })).toContain(
      'base.ini line 2: expected',
    );
  });

  test('is suggested when a file has several applications.', () => {
    const text = `[composite:main]\nuse = egg:Paste#urlmap\n/a = a\n/b = b\n[app:a]\n${own}[app:b]\n${own}`;
    expect(problemsOf(() => load(text)).message).toContain(
      'expected [app:main]. Add [app:main] with use = NAME, for one of these applications: [app:a], [app:b]',
    );
    expect(load(`${text}[app:main]\nuse = b\n`).get('paginate_by')).toBe(8);
  });

  test('is silent about packages; filter-with has no effect.', () => {
    const settings = load(`[app:main]\nuse = call:kinto:main\nfilter-with = gzip\n${own}`);
    expect(unreadLines(settings, tables, families)).toEqual([
      'filter-with (coffer.ini line 3) has no effect: WSGI filters are not supported',
    ]);
  });
});
