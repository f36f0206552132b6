// Operations with several workers: the worker that is asked answers for all of them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { authorizationOf } from '../../src/testing/index.ts';
import { start, workingFolder } from '../cli/process.ts';
import { postgresqlSettings } from '../support/backends.ts';
import { cloneDatabase } from '../support/postgresql.ts';

interface Overview {
  readonly processes: readonly { readonly pid: number; readonly worker: number }[];
  readonly requests: Record<string, number>;
  readonly event_loop_delay: { readonly mean_ms: number | null; readonly max_ms: number | null };
  readonly series: {
    readonly hour: {
      readonly requests: Record<string, readonly number[]>;
      readonly rss_bytes: readonly (number | null)[];
    };
  };
}

interface Item {
  readonly id: string;
  readonly pid: number;
  readonly route: string;
  readonly fields: { readonly path: string };
}

test('Figures, log lines and slow requests of all workers are in one answer.', { timeout: 120_000 }, async () => {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  const cwd = workingFolder();
  const settings = {
    ...postgresqlSettings(url),
    storage_pool_size: '3',
    userid_hmac_secret: 'secret of the tests',
    workers: '2',
    includes: 'operations',
    operations_read_principals: 'system.Authenticated',
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`);
  writeFileSync(join(cwd, 'coffer.ini'), `[app:main]\n${lines.join('\n')}\n`);
  const service = await start(['--config', 'coffer.ini'], { cwd, environment: { SVC_LOG_FORMAT: 'json' } });
  await service.logged('All workers listen');
  // Over a connection of its own, which any worker may get.
  const headers = { connection: 'close', authorization: authorizationOf('ann') };
  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${service.url}operations/${path}`, { headers });
    expect(response.status).toBe(200);
    return ((await response.json()) as { readonly data: T }).data;
  };
  for (let n = 0; n < 10; n++) await (await fetch(service.url, { headers })).text();
  const served = new Set(service.log.filter(({ Type }) => Type === 'request.summary').map(({ Pid }) => Pid));
  expect(served.size).toBe(2);

  for (let n = 0; n < 4; n++) {
    const { processes, requests, series } = await read<Overview>('overview');
    expect(new Set(processes.map(({ pid }) => pid))).toEqual(served);
    expect(new Set(processes.map(({ worker }) => worker)).size).toBe(2);
    expect(requests['2xx']).toBe(10 + n);
    const inSeries = series.hour.requests['2xx']!.reduce((sum, count) => sum + count, 0);
    expect(inSeries).toBe(10 + n);
  }
  const slow = await read<readonly Item[]>('slow?_limit=200');
  expect(slow.filter(({ route }) => route === '/')).toHaveLength(10);
  expect(new Set(slow.map(({ pid }) => pid))).toEqual(served);

  // Pages may come from different workers, and each line comes once.
  const seen: Item[] = [];
  let path = `${service.url}operations/log?_limit=3`;
  for (let n = 0; n < 100 && path !== ''; n++) {
    const response = await fetch(path, { headers });
    seen.push(...((await response.json()) as { readonly data: readonly Item[] }).data);
    path = response.headers.get('next-page') ?? '';
  }
  expect(seen.filter(({ fields }) => fields.path === '/v1/')).toHaveLength(10);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);

  // Measured about twice a second.
  for (;;) {
    const { event_loop_delay: delay, series } = await read<Overview>('overview');
    if (delay.mean_ms === null) continue;
    expect(delay.max_ms).toBeGreaterThanOrEqual(delay.mean_ms);
    expect(series.hour.rss_bytes.some((bytes) => bytes !== null && bytes > 1_000_000)).toBe(true);
    break;
  }

  const [victim] = served;
  process.kill(victim!, 'SIGKILL');
  await service.logged('A worker died');
  await service.loggedCount('Listening', 3);
  const { processes } = await read<Overview>('overview');
  expect(processes.map(({ pid }) => pid)).not.toContain(victim);
  expect(processes).toHaveLength(2);
  service.kill('SIGTERM');
  expect(await service.ended).toBe(0);
});
