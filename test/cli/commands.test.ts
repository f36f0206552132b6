// Commands that need no service: help, version, init, and what a wrong command line or configuration says.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { memcachedSettings } from '../../src/backends/memcached/index.ts';
import { loadSettings } from '../../src/backends/load-settings.ts';
import { readVersion } from '../../src/settings/version.ts';
import { run, workingFolder } from './process.ts';

const commands = [
  'start',
  'init',
  'check',
  'migrate',
  'version',
  'flush-cache',
  'purge-deleted',
  'delete-collection',
  'attachments-clean',
  'copy',
  'resync',
  'rebuild-quotas',
  'create-user',
  'send-email',
  'webhooks',
  'types',
];

describe('Help', () => {
  test('of the program lists every command, with examples.', async () => {
    const { code, out, err } = await run(['--help'], { cwd: workingFolder() });
    expect([code, err]).toEqual([0, '']);
    for (const command of commands) expect(out).toMatch(new RegExp(`^  ${command} `, 'm'));
    expect(out).toContain('Examples:');
  });

  test.each(commands)('of %s lists its options, including the common ones.', async (command) => {
    const { code, out } = await run([command, '--help'], { cwd: workingFolder() });
    expect(code).toBe(0);
    for (const option of ['--config', '--ini', '--quiet', '--debug', '--help']) expect(out).toContain(option);
    expect(out).toContain('config/coffer.ini');
  });

  test('of a topic is the help of that command.', async () => {
    const { code, out, err } = await run(['help', 'purge-deleted'], { cwd: workingFolder() });
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('<kind...> <max-retained>');
    expect(out).not.toContain('words');
  });
});

test.each([['version'], ['--version']])('%s prints the version.', async (command) => {
  expect(await run([command], { cwd: workingFolder() })).toEqual({ code: 0, out: `${readVersion()}\n`, err: '' });
});

describe('A wrong command line', () => {
  test.each([
    [['strat'], 'Did you mean start?'],
    [['start', '--prot', '80'], 'Did you mean --port?'],
    [['start', '--port', '70000'], '0 to 65535'],
    [['delete-collection', '--bucket', 'x'], '--collection'],
    [['help', 'settings'], "unknown command 'settings'"],
    [['types'], "'url'"],
    [['types', 'http://127.0.0.1:1/v1/buckets/x'], 'expected the address of a collection'],
    [['types', 'http://a:b@127.0.0.1:1/v1/buckets/x/collections/y'], 'use --auth'],
    [['types', 'http://127.0.0.1:1/v1/buckets/x/collections/y', '--name', 'a b'], 'letters and digits'],
    [['purge-deleted', 'record'], 'the number of tombstones'],
    [['purge-deleted', 'record', 'many'], 'the number of tombstones'],
    [['init', '--backend', 'paper'], 'sqlite, postgresql, redis, memory'],
    [[], 'Usage:'],
  ])('%j exits with 2 and reports the expected form.', async (args, message) => {
    const { code, out, err } = await run(args, { cwd: workingFolder() });
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(message);
  });
});

describe('coffer init', () => {
  test('writes a configuration that only its owner can read, and that starts the service.', async () => {
    const cwd = workingFolder();
    const { code, out } = await run(['init'], { cwd });
    expect(code).toBe(0);
    expect(out).toContain('coffer start --config config/coffer.ini');
    expect(statSync(join(cwd, 'config/coffer.ini')).mode & 0o777).toBe(0o600);
    const settings = loadSettings({ cwd, environment: {} });
    expect(settings.file?.name).toBe('coffer.ini');
    expect([settings.get('storage_backend'), settings.get('host')]).toEqual(['sqlite', '127.0.0.1']);
  });

  test('accepts options, and writes TOML to a file with that extension.', async () => {
    const cwd = workingFolder();
    const args = [
      'init',
      '--config',
      'my.toml',
      '--backend',
      'memory',
      '--cache-backend',
      'memory',
      '--host',
      '0.0.0.0',
    ];
    expect((await run(args, { cwd })).code).toBe(0);
    const settings = loadSettings({ cwd, configFile: 'my.toml', environment: {} });
    expect([settings.get('storage_backend'), settings.get('host')]).toEqual(['memory', '0.0.0.0']);
  });

  test('writes the server of a memcached cache.', async () => {
    const cwd = workingFolder();
    expect((await run(['init', '--cache-backend', 'memcached'], { cwd })).code).toBe(0);
    const settings = loadSettings({ cwd, environment: {} });
    expect([settings.get('cache_backend'), settings.read(memcachedSettings).cache_hosts]).toEqual([
      'memcached',
      ['127.0.0.1:11211'],
    ]);
  });

  test('writes to the file named by the environment.', async () => {
    const cwd = workingFolder();
    expect((await run(['init'], { cwd, environment: { SVC_INI: 'there.ini' } })).code).toBe(0);
    expect(readFileSync(join(cwd, 'there.ini'), 'utf8')).toContain('[app:main]');
  });

  test('never replaces a file.', async () => {
    const cwd = workingFolder();
    writeFileSync(join(cwd, 'mine.ini'), 'precious');
    const { code, err } = await run(['init', '--ini', 'mine.ini'], { cwd });
    expect(code).toBe(1);
    expect(err).toContain('mine.ini exists already');
    expect(readFileSync(join(cwd, 'mine.ini'), 'utf8')).toBe('precious');
  });
});

describe('Wrong settings', () => {
  test('prevent the start with one readable report and no stack.', async () => {
    const cwd = workingFolder();
    writeFileSync(
      join(cwd, 'bad.ini'),
      '[app:main]\nreadonly = perhaps\npaginate_by = 0\nuserid_hmac_secret = hunter2\n',
    );
    const environment = { SVC_EOS: 'soon', SVC_USER_HMAC_SECRET: 'hunter3' };
    const { code, out, err } = await run(['start', '--config', 'bad.ini'], { cwd, environment });
    expect([code, out]).toEqual([1, '']);
    expect(err.trimEnd().split('\n')).toHaveLength(4);
    expect(err).toContain('3 settings are wrong:');
    expect(err).not.toMatch(/hunter|\bat .*\.js/);
  });

  test('include a missing file.', async () => {
    const { code, err } = await run(['migrate', '--config', 'nowhere.ini'], { cwd: workingFolder() });
    expect(code).toBe(1);
    expect(err).toContain('the file does not exist');
  });
});
