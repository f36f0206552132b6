// `coffer export` and `coffer import file` as operators run them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDatabase } from '../support/postgresql.ts';
import { run, start, workingFolder } from './process.ts';

function configOf(cwd: string, name: string, url: string): string {
  const file = join(cwd, name);
  const backend = url.slice(0, url.indexOf(':'));
  const lines = ['storage', 'permission'].flatMap((kind) => [`${kind}_backend = ${backend}`, `${kind}_url = ${url}`]);
  writeFileSync(file, `[app:main]\n${lines.join('\n')}\nuserid_hmac_secret = the same\n`);
  return file;
}

test('a service is exported, and comes back to life on another backend with accounts and history.', async () => {
  const cwd = workingFolder();
  const old = join(cwd, 'old.ini');
  const more = '[app:main]\nmultiauth.policies = account basicauth\nincludes = accounts history\n';
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
  expect(again).toEqual({ code: 1, out: '', err: 'coffer: all.ndjson.gz is there already\n' });

  const url = await createDatabase();
  const fresh = join(cwd, 'new.ini');
  const there = `storage_backend = postgresql\nstorage_url = ${url}\npermission_backend = postgresql\npermission_url = ${url}\n`;
  writeFileSync(fresh, more + there + rest);
  const imported = await run(['import', 'file', 'all.ndjson.gz', '--to-config', fresh, '--verify'], { cwd });
  expect([imported.code, imported.out]).toEqual([0, expect.stringContaining('read back, and is the same')]);
  const revived = await start(['--config', fresh], { cwd });
  expect(await everything(revived.url)).toEqual(before);
  revived.kill('SIGTERM');
  expect(await revived.ended).toBe(0);
});

test('an import says what is wrong and ends with 1, or with 2 for the command line.', async () => {
  const cwd = workingFolder();
  const config = configOf(cwd, 'a.ini', `sqlite://${join(cwd, 'a.sqlite3')}`);
  expect((await run(['migrate', '--config', config], { cwd })).code).toBe(0);
  expect((await run(['export', 'empty.ndjson', '--config', config, '--quiet'], { cwd })).code).toBe(0);
  const other = configOf(cwd, 'b.ini', `sqlite://${join(cwd, 'b.sqlite3')}`);
  const cut = readFileSync(join(cwd, 'empty.ndjson'), 'utf8').slice(0, -5);
  writeFileSync(join(cwd, 'cut.ndjson'), cut);
  const refused = await run(['import', 'file', 'cut.ndjson', '--config', other], { cwd });
  expect([refused.code, refused.err]).toEqual([1, 'coffer: cut.ndjson has no end: it was cut off\n']);
  expect(existsSync(join(cwd, 'b.sqlite3'))).toBe(false);
  expect((await run(['import', 'file', 'empty.ndjson', '--config', other, '--verify'], { cwd })).code).toBe(0);
  const both = await run(['import', 'file', 'empty.ndjson', '--resume', '--verify-only'], { cwd });
  expect(both.code).toBe(2);
  const nowhere = await run(['export', 'x.ndjson', '--config', configOf(cwd, 'c.ini', 'sqlite:none.sqlite3')], { cwd });
  expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining('is not there: no file')]);
});
