// The first minutes with the program: what a terminal shows, a configuration file after a first run, and commands whose
// data would be in memory.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadSettings } from '../../src/backends/load-settings.ts';
import { readVersion } from '../../src/settings/version.ts';
import { postgresqlSettings } from '../support/backends.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { basic, run, start, workingFolder, type Place } from './process.ts';

const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

interface Terminal {
  /** Resolves to everything shown so far, once it matches. */
  shows(pattern: RegExp): Promise<string>;
  press(key: string): void;
  readonly ended: Promise<number | null>;
}

/** Runs the program in a terminal of its own, which `script` of util-linux makes. */
function openTerminal(args: readonly string[], { cwd, environment = {} }: Place): Terminal {
  const command = `exec ${[process.execPath, program, ...args].map((word) => `'${word}'`).join(' ')}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TERM: 'dumb', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString().replaceAll('\r', '')));
  return {
    async shows(pattern) {
      while (!pattern.test(text)) await once(child.stdout, 'data');
      return text;
    },
    press: (key) => void child.stdin.write(key),
    ended: once(child, 'close').then(([code]) => code as number | null),
  };
}

describe.runIf(process.platform === 'linux')('On a terminal', () => {
  test('the start shows all addresses and locations, a line for each request, and stops on Ctrl+C.', async () => {
    const cwd = workingFolder();
    const terminal = openTerminal(['start', '--port', '0'], { cwd });
    const banner = await terminal.shows(/Stop .*\n/);
    expect(banner).toContain(`Coffer ${readVersion()}`);
    expect(banner).toMatch(/Data +sqlite .*data\/coffer\.sqlite3/);
    expect(banner).toMatch(/Stop +Ctrl\+C/);
    expect(banner).not.toContain('Listening');
    const url = /API +(\S+)/.exec(banner)![1]!;
    expect(/Console +(\S+)/.exec(banner)![1]).toBe(`${url}admin/`);
    expect((await fetch(`${url}admin/`)).status).toBe(200);

    const [, user = '', body = '', records = ''] = /Try +curl -u (\S+) .* -d '(.*)' (\S+)/.exec(banner)!;
    const authorization = `Basic ${Buffer.from(user).toString('base64')}`;
    const headers = { authorization, 'Content-Type': 'application/json' };
    expect((await fetch(records, { method: 'POST', headers, body })).status).toBe(201);
    const path = new URL(records).pathname;
    await terminal.shows(new RegExp(String.raw`^POST ${path} 201 \d+ms basicauth:[0-9a-f]{8}…$`, 'm'));
    await fetch(`${url}buckets?_limit=1`);
    await terminal.shows(/^GET \/v1\/buckets\?_limit=1 401 \d+ms -$/m);

    terminal.press('\u0003');
    expect(await terminal.ended).toBe(0);
  });

  test('one of several processes shows the banner.', async () => {
    const { url, drop } = await cloneDatabase();
    onTestFinished(drop);
    const cwd = workingFolder();
    const settings = { ...postgresqlSettings(url), userid_hmac_secret: 'secret for tests', workers: '2' };
    const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value.replaceAll('%', '%%')}`);
    writeFileSync(join(cwd, 'coffer.ini'), ['[app:main]', ...lines, ''].join('\n'));
    const terminal = openTerminal(['start', '--port', '0'], { cwd });
    const text = await terminal.shows(/All workers listen/);
    expect(text.match(/Stop +Ctrl\+C/g)).toHaveLength(1);
    expect(text).toMatch(/Data +postgresql:/);
    expect(text).toMatch(/Settings +coffer\.ini/);
    expect(text.match(/Listening\b/g)).toHaveLength(1);
    terminal.press('\u0003');
    expect(await terminal.ended).toBe(0);
  });

  test('requested JSON stays JSON, without a banner.', async () => {
    const terminal = openTerminal(['start', '--port', '0'], {
      cwd: workingFolder(),
      environment: { SVC_LOG_FORMAT: 'json' },
    });
    const text = await terminal.shows(/"Listening".*\n/);
    for (const line of text.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('Type');
    terminal.press('\u0003');
    expect(await terminal.ended).toBe(0);
  });
});

describe('A start without configuration', () => {
  test('serves the console and a history, writes JSON to a pipe, and has the name Coffer.', async () => {
    const service = await start([], { cwd: workingFolder() });
    const root = (await (await fetch(service.url)).json()) as Record<string, unknown>;
    expect(root).toMatchObject({
      project_name: 'Coffer',
      capabilities: { admin: {}, history: {}, default_bucket: {} },
    });
    expect(JSON.stringify(root)).not.toContain('kinto-storage');
    const page = await fetch(new URL('/', service.url), { headers: { Accept: 'text/html' } });
    expect([page.status, page.url]).toEqual([200, `${service.url}admin/`]);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(await service.logged('request.summary')).toMatchObject({ Severity: 6 });
  });
});

describe('coffer init after a first run', () => {
  const record = 'buckets/default/collections/notes/records/one';
  const headers = { authorization: basic('alice'), 'Content-Type': 'application/json' };

  test('keeps the identity of users, and reports it.', async () => {
    const cwd = workingFolder();
    const first = await start([], { cwd });
    const body = JSON.stringify({ data: { mine: true } });
    expect((await fetch(first.url + record, { method: 'PUT', headers, body })).status).toBe(201);
    const shared = await fetch(`${first.url}buckets/shop`, { method: 'PUT', headers });
    expect(shared.status).toBe(201);
    first.kill('SIGTERM');
    await first.ended;

    const { code, out } = await run(['init'], { cwd });
    expect([code, out]).toEqual([0, expect.stringContaining('data/secret')]);
    expect(loadSettings({ cwd, environment: {} }).get('userid_hmac_secret')).toBe(
      readFileSync(join(cwd, 'data/secret'), 'utf8').trim(),
    );
    const second = await start([], { cwd });
    for (const path of [record, 'buckets/shop']) {
      expect([path, (await fetch(second.url + path, { headers })).status]).toEqual([path, 200]);
    }
    expect(second.log.filter(({ Severity }) => Severity < 6)).toEqual([]);
    second.kill('SIGTERM');
    await second.ended;
    expect(await run(['check', '--strict', '--quiet'], { cwd })).toMatchObject({ code: 0, err: '' });
  });

  test('with another secret in the file, start and check warn until the change is accepted.', async () => {
    const cwd = workingFolder();
    const serve = async (): Promise<readonly string[]> => {
      const service = await start([], { cwd });
      service.kill('SIGTERM');
      await service.ended;
      return service.log.filter(({ Severity }) => Severity === 4).map(({ Type }) => Type);
    };
    expect(await serve()).toEqual([]);
    await run(['init'], { cwd });
    const file = join(cwd, 'config/coffer.ini');
    const other = `userid_hmac_secret = ${'another secret '.repeat(3)}`;
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^userid_hmac_secret = .*$/m, other));
    const sentence = /written with another userid_hmac_secret.*coffer check --accept-secrets/;
    expect(await serve()).toEqual([expect.stringMatching(sentence)]);
    expect(await run(['check', '--strict'], { cwd })).toMatchObject({ code: 4, err: expect.stringMatching(sentence) });
    expect(await run(['check', '--strict', '--accept-secrets'], { cwd })).toMatchObject({ code: 0, err: '' });
    expect(await serve()).toEqual([]);
  });

  test('is refused when the stored secret cannot be read.', async () => {
    const cwd = workingFolder();
    await run(['migrate'], { cwd });
    writeFileSync(join(cwd, 'data/secret'), '');
    expect(await run(['init'], { cwd })).toMatchObject({ code: 1, err: expect.stringContaining('data/secret') });
    expect(existsSync(join(cwd, 'config'))).toBe(false);
  });

  test.each([
    ['sqlite', 'memory'],
    ['postgresql', 'postgresql'],
    ['redis', 'redis'],
  ])('chooses for %s the cache %s, which supports as many processes as the storage.', async (backend, cache) => {
    const cwd = workingFolder();
    expect(await run(['init', '--backend', backend], { cwd })).toMatchObject({ code: 0, err: '' });
    const overrides = backend === 'sqlite' ? {} : { workers: '4' };
    expect(loadSettings({ cwd, environment: {}, overrides }).get('cache_backend')).toBe(cache);
  });
});

describe('A configuration file without backends', () => {
  const lines = [
    '[app:main]',
    'userid_hmac_secret = a secret that is long enough for tests',
    'includes = accounts quotas',
  ];

  function configured(...more: readonly string[]): Place {
    const cwd = workingFolder();
    writeFileSync(join(cwd, 'coffer.ini'), [...lines, 'multiauth.policies = account', ...more, ''].join('\n'));
    return { cwd };
  }

  test('means memory, and the start warns in one line.', async () => {
    const service = await start([], configured());
    const warnings = service.log.filter(({ Severity }) => Severity === 4).map(({ Type }) => Type);
    expect(warnings).toEqual([
      'storage_backend and permission_backend are memory, the default of a configuration file: all data in memory is lost when the service stops. Use sqlite, postgresql or redis.',
    ]);
  });

  test.each([
    ['create-user', ['create-user', '-u', 'zoe', '-p', 'secret']],
    ['purge-deleted', ['purge-deleted', '--older-than', '1d']],
    ['delete-collection', ['delete-collection', '--bucket', 'b', '--collection', 'c']],
    ['attachments-clean', ['attachments-clean']],
    ['rebuild-quotas', ['rebuild-quotas']],
    ['resync', ['resync']],
    ['webhooks', ['webhooks', '--retry', 'x']],
    ['flush-cache', ['flush-cache']],
    ['import file', ['import', 'file', 'nothing.ndjson']],
    ['import kinto', ['import', 'kinto', '--from', 'http://127.0.0.1:9/v1']],
    ['check --accept-secrets', ['check', '--accept-secrets']],
  ])('makes %s do nothing, with the reason.', async (_name, args) => {
    const { code, out, err } = await run(args, configured());
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^coffer: nothing was done: storage_backend and permission_backend of coffer\.ini are memory/);
    expect(err).toContain('Set storage_backend and permission_backend to sqlite, postgresql or redis.');
  });

  test('makes copies and exports do nothing, whichever end is in memory.', async () => {
    const place = configured();
    writeFileSync(join(place.cwd, 'target.ini'), lines.join('\n'));
    const copies = [
      ['copy', '--to', 'sqlite:new.sqlite3'],
      ['copy', '--from', 'sqlite:new.sqlite3', '--to-config', 'target.ini'],
      ['export', 'all.ndjson'],
    ];
    await run(['migrate'], {
      cwd: place.cwd,
      environment: { SVC_STORAGE_BACKEND: 'sqlite', SVC_STORAGE_URL: 'new.sqlite3' },
    });
    for (const args of copies) {
      expect([args, await run(args, place)]).toEqual([
        args,
        expect.objectContaining({ code: 1, err: expect.stringContaining('in memory') }),
      ]);
    }
    expect(existsSync(join(place.cwd, 'all.ndjson'))).toBe(false);
  });

  test('reports one of two backends when only that one is in memory.', async () => {
    const place = configured('storage_backend = sqlite');
    const { err } = await run(['create-user', '-u', 'zoe', '-p', 'secret'], place);
    expect(err).toContain('nothing was done: permission_backend of coffer.ini is memory');
  });
});
