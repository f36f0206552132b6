// A service that is started while its backend is away: it waits for a while, says what for, and serves as soon as it can;
// or it ends with a message that says what to do.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { basic, launch, workingFolder, type StartingService } from '../cli/process.ts';
import { startPostgresql } from './on-postgresql.ts';
import { startRedis } from './on-redis.ts';

const authorization = basic('alice');

describe.each([
  { backend: 'PostgreSQL', open: startPostgresql },
  { backend: 'Redis', open: startRedis },
])('coffer start, on $backend', ({ open }) => {
  let place: Awaited<ReturnType<typeof startPostgresql>> | Awaited<ReturnType<typeof startRedis>>;

  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place.remove());

  const begin = (more: Readonly<Record<string, string>> = {}): StartingService =>
    launch(['--config', place.workspace.config], {
      cwd: workingFolder(),
      environment: { ...place.environment, SVC_LOG_LEVEL: 'info', SVC_LOG_FORMAT: 'json', ...more },
    });

  test('waits for a server that is not there yet, and serves when it is.', async () => {
    await place.server.kill();
    const service = begin();
    const { Fields } = await service.logged('Waiting for a backend');
    expect(Fields).toMatchObject({ backend: 'storage', seconds: 30 });
    expect(Fields?.['reason']).toMatch(/cannot be reached|connection broke/);
    await place.server.start();
    const { url } = await service.listening;
    expect((await fetch(`${url}buckets/here`, { method: 'PUT', headers: { authorization } })).status).toBeLessThan(300);
    // What is waited for is said once, unless it changes or takes long.
    const waits = service.log
      .filter(({ Type }) => Type === 'Waiting for a backend')
      .map(({ Fields: fields }) => fields?.['reason']);
    expect(new Set(waits).size).toBe(waits.length);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test('gives up after startup_timeout_seconds, with 1 and the reason.', async () => {
    place.network.refuse();
    const service = begin({ SVC_STARTUP_TIMEOUT_SECONDS: '0.3' });
    expect(await service.ended).toBe(1);
    place.network.mend();
    expect(service.complaints()).toMatch(
      /^coffer: (PostgreSQL at 127\.0\.0\.1:\d+: the connection broke|Redis at 127\.0\.0\.1:\d+: the server cannot be reached) \(ECONNRESET\)/,
    );
  });

  test('gives up on a server that does not answer, too.', async () => {
    place.network.fallSilent();
    const service = begin({ SVC_STARTUP_TIMEOUT_SECONDS: '0.3' });
    expect(await service.ended).toBe(1);
    place.network.mend();
    expect(service.complaints()).toMatch(
      /^coffer: (PostgreSQL at 127\.0\.0\.1:\d+: no connection became available|Redis at 127\.0\.0\.1:\d+: the server did not respond) in time/,
    );
  });

  test('ends at once, with 0, on a stop signal while it waits.', async () => {
    place.network.fallSilent();
    const service = begin({ SVC_STORAGE_POOL_TIMEOUT: '60' });
    // It has nothing to say before its first attempt has failed.
    await place.network.reached();
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    place.network.mend();
  });

  test('does not wait for what will not come right by itself.', async () => {
    const refuses = place.faults.find(({ name }) => name.startsWith('refuses the'));
    await refuses?.strike();
    const service = begin();
    expect(await service.ended).toBe(1);
    await refuses?.mend();
    expect(service.log.filter(({ Type }) => Type === 'Waiting for a backend')).toEqual([]);
    expect(service.complaints()).toMatch(/^coffer: .* refuses the .*; check the URL \(/);
  });
});
