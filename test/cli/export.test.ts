// `coffer export` and `coffer import file` as operators run them.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { writeStream } from '../../src/transfer/export/export-file.ts';
import { createDatabase } from '../support/postgresql.ts';
import { run, start, workingFolder, type Outcome } from './process.ts';

function configOf(cwd: string, name: string, url: string): string {
  const file = join(cwd, name);
  const backend = url.slice(0, url.indexOf(':'));
  const lines = ['storage', 'permission'].flatMap((kind) => [`${kind}_backend = ${backend}`, `${kind}_url = ${url}`]);
  writeFileSync(file, `[app:main]\n${lines.join('\n')}\nuserid_hmac_secret = the same\n`);
  return file;
}

test('a service is exported and imported into another backend, with accounts and history.', async () => {
  const cwd = workingFolder();
  const old = join(cwd, 'old.ini');
  const more =
    '[app:main]\nmultiauth.policies = account basicauth\nincludes = accounts history\naccount_hash_cost = 10\n';
  const place = `storage_backend = sqlite\nstorage_url = sqlite:data/old.sqlite3\npermission_backend = sqlite\npermission_url = sqlite:data/old.sqlite3\n`;
  const rest =
    'userid_hmac_secret = the same\naccount_create_principals = system.Everyone\nbucket_create_principals = system.Authenticated\n' +
    'multiauth.policy.account.use = AccountsPolicy\n';
  writeFileSync(old, more + place + rest);
  const service = await start(['--config', old], { cwd });
  const send = async (url: string, method: string, path: string, user: string, body?: unknown): Promise<unknown> => {
    const credentials = user === '' ? {} : { authorization: user };
    const headers = { ...credentials, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(new URL(path, url), { method, headers, ...sent });
    expect([method, path, answer.status]).toEqual([method, path, expect.toSatisfy((status: number) => status < 300)]);
    return answer.json();
  };
  const zoe = `Basic ${Buffer.from('zoe:sesame-123').toString('base64')}`;
  const put = (path: string, user: string, body: unknown): Promise<unknown> =>
    send(service.url, 'PUT', path, user, body);
  await put('accounts/zoe', '', { data: { password: 'sesame-123' } });
  await put('buckets/b', zoe, { data: {}, permissions: { read: ['system.Everyone'] } });
  await put('buckets/b/groups/g', zoe, { data: { members: ['account:amy'] } });
  await put('buckets/b/collections/c', zoe, { data: { title: 'é' } });
  await put('buckets/b/collections/c/records/r', zoe, {
    data: { n: 1.5, '': null },
    permissions: { write: ['account:amy'] },
  });
  await put('buckets/b/collections/c/records/gone', zoe, { data: {} });
  await send(service.url, 'DELETE', 'buckets/b/collections/c/records/gone', zoe);
  const paths = [
    'accounts/zoe',
    'buckets/b',
    'buckets/b/groups',
    'buckets/b/collections/c/records?_since=0',
    'buckets/b/history',
  ];
  const everything = async (url: string): Promise<unknown> => {
    const answers: unknown[] = [];
    for (const path of paths) answers.push(await send(url, 'GET', path, zoe));
    return answers;
  };
  const before = await everything(service.url);
  service.kill('SIGTERM');
  expect(await service.ended).toBe(0);

  const exported = await run(['export', 'all.ndjson.gz', '--config', old], { cwd });
  expect([exported.code, exported.err]).toEqual([0, expect.stringContaining('objects: ')]);
  expect(exported.out).toMatch(/^all\.ndjson\.gz: \d+ lists, \d+ objects, 1 tombstones, permissions of \d+ objects\n$/);
  const again = await run(['export', 'all.ndjson.gz', '--config', old, '--quiet'], { cwd });
  expect(again).toEqual({ code: 1, out: '', err: 'coffer: all.ndjson.gz exists already\n' });

  const url = await createDatabase();
  const fresh = join(cwd, 'new.ini');
  const there = `storage_backend = postgresql\nstorage_url = ${url}\npermission_backend = postgresql\npermission_url = ${url}\n`;
  writeFileSync(fresh, more + there + rest);
  const imported = await run(['import', 'file', 'all.ndjson.gz', '--to-config', fresh, '--verify'], { cwd });
  expect([imported.code, imported.out]).toEqual([0, expect.stringContaining('read back and is equal')]);
  const revived = await start(['--config', fresh], { cwd });
  expect(await everything(revived.url)).toEqual(before);
  revived.kill('SIGTERM');
  expect(await revived.ended).toBe(0);
});

test('an import reports the fault and exits with 1, or with 2 for the command line.', async () => {
  const cwd = workingFolder();
  const config = configOf(cwd, 'a.ini', `sqlite://${join(cwd, 'a.sqlite3')}`);
  expect((await run(['migrate', '--config', config], { cwd })).code).toBe(0);
  expect((await run(['export', 'empty.ndjson', '--config', config, '--quiet'], { cwd })).code).toBe(0);
  const other = configOf(cwd, 'b.ini', `sqlite://${join(cwd, 'b.sqlite3')}`);
  const cut = readFileSync(join(cwd, 'empty.ndjson'), 'utf8').slice(0, -5);
  writeFileSync(join(cwd, 'cut.ndjson'), cut);
  const refused = await run(['import', 'file', 'cut.ndjson', '--config', other], { cwd });
  expect([refused.code, refused.err]).toEqual([1, 'coffer: cut.ndjson is incomplete: its last line is missing\n']);
  expect(existsSync(join(cwd, 'b.sqlite3'))).toBe(false);
  expect((await run(['import', 'file', 'empty.ndjson', '--config', other, '--verify'], { cwd })).code).toBe(0);
  const both = await run(['import', 'file', 'empty.ndjson', '--resume', '--verify-only'], { cwd });
  expect(both.code).toBe(2);
  const nameless = await run(['export', '', '--config', config], { cwd });
  expect([nameless.code, nameless.err]).toEqual([2, expect.stringContaining('the name of the file is empty')]);
  const nowhere = await run(['export', 'x.ndjson', '--config', configOf(cwd, 'c.ini', 'sqlite:none.sqlite3')], { cwd });
  expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining('does not exist: no file')]);
});

describe('export - and import -', () => {
  const program = fileURLToPath(new URL('../../bin/coffer.js', import.meta.url));

  async function exported(cwd: string, ...more: readonly string[]): Promise<Outcome> {
    const config = configOf(cwd, 'old.ini', `sqlite://${join(cwd, 'old.sqlite3')}`);
    expect((await run(['migrate', '--config', config], { cwd })).code).toBe(0);
    return run(['export', '-', '--config', config, ...more], { cwd });
  }

  test('write to standard output and read from standard input, with all messages on standard error', async () => {
    const cwd = workingFolder();
    const { code, out, err } = await exported(cwd);
    expect([code, err]).toEqual([0, expect.stringMatching(/^standard output: \d+ lists, /m)]);
    expect(out.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
    const target = configOf(cwd, 'new.ini', `sqlite://${join(cwd, 'new.sqlite3')}`);
    const imported = await run(['import', '-', '--config', target, '--verify'], { cwd, input: out });
    expect([imported.code, imported.out]).toEqual([0, expect.stringContaining('read back and is equal')]);
    const again = await run(['import', 'file', '-', '--config', target, '--verify-only'], { cwd, input: out });
    expect(again.code).toBe(0);
    expect((await exported(cwd, '--quiet')).err).toBe('');
  });

  test('refuse incomplete input, and leave no temporary file', async () => {
    const cwd = workingFolder();
    const { out } = await exported(cwd);
    const target = configOf(cwd, 'new.ini', `sqlite://${join(cwd, 'new.sqlite3')}`);
    const temporary = join(cwd, 'temporary');
    mkdirSync(temporary);
    const place = { cwd, input: out.slice(0, -5), environment: { TMPDIR: temporary } };
    const refused = await run(['import', '-', '--config', target], place);
    expect(refused).toEqual({
      code: 1,
      out: '',
      err: 'coffer: standard input is incomplete: its last line is missing\n',
    });
    expect(existsSync(join(cwd, 'new.sqlite3'))).toBe(false);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('read compressed input', async () => {
    const cwd = workingFolder();
    const { out } = await exported(cwd);
    const target = configOf(cwd, 'new.ini', `sqlite://${join(cwd, 'new.sqlite3')}`);
    writeFileSync(join(cwd, 'all.gz'), gzipSync(out));
    const args = [program, 'import', '-', '--config', target, '--verify'];
    const input = openSync(join(cwd, 'all.gz'), 'r');
    const child = spawnSync(process.execPath, args, { cwd, stdio: [input, 'pipe', 'pipe'], encoding: 'utf8' });
    closeSync(input);
    expect([child.status, child.stdout]).toEqual([0, expect.stringContaining('read back and is equal')]);
  });
});

test('an export to a stream fails when the reader is gone, and waits for a slow one', async () => {
  const chunks: Buffer[] = [];
  const slow = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      setImmediate(done);
    },
  });
  const lines = ['one', 'two', 'three'];
  await writeStream(slow, async (sink) => {
    for (const line of lines) await sink.write(Buffer.from(line));
  });
  expect(Buffer.concat(chunks).toString()).toBe(lines.join(''));
  const gone = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => done(new Error('write EPIPE')) });
  const writing = writeStream(gone, async (sink) => {
    for (const line of lines) await sink.write(Buffer.from(line));
  });
  await expect(writing).rejects.toThrow('the export cannot be written: write EPIPE');
});
