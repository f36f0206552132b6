// One process serves a SQLite file: a second one is refused as long as the first lives, and commands run next to it.
import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { basic, launch, run, start, workingFolder } from './process.ts';

const environment = { SVC_LOG_FORMAT: 'json' };

test('a second process on one SQLite file is refused with the number of the first, until the first is gone.', async () => {
  const place = { cwd: workingFolder(), environment };
  const first = await start([], place);
  const second = launch([], place);
  expect(await second.ended).toBe(1);
  expect(second.complaints()).toContain(`process ${first.pid} on `);
  expect(second.complaints()).toContain('sqlite_allow_several_processes');
  // Neither the refusal nor a lock file that stays behind changes anything for the first, or for its successor.
  const headers = { authorization: basic('alice') };
  expect((await fetch(`${first.url}buckets/default`, { headers })).status).toBe(200);
  first.kill('SIGKILL');
  await first.ended;
  const data = join(place.cwd, 'data');
  chmodSync(data, 0o755);
  const third = await start([], place);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect((await fetch(`${third.url}buckets/default`, { headers })).status).toBe(200);
  third.kill('SIGTERM');
  expect(await third.ended).toBe(0);
  const fourth = await start([], place);
  fourth.kill('SIGTERM');
  expect(await fourth.ended).toBe(0);
});

test('several processes serve one SQLite file when that is allowed, or when they only read.', async () => {
  const cwd = workingFolder();
  const first = await start([], { cwd, environment });
  const reader = await start([], { cwd, environment: { ...environment, SVC_READONLY: 'true' } });
  const allowed = { ...environment, SVC_SQLITE_ALLOW_SEVERAL_PROCESSES: 'true' };
  const second = await start([], { cwd, environment: allowed });
  const headers = { authorization: basic('alice') };
  for (const { url } of [first, reader, second]) expect((await fetch(`${url}buckets`, { headers })).status).toBe(200);
  for (const service of [first, reader, second]) {
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  }
});

test('commands that support it run next to a process that serves the file.', async () => {
  const place = { cwd: workingFolder(), environment };
  const service = await start([], place);
  for (const args of [
    ['check'],
    ['migrate', '--dry-run'],
    ['purge-deleted', '--older-than', '90d'],
    ['export', 'all.ndjson'],
    ['flush-cache'],
  ]) {
    expect([args, await run(args, place)]).toEqual([args, expect.objectContaining({ code: 0 })]);
  }
  expect(existsSync(join(place.cwd, 'all.ndjson'))).toBe(true);
  service.kill('SIGTERM');
  expect(await service.ended).toBe(0);
});
