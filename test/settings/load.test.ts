// Where settings come from, and which source goes first.
import { createHash } from 'node:crypto';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { setting } from '../../src/settings/definition.ts';
import { loadSettings, settingsOf } from '../../src/backends/load-settings.ts';
import { memcachedSettings } from '../../src/backends/memcached/index.ts';
import { findMemcachedHosts } from '../../src/backends/memcached/hosts.ts';
import { flag, integer, list } from '../../src/settings/readers.ts';
import { readHomepage } from '../../src/settings/version.ts';
import { folderWith, loadIni, problemsOf, temporaryFolder } from './helpers.ts';
import { unreadLines } from '../support/unread-settings.ts';

const secret = { SVC_USERID_HMAC_SECRET: 'for-tests' };

describe('The sources of settings', () => {
  test('have this precedence: command line, SVC_, KINTO_, platform, file, default.', () => {
    const lines = 'http_port = 1';
    const port = (environment: Record<string, string>, overrides: Record<string, string> = {}): number =>
      loadIni(lines, { environment, overrides }).get('http_port');
    expect(loadIni('').get('http_port')).toBe(8888);
    expect(port({})).toBe(1);
    expect(port({ PORT: '2' })).toBe(2);
    expect(port({ PORT: '2', KINTO_HTTP_PORT: '3' })).toBe(3);
    expect(port({ PORT: '2', KINTO_HTTP_PORT: '3', SVC_HTTP_PORT: '4' })).toBe(4);
    expect(port({ PORT: '2', KINTO_HTTP_PORT: '3', SVC_HTTP_PORT: '4' }, { http_port: '5' })).toBe(5);
  });

  test('read PORT and HOST, and no other variable without prefix.', () => {
    const settings = loadIni('', { environment: { PORT: '80', HOST: '0.0.0.0', READONLY: 'true' } });
    expect([settings.get('http_port'), settings.get('host'), settings.get('readonly')]).toEqual([80, '0.0.0.0', false]);
  });

  test('are skipped when their text or number is empty.', () => {
    const settings = loadIni('http_port = 1\nproject_name =', { environment: { SVC_HTTP_PORT: '' } });
    expect([settings.get('http_port'), settings.get('project_name')]).toEqual([1, 'Coffer']);
  });

  // Proves S-184.
  test('can set an empty list, which differs from an absent one.', () => {
    expect(loadIni('').get('multiauth.policies')).toEqual(['basicauth']);
    expect(loadIni('multiauth.policies =').get('multiauth.policies')).toEqual([]);
    expect(loadIni('', { environment: { SVC_MULTIAUTH_POLICIES: '' } }).get('multiauth.policies')).toEqual([]);
  });

  test('default to the name and pages of this software.', () => {
    const settings = loadIni('');
    expect(settings.get('project_name')).toBe('Coffer');
    for (const key of ['project_docs', 'error_info_link'] as const) expect(settings.get(key)).toBe(readHomepage());
    expect(readHomepage()).not.toContain('kinto');
  });

  test('can disable a limit with an empty text.', () => {
    const settings = loadIni('batch_max_requests =\ncors_max_age_seconds =\nstorage_backend =');
    expect(settings.get('batch_max_requests')).toBeUndefined();
    expect(settings.get('cors_max_age_seconds')).toBeUndefined();
    expect(settings.get('storage_backend')).toBeUndefined();
  });

  test('warn that Basic authentication is on when no policies are named.', () => {
    expect(loadIni('').warnings.join()).toContain('multiauth.policies is not set');
    expect(loadIni('multiauth.policies = basicauth').warnings).toEqual([]);
  });
});

describe('Prefixes', () => {
  // Proves S-001, S-264.
  test('svc. is optional, and kinto. is accepted with a warning.', () => {
    const settings = loadIni('svc.readonly = true\nkinto.paginate_by = 5\nkinto.project_name = x\nhttp_port = 7');
    expect([settings.get('readonly'), settings.get('paginate_by'), settings.get('http_port')]).toEqual([true, 5, 7]);
    expect(settings.warnings).toContain(
      'coffer.ini: 2 settings in a deprecated spelling (kinto.paginate_by, kinto.project_name). ' +
        'To print the whole file in current spelling: coffer init --from coffer.ini',
    );
  });

  test('are accepted before settings of other software.', () => {
    expect(loadIni('kinto.multiauth.policies = basicauth other').get('multiauth.policies')).toEqual([
      'basicauth',
      'other',
    ]);
  });

  test('must not have different values.', () => {
    const { message } = problemsOf(() => loadIni('svc.readonly = true\nkinto.readonly = false'));
    expect(message).toContain('kinto.readonly (coffer.ini line 4): conflicts with svc.readonly (coffer.ini line 3)');
  });

  test('may repeat the same value.', () => {
    expect(loadIni('svc.readonly = true\nreadonly = true').get('readonly')).toBe(true);
  });

  test('of deprecated environment variables cause a warning.', () => {
    const settings = loadIni('', { environment: { KINTO_READONLY: 'on' } });
    expect(settings.get('readonly')).toBe(true);
    expect(settings.warnings.join('\n')).toContain('KINTO_ are deprecated; use SVC_: KINTO_READONLY');
  });
});

describe('The secret of user ids', () => {
  // Proves S-189.
  test('has two equivalent names.', () => {
    expect(settingsOf({ user_hmac_secret: 'x' }).get('userid_hmac_secret')).toBe('x');
    expect(settingsOf({ userid_hmac_secret: 'x', user_hmac_secret: 'x' }).get('userid_hmac_secret')).toBe('x');
  });

  test('is refused when both names have different values, and not printed.', () => {
    const error = problemsOf(() => settingsOf({ userid_hmac_secret: 'amber-fox', user_hmac_secret: 'green-owl' }));
    expect(error.message).toContain('user_hmac_secret');
    expect(error.message).toContain('conflicts with userid_hmac_secret');
    expect(error.message).not.toMatch(/amber|green/);
  });

  test('in the environment overrides the other name in the file.', () => {
    const settings = loadIni('', { environment: { SVC_USER_HMAC_SECRET: 'theirs' } });
    expect(settings.get('userid_hmac_secret')).toBe('theirs');
  });

  test('is required for Basic authentication, whatever the name of the policy.', () => {
    expect(problemsOf(() => settingsOf({})).message).toContain('userid_hmac_secret: must be set');
    const renamed = {
      'multiauth.policies': 'simple',
      'multiauth.policy.simple.use': 'x.BasicAuthAuthenticationPolicy',
    };
    expect(problemsOf(() => settingsOf(renamed)).message).toContain('the policy simple');
    expect(settingsOf({ 'multiauth.policies': '' }).get('userid_hmac_secret')).toBe('');
    expect(settingsOf({ 'multiauth.policies': 'other' }).warnings).toContain('userid_hmac_secret is not set');
  });
});

describe('Names of existing deployments', () => {
  test('are accepted, with one log line about all of them.', () => {
    const settings = loadIni(
      [
        'kinto.storage_backend = kinto.core.storage.memory',
        'kinto.permission_backend = kinto.core.permission.memory',
        'kinto.cache_backend = kinto.core.cache.memory',
        'kinto.includes = kinto.plugins.default_bucket kinto_attachment',
        'kinto.record_id_generator = kinto.views.RelaxedUUID',
        'multiauth.policies = basicauth',
        'multiauth.groupfinder = kinto.core.authorization.groupfinder',
        'multiauth.authorization_policy = kinto.authorization.AuthorizationPolicy',
        'use = egg:kinto',
        'pyramid.debug_routematch = true',
        'storage_poolclass = kinto.core.storage.postgresql.pool.QueuePoolWithMaxBacklog',
        'storage_maxoverflow = 7',
      ].join('\n'),
    );
    expect(settings.get('storage_backend')).toBe('memory');
    expect(settings.get('storage_max_overflow')).toBe(7);
    expect(settings.get('includes')).toEqual(['default_bucket', 'attachments']);
    expect(settings.get('record_id_generator')).toBe('RelaxedUUID');
    expect(settings.warnings).toEqual([
      'coffer.ini: 5 settings in a deprecated spelling (kinto.storage_backend, kinto.permission_backend, ' +
        'kinto.cache_backend and 2 more). To print the whole file in current spelling: coffer init --from coffer.ini',
    ]);
    expect(unreadLines(settings)).toEqual([
      'storage_poolclass (coffer.ini line 13) has no effect: only one kind of connection pool exists',
    ]);
  });

  test('of missing backends are refused with a list of the existing ones.', () => {
    const { message } = problemsOf(() => loadIni('storage_backend = kinto.core.storage.cassandra'));
    expect(message).toContain(
      'storage_backend = "kinto.core.storage.cassandra" (coffer.ini line 3): expected one of memory, sqlite, postgresql, redis',
    );
  });

  test('of PostgreSQL databases are accepted, and other URLs are not.', () => {
    const url = 'postgresql+psycopg2://user:secret@db.example/kinto';
    const settings = loadIni(`storage_backend = kinto.core.storage.postgresql\nstorage_url = ${url}`);
    expect(settings.get('storage_backend')).toBe('postgresql');
    for (const wrong of ['', 'data/coffer.sqlite3', 'mysql://db.example/kinto', 'postgresql:']) {
      const { message } = problemsOf(() => loadIni(`storage_backend = postgresql\nstorage_url = ${wrong}`));
      expect(message).toContain('storage_url: expected postgresql://user:password@host:port/database');
    }
  });

  test('of Redis backends and servers are accepted, and other URLs are not.', () => {
    const names = { storage: 'kinto_redis.storage', permission: 'kinto_redis.permission', cache: 'kinto_redis.cache' };
    const lines = Object.entries(names).map(([kind, name]) => `${kind}_backend = ${name}`);
    const settings = loadIni(`${lines.join('\n')}\nstorage_url = redis://:secret@db.example:6379/2`);
    for (const kind of ['storage', 'permission', 'cache'] as const) {
      expect(settings.get(`${kind}_backend`)).toBe('redis');
    }
    for (const wrong of ['data/coffer.sqlite3', 'postgresql://db.example/kinto', 'redis://a,b']) {
      const { message } = problemsOf(() => loadIni(`storage_backend = redis\nstorage_url = ${wrong}`));
      expect(message).toContain('storage_url: expected redis://');
    }
  });

  test('of a memcached cache and its servers are accepted, for the cache only.', () => {
    const settings = loadIni('cache_backend = kinto.core.cache.memcached\ncache_hosts = cache.example:11212, [::1]');
    expect(settings.get('cache_backend')).toBe('memcached');
    expect(findMemcachedHosts(settings.read(memcachedSettings).cache_hosts)).toEqual([
      { host: 'cache.example', port: 11_212 },
      { host: '::1', port: 11_211 },
    ]);
    expect(findMemcachedHosts([])).toEqual([{ host: '127.0.0.1', port: 11_211 }]);
    for (const wrong of ['a:b', 'a:0', 'a:70000', 'memcached://a', '/tmp/socket', 'a:1 a:1', 'a a:11211']) {
      const { message } = problemsOf(() => loadIni(`cache_backend = memcached\ncache_hosts = ${wrong}`));
      expect(message).toContain('cache_hosts');
    }
    const { message } = problemsOf(() => loadIni('storage_backend = kinto.core.storage.memcached'));
    expect(message).toContain('expected one of memory, sqlite, postgresql, redis');
  });

  test('of other authorization policies are kept, to be resolved as plugins or modules.', () => {
    const settings = loadIni('multiauth.authorization_policy = our.own.AuthorizationPolicy');
    expect(settings.get('multiauth.authorization_policy')).toBe('our.own.AuthorizationPolicy');
  });
});

describe('Names outside the tables', () => {
  const environment = {
    SVC_SHOP_NEWS_RECORD_CACHE_EXPIRES_SECONDS: '30',
    SVC_RECORD_CREATE_PRINCIPALS: 'system.Everyone, basicauth:abc',
    SVC_MULTIAUTH_POLICY_OTHER_USE: 'x.Policy',
    SVC_PLURAL_BUCKET_DELETE_ENABLED: 'no',
    SVC_USER_DATA_DELETE_PRINCIPALS: 'basicauth:abc',
  };

  test('are found in the environment under the name computed from them.', () => {
    const settings = loadIni('', { environment });
    expect(settings.lookup('shop.news.record_cache_expires_seconds')).toBe('30');
    expect(settings.lookup('shop_news_record_cache_expires_seconds')).toBe('30');
    expect(settings.lookupWith(integer(), 'shop.news.record_cache_expires_seconds')).toBe(30);
    expect(settings.lookupList('record_create_principals')).toEqual(['system.Everyone', 'basicauth:abc']);
    expect(settings.lookup('multiauth.policy.other.use')).toBe('x.Policy');
    expect(settings.lookupFlag('plural_bucket_delete_enabled')).toBe(false);
    expect(settings.get('user-data_delete_principals')).toEqual(['basicauth:abc']);
    expect(unreadLines(settings)).toEqual([]);
  });

  test('are found in files, with every prefix, and the environment goes before them.', () => {
    const lines = 'svc.shop.record_cache_expires_seconds = 1\nkinto.shop.news.record_cache_expires_seconds = 2';
    const settings = loadIni(lines, { environment });
    expect(settings.lookup('shop.record_cache_expires_seconds')).toBe('1');
    expect(settings.lookup('shop.news.record_cache_expires_seconds')).toBe('30');
    expect(settings.keys()).toContain('shop.news.record_cache_expires_seconds');
  });

  test('are absent, set, or set empty.', () => {
    const settings = loadIni('bucket_write_principals =');
    expect(settings.lookup('bucket_write_principals')).toBe('');
    expect(settings.lookupList('bucket_write_principals')).toEqual([]);
    expect(settings.lookup('bucket_read_principals')).toBeUndefined();
    expect(settings.lookupList('bucket_read_principals')).toBeUndefined();
    expect(settings.lookup('__proto__')).toBeUndefined();
    expect(settings.lookup('constructor')).toBeUndefined();
  });

  test('have the default when a table contains them.', () => {
    const settings = loadIni('');
    expect(settings.lookupList('bucket_create_principals')).toEqual(['system.Authenticated']);
    expect(settings.lookup('record_id_generator')).toBe('RelaxedUUID');
    expect(settings.lookup('paginate_by')).toBeUndefined();
  });

  test('are checked at the start with all others.', () => {
    const bad = { SVC_RECORD_CACHE_EXPIRES_SECONDS: 'soon', SVC_HTTP_PORT: 'x' };
    const { problems } = problemsOf(() => loadIni('object_record_patch_enabled = perhaps', { environment: bad }));
    expect(new Set(problems.map(({ name }) => name))).toEqual(
      new Set(['SVC_HTTP_PORT', 'SVC_RECORD_CACHE_EXPIRES_SECONDS', 'object_record_patch_enabled']),
    );
    expect(problems).toHaveLength(3);
  });
});

describe('Unknown names', () => {
  test('are accepted with a line about the closest known name, without their values.', () => {
    const settings = loadIni('paginate_byy = 5\nmine.own_thing = hush', {
      environment: { SVC_REDONLY: 'true', SVC_INI: '' },
    });
    expect(unreadLines(settings)).toEqual([
      'unknown setting paginate_byy (coffer.ini line 3): did you mean paginate_by?',
      'unknown setting mine.own_thing (coffer.ini line 4)',
      'unknown setting SVC_REDONLY (environment): did you mean SVC_READONLY?',
    ]);
    expect(settings.lookup('mine.own_thing')).toBe('hush');
  });

  test('with the name of the product as a prefix are reported with the name that was meant.', () => {
    const environment = { COFFER_HTTP_PORT: '1', COFFER_PORT: '2', COFFER_CONTAINER: 'any' };
    const settings = loadIni('coffer.paginate_by = 5', { environment });
    expect(unreadLines(settings)).toEqual([
      'unknown setting coffer.paginate_by (coffer.ini line 3): did you mean paginate_by?',
    ]);
    expect(settings.warnings.filter((line) => line.includes('COFFER_'))).toEqual([
      'unknown setting COFFER_HTTP_PORT (environment): did you mean SVC_HTTP_PORT?',
      'unknown setting COFFER_PORT (environment): did you mean PORT?',
    ]);
  });

  test('that belong to a plugin that is not included are reported with its name.', () => {
    const settings = { 'mine.own_thing': setting(list(), 'A thing.', { default: [] }) };
    const given = loadIni('mine.own_thing = a', { environment: { SVC_MINE_OWN_THING: 'b' } });
    expect(unreadLines(given, [], [], [{ name: 'mine', settings }])).toEqual([
      'mine.own_thing (coffer.ini line 3) has no effect: it belongs to the plugin mine, which the setting includes does not name',
      'SVC_MINE_OWN_THING (environment) has no effect: it belongs to the plugin mine, which the setting includes does not name',
    ]);
  });

  test('are not those of plugin tables.', () => {
    const table = { 'mine.own_thing': setting(list(), 'A thing.', { default: [] }) };
    expect(unreadLines(loadIni('mine.own_thing = a b'), [table])).toEqual([]);
  });
});

describe('All problems', () => {
  test('are reported together, with name, value, position and expectation.', () => {
    const table = { 'mine.switch': setting(flag(), 'A switch.', { default: false }) };
    const lines = 'readonly = perhaps\nbatch_max_requests = many\ncors_max_age_seconds = -4\nmine.switch = 7';
    const error = problemsOf(() => loadIni(lines, { environment: { SVC_EOS: 'soon' }, tables: [table] }));
    expect(error.message.split('\n').toSorted()).toEqual(
      [
        '5 settings are wrong:',
        '  - readonly = "perhaps" (coffer.ini line 3): expected true or false',
        '  - batch_max_requests = "many" (coffer.ini line 4): expected a whole number, 0 or more',
        '  - cors_max_age_seconds = "-4" (coffer.ini line 5): expected a whole number, 0 or more',
        '  - SVC_EOS = "soon" (environment): expected a date such as 2027-12-31 or 2027-12-31T12:00:00Z',
        '  - mine.switch = "7" (coffer.ini line 6): expected true or false',
      ].toSorted(),
    );
  });

  test('never show secrets.', () => {
    const url = 'postgresql://admin:hunter2@db/x';
    const settings = { userid_hmac_secret: 'x', storage_backend: 'sqlite', storage_url: url, permission_url: url };
    const { message } = problemsOf(() => settingsOf(settings));
    expect(message).toContain('storage_url: expected a file');
    expect(message).not.toContain('hunter2');
    const loaded = settingsOf({ userid_hmac_secret: 'hunter2', 'multiauth.policy.x.client_secret': 'hunter2' });
    expect(problemsOf(() => loaded.lookupWith(integer(), 'multiauth.policy.x.client_secret')).message).not.toContain(
      'hunter2',
    );
    expect(JSON.stringify(loaded)).not.toContain('hunter2');
  });

  test('include those that a plugin finds when it reads its own table later.', () => {
    const table = {
      'mine.count': setting(integer({ min: 1 }), 'A count.', { default: 3 }),
      'mine.words': setting(list(), 'Words.', { default: [] }),
    };
    expect(loadIni('mine.words = a b').read(table)).toEqual({ 'mine.count': 3, 'mine.words': ['a', 'b'] });
    expect(problemsOf(() => loadIni('mine.count = 0').read(table)).message).toContain(
      'mine.count = "0" (coffer.ini line 3)',
    );
  });
});

describe('The configuration file', () => {
  test('is that of the command line, otherwise of the environment, otherwise a default one.', () => {
    const ini = (name: string): string => `project_name = ${name}\n`;
    const cwd = folderWith({ 'a.ini': ini('a'), 'b.ini': ini('b'), 'c.ini': ini('c'), 'config/coffer.ini': ini('d') });
    const name = (configFile: string | undefined, environment: Record<string, string>): string =>
      loadSettings({ cwd, configFile, environment: { ...secret, ...environment } }).get('project_name');
    expect(name('a.ini', { SVC_CONFIG: 'b.ini' })).toBe('a');
    expect(name(undefined, { SVC_CONFIG: 'b.ini', SVC_INI: 'c.ini' })).toBe('b');
    expect(name(undefined, { SVC_INI: 'c.ini' })).toBe('c');
    expect(name(undefined, { KINTO_INI: 'c.ini' })).toBe('c');
    expect(name(undefined, {})).toBe('d');
  });

  test('has its base name, its hash and its modification time in the settings.', () => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'my.ini');
    writeFileSync(path, 'readonly = true\n');
    utimesSync(path, new Date('2026-11-21T03:50:00.900Z'), new Date('2026-11-21T03:50:00.900Z'));
    expect(loadSettings({ cwd, configFile: path, environment: secret }).file).toEqual({
      name: 'my.ini',
      hash: createHash('sha256').update('readonly = true\n').digest('hex'),
      modified: '2026-11-21T03:50:00',
      secretPaths: [],
    });
  });

  test('must exist when it is named.', () => {
    const { message } = problemsOf(() =>
      loadSettings({ cwd: temporaryFolder(), configFile: 'no.ini', environment: {} }),
    );
    expect(message).toMatch(/no\.ini: the file does not exist/);
  });

  test('must be text.', () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'x.ini'), Buffer.from([0x61, 0x3d, 0xff]));
    expect(problemsOf(() => loadSettings({ cwd, configFile: 'x.ini', environment: {} })).message).toContain(
      'not UTF-8',
    );
  });

  test('has its settings in the first existing one of several sections.', () => {
    const load = (text: string): ReturnType<typeof loadSettings> =>
      loadSettings({ cwd: folderWith({ 'coffer.ini': text }), environment: secret });
    for (const section of ['app:main', 'main', 'coffer', 'svc', 'settings', 'app:kinto']) {
      expect(load(`[loggers]\nkeys = root\n\n[${section}]\nreadonly = true\n`).get('readonly')).toBe(true);
    }
    expect(load('readonly = true\n').get('readonly')).toBe(true);
    const both = load('[app:main]\nreadonly = true\n[coffer]\nreadonly = false\n');
    expect(both.get('readonly')).toBe(true);
    expect(both.warnings).toContain('coffer.ini: [coffer] is not read, because the settings are in [app:main]');
    expect(problemsOf(() => load('[handlers]\nx = 1\n')).message).toContain('expected [app:main]');
  });

  test('with settings in the section DEFAULT cause a warning, unless other values refer to them.', () => {
    const main = '[app:main]\nproject_name = %(shop)s\n';
    const load = (text: string): ReturnType<typeof loadSettings> =>
      loadSettings({ cwd: folderWith({ 'coffer.ini': text }), environment: secret });
    const settings = load(`[DEFAULT]\nshop = our %(kind)s\nkind = shop\nreadonly = true\npaginate_by = 5\n${main}`);
    expect(settings.get('project_name')).toBe('our shop');
    expect(settings.get('readonly')).toBe(false);
    expect(settings.warnings).toContain(
      'coffer.ini: [DEFAULT] is not read, except where a value refers to it, so these have no effect: readonly, paginate_by',
    );
    expect(load(`[DEFAULT]\nshop = ours\n${main}`).warnings.join()).not.toContain('DEFAULT');
  });

  test('can refer to its folder, to other values, and to those of the section DEFAULT.', () => {
    const text =
      '[DEFAULT]\nroot = %(here)s/var\n[app:main]\nstorage_url = %(root)s/%(project_name)s.db\nproject_name = shop\n';
    const cwd = folderWith({ 'coffer.ini': text });
    expect(loadSettings({ cwd, environment: secret }).get('storage_url')).toBe(join(cwd, 'var/shop.db'));
    const { message } = problemsOf(() => loadIni('project_name = %(missing)s'));
    expect(message).toContain('project_name (coffer.ini line 3): %(missing)s refers to missing');
  });

  test('can have port and host of another web server, which apply when no other source sets them.', () => {
    const server = '\n[server:main]\nuse = egg:waitress#main\nhost = 0.0.0.0\nport = 9000\n';
    expect([loadIni(server).get('http_port'), loadIni(server).get('host')]).toEqual([9000, '0.0.0.0']);
    expect(loadIni(`http_port = 1${server}`).get('http_port')).toBe(1);
    expect(loadIni('\n[server:main]\nport = %(http_port)s\n').get('http_port')).toBe(8888);
  });

  test('may be TOML, flat or nested, with or without a table around everything.', () => {
    const flat = 'readonly = true\npaginate_by = 5\n"multiauth.policies" = ["a", "b"]\n';
    const nested = '[coffer]\nreadonly = true\npaginate_by = 5\n[coffer.multiauth]\npolicies = ["a", "b"]\n';
    for (const text of [flat, nested]) {
      const settings = loadSettings({ cwd: folderWith({ 'coffer.toml': text }), environment: secret });
      expect([settings.get('readonly'), settings.get('paginate_by')]).toEqual([true, 5]);
      expect(settings.get('multiauth.policies')).toEqual(['a', 'b']);
    }
  });

  test('in TOML keeps texts as they are, and dates.', () => {
    const text =
      'eos = 2027-12-31\nproject_name = "null"\neos_message = "\\"said\\" "\ncache_prefix = " x "\nbackoff_percentage = 12.5';
    const settings = loadSettings({ cwd: folderWith({ 'coffer.toml': text }), environment: secret });
    expect(settings.get('eos')?.time).toBe(Date.UTC(2027, 11, 31));
    expect(settings.get('project_name')).toBe('null');
    expect(settings.get('eos_message')).toBe('"said" ');
    expect(settings.get('cache_prefix')).toBe(' x ');
    expect(settings.get('backoff_percentage')).toBe(12.5);
  });

  test('in TOML is refused with the line of a mistake and without quoting the file, which may hold secrets.', () => {
    const cwd = folderWith({ 'coffer.toml': 'readonly = true\nuserid_hmac_secret = hunter2\n' });
    const { message } = problemsOf(() => loadSettings({ cwd, environment: {} }));
    expect(message).toContain('coffer.toml line 2');
    expect(message).not.toContain('hunter2');
  });

  test('in INI is refused with the numbers of all wrong lines, without quoting them.', () => {
    const { message } = problemsOf(() => loadIni('hunter2\nreadonly = true\nreadonly = false'));
    expect(message).toContain('coffer.ini line 3: expected key = value');
    expect(message).toContain('coffer.ini line 5: readonly is already set in line 4');
    expect(message).not.toContain('hunter2');
  });
});

test('The root view gets the public settings and no others.', () => {
  expect(loadIni('readonly = true').public).toEqual({
    readonly: true,
    explicit_permissions: true,
    batch_max_requests: 25,
  });
});
