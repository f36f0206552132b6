// Starting without configuration, and what `coffer init` writes.
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentName, formatValue, type SettingsTable } from '../../src/settings/definition.ts';
import { builtInNames, loadAllBuiltIn } from '../../src/app/built-in-plugins.ts';
import { formatPolicyReference } from '../reference/policies-page.ts';
import { formatReference } from '../reference/settings-page.ts';
import { personalBucketSecret } from '../../src/plugins/default-bucket/personal-bucket.ts';
import { loadSettings } from '../../src/backends/load-settings.ts';
import { pluginDescriptions } from '../../src/settings/template.ts';
import { readOrCreateSecret } from '../../src/settings/profile.ts';
import { findSqliteFile } from '../../src/backends/sqlite/database-path.ts';
import { coreSettings, coreSettingsFor, tablesOfBackends, type CoreValues } from '../../src/settings/table.ts';
import { builtInBackends } from '../../src/backends/built-in-backends.ts';
import { formatTemplate, type TemplateChoices } from '../../src/settings/template.ts';
import { folderWith, problemsOf, temporaryFolder } from './helpers.ts';
import { unreadLines } from '../support/unread-settings.ts';

describe('Without configuration', () => {
  test('the profile is durable, closed to other machines, and open to authenticated callers.', () => {
    const settings = loadSettings({ cwd: temporaryFolder(), environment: {} });
    expect(settings.isZeroConfig).toBe(true);
    expect(settings.file).toBeNull();
    expect(settings.values).toMatchObject({
      storage_backend: 'sqlite',
      permission_backend: 'sqlite',
      'multiauth.policies': ['basicauth'],
      includes: ['default_bucket', 'history', 'admin', 'operations'],
      bucket_create_principals: ['system.Authenticated'],
      flush_endpoint_enabled: false,
      host: '127.0.0.1',
    });
    expect(settings.lookup('sqlite_synchronous')).toBe('FULL');
    expect(settings.warnings).toEqual([]);
    expect(unreadLines(settings)).toEqual([]);
  });

  test('every user is an operator on an address of this machine, and none is on other addresses.', () => {
    const operators = (environment: Record<string, string>, overrides: Record<string, string> = {}): unknown[] => {
      const settings = loadSettings({ cwd: temporaryFolder(), environment, overrides });
      return ['read', 'write'].map((right) => settings.lookupList(`operations_${right}_principals`));
    };
    const everyone = [['system.Authenticated'], ['system.Authenticated']];
    const none = [undefined, undefined];
    expect(operators({})).toEqual(everyone);
    expect(operators({}, { host: 'localhost' })).toEqual(everyone);
    expect(operators({ SVC_HOST: '0.0.0.0' })).toEqual(none);
    expect(operators({ HOST: '::' })).toEqual(none);
    expect(operators({}, { host: '192.0.2.7' })).toEqual(none);
    expect(operators({ SVC_HOST: '0.0.0.0' }, { host: '127.0.0.1' })).toEqual(everyone);
  });

  test('the secret is created once, for the owner only, and reused at the next start.', () => {
    const cwd = temporaryFolder();
    const first = loadSettings({ cwd, environment: {} }).get('userid_hmac_secret');
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(loadSettings({ cwd, environment: {} }).get('userid_hmac_secret')).toBe(first);
    expect(statSync(join(cwd, 'data')).mode & 0o777).toBe(0o700);
    expect(statSync(join(cwd, 'data/secret')).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(cwd, 'data'))).toEqual(['secret']);
  });

  test('the environment overrides the profile, and a secret there means that none is created.', () => {
    const cwd = temporaryFolder();
    const environment = { SVC_STORAGE_BACKEND: 'memory', SVC_USER_HMAC_SECRET: 'given', SVC_INCLUDES: '' };
    const settings = loadSettings({ cwd, environment });
    expect([settings.get('storage_backend'), settings.get('permission_backend')]).toEqual(['memory', 'sqlite']);
    expect(settings.get('userid_hmac_secret')).toBe('given');
    expect(settings.get('includes')).toEqual([]);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  test('a file, even an empty one, disables the profile.', () => {
    const cwd = folderWith({ 'empty.ini': '' });
    const environment = { SVC_USER_HMAC_SECRET: 'given' };
    const settings = loadSettings({ cwd, configFile: 'empty.ini', environment });
    expect(settings.isZeroConfig).toBe(false);
    expect([settings.get('storage_backend'), settings.get('includes')]).toEqual(['memory', []]);
    expect(settings.file?.name).toBe('empty.ini');
  });

  test('a secret that others can read is protected again, and a malformed one is not replaced.', () => {
    const folder = temporaryFolder();
    const secret = readOrCreateSecret(folder);
    chmodSync(join(folder, 'secret'), 0o644);
    expect(readOrCreateSecret(folder)).toBe(secret);
    expect(statSync(join(folder, 'secret')).mode & 0o777).toBe(0o600);
    writeFileSync(join(folder, 'secret'), '');
    expect(problemsOf(() => readOrCreateSecret(folder)).message).toContain('does not contain a secret');
  });

  test('a folder that cannot store the secret is reported, with a remedy.', () => {
    const folder = folderWith({ data: 'a file where the folder should be' });
    expect(problemsOf(() => loadSettings({ cwd: folder, environment: {} })).message).toContain(
      'set SVC_USERID_HMAC_SECRET',
    );
  });
});

describe('The configuration file that init writes', () => {
  const choices: TemplateChoices = {
    format: 'ini',
    backends: builtInBackends,
    backend: 'sqlite',
    cacheBackend: 'memory',
    host: '127.0.0.1',
    port: 8000,
  };

  test.each(['ini', 'toml'] as const)('loads back cleanly as %s.', (format) => {
    const cwd = folderWith({ [`coffer.${format}`]: formatTemplate({ ...choices, format }) });
    const settings = loadSettings({ cwd, environment: {} });
    expect(settings.warnings).toEqual([]);
    expect(unreadLines(settings)).toEqual([]);
    expect(settings.values).toMatchObject({
      storage_backend: 'sqlite',
      cache_backend: 'memory',
      includes: ['default_bucket', 'history', 'admin', 'operations'],
      host: '127.0.0.1',
      http_port: 8000,
      flush_endpoint_enabled: false,
    });
    const secrets = [settings.get('userid_hmac_secret'), settings.get('default_bucket_hmac_secret')];
    expect(new Set(secrets).size).toBe(2);
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
  });

  test.each(['ini', 'toml'] as const)(
    'loads with the settings in its comments as %s, so the defaults in them are right.',
    (format) => {
      const text = formatTemplate({ ...choices, format });
      const commented = [...text.matchAll(/^# (?="?[a-z][\w.-]*"? =)(.*?) =/gm)].map(([, key = '']) =>
        key.replaceAll('"', ''),
      );
      expect(commented).toContain('readonly');
      const bare = text.replaceAll(/^# (?="?[a-z][\w.-]*"? =)/gm, '');
      const settings = loadSettings({ cwd: folderWith({ [`coffer.${format}`]: bare }), environment: {} });
      expect(unreadLines(settings)).toEqual([]);
      for (const key of commented) {
        const name = key as keyof CoreValues;
        expect([key, settings.values[name]]).toEqual([key, coreSettings[name].default]);
      }
    },
  );

  test('is short, with a reference to all other settings.', () => {
    const text = formatTemplate(choices);
    expect(text.split('\n').length).toBeLessThan(120);
    expect(text.match(/^(?:# )?[a-z][\w.-]* =/gm)!.length).toBeLessThan(25);
    expect(text).toContain('docs/reference/settings.md');
    expect(existsSync(new URL('../../docs/reference/settings.md', import.meta.url))).toBe(true);
  });

  test('names every plugin with a sentence.', () => {
    expect(Object.keys(pluginDescriptions).toSorted()).toEqual(builtInNames.toSorted());
    const text = formatTemplate(choices);
    for (const [name, sentence] of Object.entries(pluginDescriptions)) {
      expect(sentence).toMatch(/^[A-Z].*\.$/);
      expect(text).toMatch(new RegExp(`^#   ${name} +${sentence.slice(0, 10)}`, 'm'));
    }
  });

  test.each(['memory', 'sqlite', 'postgresql', 'redis'] as const)('names the backends and places of %s.', (backend) => {
    const text = formatTemplate({ ...choices, backend, cacheBackend: backend });
    const settings = loadSettings({ cwd: folderWith({ 'coffer.ini': text }), environment: {} });
    for (const kind of ['storage', 'permission', 'cache'] as const) {
      expect(text).toMatch(new RegExp(`^${kind}_backend = ${backend}$`, 'm'));
      expect(settings.get(`${kind}_backend`)).toBe(backend);
      expect(settings.get(`${kind}_url`) !== undefined).toBe(backend !== 'memory');
    }
    expect(text.includes('# workers = 1')).toBe(backend === 'postgresql' || backend === 'redis');
  });

  test('keeps a given secret, for user ids and for personal buckets.', () => {
    const text = formatTemplate({ ...choices, secret: 'the secret of existing data' });
    const settings = loadSettings({ cwd: folderWith({ 'coffer.ini': text }), environment: {} });
    expect(settings.get('userid_hmac_secret')).toBe('the secret of existing data');
    expect(personalBucketSecret(settings)).toBe('the secret of existing data');
  });

  test('has other secrets each time.', () => {
    expect(formatTemplate(choices)).not.toBe(formatTemplate(choices));
  });
});

const plugins = await loadAllBuiltIn();
const allSettings: SettingsTable = Object.assign(
  {},
  coreSettingsFor(builtInBackends),
  ...tablesOfBackends(builtInBackends),
  ...plugins.map(({ settings }) => settings),
);

describe('The table', () => {
  test('has defaults that its own readers accept.', () => {
    for (const [key, { reader, default: byDefault }] of Object.entries(allSettings)) {
      const written = formatValue(byDefault);
      if (written !== '') expect([key, reader.read(written)]).toEqual([key, { kind: 'value', value: byDefault }]);
    }
  });

  test('has an environment name of its own for each setting, and a sentence.', () => {
    const entries = Object.entries(allSettings);
    expect(new Set(entries.map(([key]) => environmentName(key))).size).toBe(entries.length);
    for (const [key, row] of entries) expect([key, row.sentence]).toEqual([key, expect.stringMatching(/^[A-Z].*\.$/)]);
  });

  test('matches the reference page: run "node scripts/write-docs.mjs" after a change.', async () => {
    const page = readFileSync(new URL('../../docs/reference/settings.md', import.meta.url), 'utf8');
    expect(page).toBe(await formatReference());
  });

  test('matches the page about the parameters of policies: run "node scripts/write-docs.mjs" after a change.', () => {
    const page = readFileSync(new URL('../../docs/reference/policies.md', import.meta.url), 'utf8');
    expect(page).toBe(formatPolicyReference());
  });
});

describe('The file of a SQLite backend', () => {
  test.each([
    [undefined, '/srv/data/coffer.sqlite3'],
    ['', '/srv/data/coffer.sqlite3'],
    ['x.db', '/srv/x.db'],
    ['/var/x.db', '/var/x.db'],
    ['sqlite:var/x.db', '/srv/var/x.db'],
    ['sqlite:///var/my%20store.db', '/var/my store.db'],
    ['sqlite:////var/x.db', '/var/x.db'],
    ['sqlite://host/x.db', undefined],
    ['sqlite:', undefined],
    ['sqlite:///', undefined],
    ['sqlite:%zz', undefined],
    ['postgresql://db/x', undefined],
    [':memory:', undefined],
  ])('named %j is %j.', (url, expected) => {
    expect(findSqliteFile(url, '/srv')).toBe(expected);
  });
});
