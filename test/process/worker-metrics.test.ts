// Metrics of several workers: whichever is asked answers for all of them, and no sum ever goes down.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { start, workingFolder, type RunningService } from '../cli/process.ts';
import { postgresqlSettings } from '../support/backends.ts';
import { parseExposition, type Scrape } from '../support/exposition.ts';
import { cloneDatabase } from '../support/postgresql.ts';

async function startWorkers(count: number, more: Readonly<Record<string, string>> = {}): Promise<RunningService> {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  const cwd = workingFolder();
  const settings = {
    ...postgresqlSettings(url),
    storage_pool_size: '3',
    userid_hmac_secret: 'secret of the tests',
    workers: String(count),
    includes: 'prometheus',
    ...more,
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`);
  writeFileSync(join(cwd, 'coffer.ini'), `[app:main]\n${lines.join('\n')}\n`);
  const service = await start(['--config', 'coffer.ini'], { cwd, environment: { SVC_LOG_FORMAT: 'json' } });
  await service.logged('All workers listen');
  return service;
}

/** Over a connection of its own, which any worker may get. */
const headers = { connection: 'close' };

async function scrape({ url }: RunningService): Promise<Scrape> {
  const response = await fetch(`${url}__metrics__`, { headers });
  expect(response.status).toBe(200);
  return parseExposition(await response.text());
}

const requests = (metrics: Scrape): number | undefined =>
  metrics.value('coffer_request_summary_total', { endpoint: 'hello', status: '200' });
const created = (metrics: Scrape): number | undefined =>
  metrics.value('coffer_request_summary_created', { endpoint: 'hello' });

test(
  'Every worker tells the metrics of all, and what ended workers have counted stays counted.',
  { timeout: 120_000 },
  async () => {
    const service = await startWorkers(2);
    const ask = async (times: number): Promise<void> => {
      for (let n = 0; n < times; n++) await (await fetch(service.url, { headers })).text();
    };
    await ask(10);
    const served = new Set(service.log.filter(({ Type }) => Type === 'request.summary').map(({ Pid }) => Pid));
    expect(served.size).toBe(2);
    const first = await scrape(service);
    expect(requests(first)).toBe(10);
    for (let n = 0; n < 3; n++) expect(requests(await scrape(service))).toBe(10);
    // Of both processes: each has a pool with a limit.
    const limit = first.value('coffer_backend_pool_limit', { database: 'postgresql' });
    expect(limit).toBe(2 * 8);

    // One that is killed leaves what it told last.
    const [victim] = served;
    process.kill(victim!, 'SIGKILL');
    await service.logged('A worker died');
    await service.loggedCount('Listening', 3);
    expect(requests(await scrape(service))).toBe(10);

    // Workers that finish on request pass on all counts, including those that no scrape has read yet.
    await ask(6);
    const restarted = service.loggedNext('Restarted workers');
    service.kill('SIGHUP');
    await restarted;
    const last = await scrape(service);
    expect(requests(last)).toBe(16);
    expect(created(last)).toBe(created(first));
    expect(last.value('coffer_backend_pool_limit', { database: 'postgresql' })).toBe(limit);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  },
);

test(
  'All workers share the port of operators and count together what a rate limit allows.',
  { timeout: 120_000 },
  async () => {
    const limits = { rate_limits: 'x', 'rate_limits.x.requests': '200', 'rate_limits.x.per': 'address' };
    const service = await startWorkers(2, { admin_port: '0', ...limits, 'rate_limits.x.window': '1d' });
    const { Fields } = await service.logged('Listening on the admin port');
    const adminUrl = String(Fields?.['url']);
    expect((await fetch(`${service.url}__metrics__`, { headers })).status).toBe(404);
    const refused: boolean[] = [];
    for (let n = 0; n < 300; n++) refused.push((await fetch(service.url, { headers })).status === 429);
    const allowed = refused.filter((each) => !each).length;
    // Two processes, and a share of a tenth for each; the next token comes back after seven minutes.
    expect(allowed).toBeGreaterThanOrEqual(200);
    expect(allowed).toBeLessThanOrEqual(200 + 2 * 20);
    const metrics = await scrape({ ...service, url: adminUrl });
    expect(requests(metrics)).toBe(allowed);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  },
);
