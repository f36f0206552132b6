// `coffer check`: what it finds, that it changes nothing, and how it ends.
import { randomUUID } from 'node:crypto';
import { chmodSync, readdirSync, rmSync, writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { postgresqlSettings } from '../support/backends.ts';
import { cloneDatabase, newDatabase } from '../support/postgresql.ts';
import { run, start, workingFolder, type Outcome } from './process.ts';
import { requireRedisUrl } from '../support/redis.ts';

const secret = 'a secret that is long enough for tests';

/** A configuration that there is nothing to say about. */
const sound = {
  'multiauth.policies': 'basicauth',
  userid_hmac_secret: secret,
  storage_backend: 'sqlite',
  permission_backend: 'sqlite',
  allowed_hosts: 'loopback',
};

/** Writes a configuration and returns its folder. */
function configured(settings: Readonly<Record<string, string>>, name: string): string {
  const cwd = workingFolder();
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`);
  writeFileSync(join(cwd, name), `[app:main]\n${lines.join('\n')}\n`, { mode: 0o600 });
  return cwd;
}

async function check(settings: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Outcome> {
  return run(['check', ...args], { cwd: configured(settings, 'coffer.ini') });
}

describe('coffer check', () => {
  test('accepts a start without configuration, and writes nothing.', async () => {
    const cwd = workingFolder();
    const { code, out, err } = await run(['check', '--strict'], { cwd });
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('The service would start.');
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('finds no problems in the data of a running service.', async () => {
    const cwd = workingFolder();
    const service = await start([], { cwd, environment: { SVC_LOG_FORMAT: 'json' } });
    const before = readdirSync(join(cwd, 'data'));
    const { code, out, err } = await run(['check'], { cwd });
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/storage: sqlite answers/);
    expect(readdirSync(join(cwd, 'data'))).toEqual(before);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test.skipIf(process.platform === 'win32')(
    'warns about each configuration file with secrets that all users can read.',
    async () => {
      const { userid_hmac_secret: hidden, ...open } = sound;
      const cwd = configured({ ...open, use: 'config:secrets.ini' }, 'coffer.ini');
      const first = join(cwd, 'coffer.ini');
      const used = join(cwd, 'secrets.ini');
      writeFileSync(used, `[app:main]\nuserid_hmac_secret = ${hidden}\n`);
      chmodSync(first, 0o644);
      chmodSync(used, 0o644);
      const { code, err } = await run(['check'], { cwd });
      expect([code, err]).toEqual([
        0,
        `warning  ${used} contains secrets and is readable by all users. Run: chmod 600 ${used}\n`,
      ]);
      chmodSync(used, 0o600);
      expect(await run(['check', '--strict'], { cwd })).toMatchObject({ code: 0, err: '' });
    },
  );

  test('gives the reason of a missing package once.', async () => {
    const { code, err } = await check({ ...sound, storage_backend: 'bogus' });
    expect(code).toBe(1);
    expect(err.match(/No package bogus was found/g)).toHaveLength(1);
  });

  test('reports all problems at once, and exits with 1.', async () => {
    const { code, err } = await check({
      ...sound,
      includes: 'default_bucket nonsense',
      storage_url: 'postgresql://user:hunter2@127.0.0.1:1/db',
      storage_backend: 'postgresql',
      cache_backend: 'redis',
      cache_url: 'redis://:hunter2@127.0.0.1:1/0',
    });
    expect(code).toBe(1);
    expect(err).toMatch(/^problem +includes names nonsense/m);
    expect(err).toMatch(/^problem +storage: postgresql.*ECONNREFUSED/m);
    expect(err).toMatch(/^problem +storage: postgresql: PostgreSQL at 127\.0\.0\.1:1: /m);
    expect(err).toMatch(/^problem +cache: redis: Redis at 127\.0\.0\.1:1: /m);
    expect(err).toContain('the service would not start');
    expect(err).not.toContain('hunter2');
    const shared = { storage_backend: 'postgresql', storage_url: 'postgresql://user@127.0.0.1:1/db' };
    const unreachable = await check({
      ...sound,
      ...shared,
      permission_backend: 'postgresql',
      permission_url: shared.storage_url,
    });
    expect(unreachable.err).toMatch(/^problem +permission: postgresql, as above$/m);
    expect(unreachable.out).not.toContain('permission:');
    const wrong = await check({ ...sound, paginate_by: 'many', storage_backend: 'some paper', userid_hmac_secret: '' });
    expect([wrong.code, wrong.err.match(/^problem /gm)]).toEqual([1, Array.from({ length: 3 }, () => 'problem ')]);
  });

  test.each([
    ['a malformed URL of a backend', { storage_url: 'sqlite://' }, 'storage_url: expected a file'],
    [
      'a malformed list that a check of risks reads',
      { host: '0.0.0.0', includes: 'operations', operations_read_principals: '["account:a"' },
      'operations_read_principals = ',
    ],
  ])('goes on with the other checks after %s.', async (_, settings, problem) => {
    const { code, out, err } = await check({ ...sound, ...settings, 'multiauth.policies': 'basicauth ldap' });
    expect(code).toBe(1);
    for (const text of [problem, 'multiauth.policies names ldap']) expect(err).toContain(`problem  ${text}`);
    expect(err).toContain('the service would not start.');
    expect(out).not.toContain('wrong:');
    expect(err).not.toContain('wrong:');
  });

  test('finds policies and plugin settings that prevent the start.', async () => {
    const policy = await check({ ...sound, 'multiauth.policies': 'basicauth ldap' });
    expect([policy.code, policy.err]).toEqual([1, expect.stringMatching(/^problem +multiauth\.policies names ldap/m)]);
    const plugin = await check({ ...sound, includes: 'statsd' });
    expect([plugin.code, plugin.err]).toEqual([1, expect.stringContaining('statsd_url')]);
    const folder = await check({ ...sound, storage_url: 'coffer.ini/data.sqlite3' });
    expect([folder.code, folder.err]).toEqual([1, expect.stringMatching(/cannot be written/)]);
  });

  test.each([
    ['a memory backend', { storage_backend: 'memory' }, 'storage_backend is memory'],
    ['an address for all networks', { host: '0.0.0.0' }, 'no setting shows that a proxy adds TLS'],
    ['metrics for all networks', { host: '::', includes: 'prometheus', http_scheme: 'https' }, '/__metrics__'],
    ['names of foreign pages', { allowed_hosts: '*' }, 'DNS rebinding'],
    [
      'an address that no name leads to',
      { host: '0.0.0.0', http_scheme: 'https' },
      'requests from other machines get 421',
    ],
    ['the flush endpoint', { includes: 'flush' }, 'delete all data'],
    ['a short secret', { userid_hmac_secret: 'short' }, 'userid_hmac_secret is short'],
    [
      'an empty secret',
      { userid_hmac_secret: '', userid_hmac_legacy_empty: 'true' },
      'INSECURE: userid_hmac_legacy_empty',
    ],
    ['buckets by strangers', { bucket_create_principals: 'system.Everyone' }, 'system.Everyone'],
    ['a file that may break', { sqlite_synchronous: 'OFF' }, 'sqlite_synchronous is OFF'],
    ['a misspelt name', { paginate_bi: '3' }, 'did you mean paginate_by'],
  ])('warns of %s, and exits with 4 only with --strict.', async (_, settings, sentence) => {
    const { code, err } = await check({ ...sound, ...settings }, '--strict', '--quiet');
    expect(err).toMatch(/^warning /m);
    expect(err).toContain(sentence);
    expect(err).not.toContain('problem');
    expect(code).toBe(4);
  });

  test('prints nothing with --quiet when all is well, and exits with 0 despite warnings.', async () => {
    expect(await check(sound, '--quiet', '--strict')).toEqual({ code: 0, out: '', err: '' });
    const { code, out } = await check({ ...sound, storage_backend: 'memory' });
    expect([code, out]).toEqual([0, expect.stringContaining('1 warning.')]);
  });

  test('exits with 3 while migrations are pending, and with 0 once they are done.', async () => {
    const empty = await newDatabase();
    onTestFinished(empty.drop);
    const pending = await check({ ...sound, ...postgresqlSettings(empty.url) });
    expect([pending.code, pending.err]).toEqual([3, expect.stringMatching(/^pending +storage: postgresql/m)]);
    expect(pending.err).toContain('coffer migrate');
    const ready = await cloneDatabase();
    onTestFinished(ready.drop);
    const { code, out } = await check({ ...sound, ...postgresqlSettings(ready.url) }, '--strict');
    expect([code, out]).toEqual([0, expect.stringMatching(/storage: postgresql answers/)]);
  });

  test('includes the named configuration file in the command to run.', async () => {
    const empty = await newDatabase();
    onTestFinished(empty.drop);
    const cwd = configured({ ...sound, ...postgresqlSettings(empty.url) }, 'my own.ini');
    const command = "`coffer migrate --config 'my own.ini'`";
    const checked = await run(['check', '--config', 'my own.ini'], { cwd });
    expect([checked.code, checked.err]).toEqual([3, expect.stringContaining(`run ${command} first`)]);
    const started = await run(['start', '--config', 'my own.ini'], { cwd });
    expect([started.code, started.err]).toEqual([
      1,
      expect.stringContaining(`The database is not ready: run ${command}.`),
    ]);
    const named = await run(['flush-cache'], { cwd, environment: { SVC_CONFIG: 'my own.ini' } });
    expect([named.code, named.err]).toEqual([1, expect.stringContaining(`run ${command}.`)]);
  });

  test('describes in a sentence the effect of a start on an empty Redis database.', async () => {
    const redis = {
      storage_backend: 'redis',
      permission_backend: 'redis',
      storage_url: requireRedisUrl(),
      permission_url: requireRedisUrl(),
      redis_prefix: `check-${randomUUID()}:`,
    };
    const { code, out } = await check({ ...sound, ...redis });
    expect(code).toBe(0);
    const sentence = 'the start will mark the empty database as one of this service (Redis layout, version 3)';
    expect(out).toContain(`ok       storage: redis: ${sentence}\n`);
  });

  test('exits with 3 when only the tables of security state are missing.', async () => {
    const older = await cloneDatabase();
    onTestFinished(older.drop);
    const client = new pg.Client(older.url);
    await client.connect();
    await client.query('DROP TABLE coffer_security_state, coffer_security_counts');
    await client.query("DELETE FROM coffer_versions WHERE component = 'security'");
    await client.end();
    const { code, err } = await check({ ...sound, ...postgresqlSettings(older.url) });
    expect([code, err]).toEqual([3, expect.stringMatching(/^pending +security state: postgresql/m)]);
  });

  test('warns of principals that name nothing, in the requested number of objects.', async () => {
    const cwd = workingFolder();
    const database = join(cwd, 'data', 'coffer.sqlite3');
    const service = await start([], { cwd, environment: { SVC_LOG_FORMAT: 'json' } });
    const put = (path: string, body: object): Promise<Response> =>
      fetch(`${service.url}${path}`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json', Authorization: `Basic ${btoa('ann:secret')}` },
        body: JSON.stringify(body),
      });
    expect((await put('buckets/b', { permissions: { read: ['alice', '/buckets/b/groups/gone'] } })).status).toBe(201);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    const settings = { ...sound, storage_url: database, permission_url: database };
    const other = await check(settings);
    expect(other.err).toMatch(/^warning +The data was written with another userid_hmac_secret/m);
    expect(other.err).toMatch(/^warning +permissions: the principal "alice"/m);
    settings.userid_hmac_secret = readFileSync(join(cwd, 'data', 'secret'), 'utf8').trim();
    const strict = await check(settings, '--strict');
    expect(strict.code).toBe(4);
    expect(strict.err).toMatch(/^warning +permissions: the principal "alice" in the permission read of \/buckets\/b /m);
    expect(strict.err).toMatch(/^warning +permissions: the principal "\/buckets\/b\/groups\/gone" .* does not exist$/m);
    expect(strict.out).toMatch(/^ok +permissions: not all principals name something \(2 objects and users checked\)$/m);
    expect(await check(settings, '--max-objects', '0', '--strict', '--quiet')).toEqual({ code: 0, out: '', err: '' });
    expect((await check(settings, '--max-objects', 'all')).code).toBe(2);
  });

  test('reports a damaged file of security state.', async () => {
    const folder = workingFolder();
    const database = join(folder, 'data', 'coffer.sqlite3');
    const service = await start([], { cwd: folder });
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    // All pages may be in the log still, from where SQLite reads them.
    for (const end of ['-wal', '-shm']) rmSync(join(folder, 'data', `coffer-security.sqlite3${end}`), { force: true });
    writeFileSync(join(folder, 'data', 'coffer-security.sqlite3'), 'no database'.repeat(1000));
    const { code, err } = await check({ ...sound, storage_url: database, permission_url: database });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /^problem +security state: .*-security.sqlite3: .*not a SQLite database; .*delete the file/m,
      ),
    ]);
  });
});
