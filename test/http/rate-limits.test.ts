// Limits on how often clients may ask, over HTTP and on every cache (docs/guides/limits.md).
import { describe, expect, it, onTestFinished } from 'vitest';
import { TransactionConflict } from '../../src/contracts/errors.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { startTestService, type TestResponse, type TestService } from '../../src/testing/index.ts';
import type { TestServiceOptions } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

/** Time passes only when the test says so. It begins ten seconds before a full multiple of 20 seconds. */
function stoppedClock(): { now(): number; advance(seconds: number): void } {
  let now = 1_700_000_010_000;
  return { now: () => now, advance: (seconds) => void (now += seconds * 1000) };
}

async function start(
  settings: Readonly<Record<string, string>>,
  options: TestServiceOptions = {},
): Promise<TestService> {
  const service = await startTestService({ ...options, settings });
  onTestFinished(() => service.close());
  return service;
}

async function statuses(ask: () => Promise<TestResponse>, times: number): Promise<readonly number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push((await ask()).status);
  return all;
}

const threePerUser = { rate_limits: 'calls', 'rate_limits.calls.requests': '3', 'rate_limits.calls.window': '20s' };
const threePerAddress = { ...threePerUser, 'rate_limits.calls.per': 'address' };

forEachBackend((backend) => {
  describe(`A rate limit on ${backend.name}`, () => {
    it('allows a number of requests per user, returns the remaining number, and refuses further ones until a refill.', async () => {
      const clock = stoppedClock();
      const service = await backend.start({ settings: threePerUser, clock });
      onTestFinished(() => service.close());
      const ann = service.asUser('ann');
      const answers: TestResponse[] = [];
      for (let i = 0; i < 5; i++) answers.push(await ann.request('GET', '/v1/buckets'));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
      expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual([
        '"calls";r=2;t=7',
        '"calls";r=1;t=14',
        '"calls";r=0;t=20',
        '"calls";r=0;t=20',
        '"calls";r=0;t=20',
      ]);
      expect(answers[3]).toMatchObject({
        headers: { 'retry-after': '7', 'ratelimit-policy': '"calls";q=3;w=20' },
        body: { code: 429, errno: 117, error: 'Too Many Requests' },
      });
      expect((await service.asUser('ben').request('GET', '/v1/buckets')).status).toBe(200);
      clock.advance(7);
      expect(await statuses(() => ann.request('GET', '/v1/buckets'), 2)).toEqual([200, 429]);
      clock.advance(27);
      expect((await ann.request('GET', '/v1/buckets')).headers['ratelimit']).toBe('"calls";r=2;t=7');
    });

    it('allows a burst once, regardless of window boundaries.', async () => {
      const clock = stoppedClock();
      const service = await backend.start({ settings: threePerUser, clock });
      onTestFinished(() => service.close());
      const ann = service.asUser('ann');
      const ask = (): Promise<TestResponse> => ann.request('GET', '/v1/buckets');
      clock.advance(9);
      expect(await statuses(ask, 4)).toEqual([200, 200, 200, 429]);
      clock.advance(2);
      expect(await statuses(ask, 3)).toEqual([429, 429, 429]);
      clock.advance(5);
      expect(await statuses(ask, 3)).toEqual([200, 429, 429]);
    });

    it('counts each entry of a batch, which gets its own response.', async () => {
      const service = await backend.start({
        settings: { ...threePerUser, 'rate_limits.calls.methods': 'PUT', 'rate_limits.calls.paths': '/buckets/*' },
        clock: stoppedClock(),
      });
      onTestFinished(() => service.close());
      const ann = service.asUser('ann');
      const requests = [0, 1, 2, 3, 4].map((i) => ({ method: 'PUT', path: `/v1/buckets/of-a-batch-${i}` }));
      const { status, body, headers } = await ann.request('POST', '/v1/batch', { body: { requests } });
      expect(status).toBe(200);
      expect(headers['ratelimit']).toMatch(/^"calls";r=0;t=\d+$/);
      const { responses } = body as { responses: readonly { status: number; headers: Record<string, string> }[] };
      expect(responses.map((response) => response.status)).toEqual([201, 201, 201, 429, 429]);
      expect(Number(responses[3]!.headers['Retry-After'])).toBeGreaterThan(0);
      expect((await ann.request('GET', '/v1/buckets/of-a-batch-2')).status).toBe(200);
      expect((await ann.request('GET', '/v1/buckets/of-a-batch-3')).status).toBe(403);
    });
  });
});

describe('A rate limit', () => {
  it('is absent unless it is set.', async () => {
    const service = await start({});
    const { headers } = await service.request('GET', '/v1/');
    expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
  });

  it('of addresses applies before authentication, for all users together.', async () => {
    let asked = 0;
    const counting = definePlugin({
      name: 'counting',
      setup: () => ({
        policies: {
          counting: () => ({
            name: 'counting',
            challenge: 'Counting',
            authenticate: () => {
              asked++;
              return 'somebody';
            },
          }),
        },
      }),
    });
    const settings = {
      ...threePerAddress,
      'multiauth.policies': 'counting',
      'multiauth.policy.counting.use': 'counting',
    };
    const service = await start(settings, { plugins: [counting], clock: stoppedClock() });
    let user = 0;
    const ask = (): Promise<TestResponse> => service.asUser(`user ${user++}`).request('GET', '/v1/buckets');
    expect(await statuses(ask, 5)).toEqual([200, 200, 200, 429, 429]);
    expect(asked).toBe(3);
  });

  it('trusts only trusted proxies when it counts by address.', async () => {
    const open = await start(threePerAddress, { clock: stoppedClock() });
    let last = 0;
    const asked = (service: TestService, address: () => string) => (): Promise<TestResponse> =>
      service.request('GET', '/v1/', { headers: { 'X-Forwarded-For': address() } });
    const another = (): string => `192.0.2.${++last}`;
    expect(await statuses(asked(open, another), 4)).toEqual([200, 200, 200, 429]);
    const behind = await start({ ...threePerAddress, trusted_proxies: 'loopback' }, { clock: stoppedClock() });
    expect(await statuses(asked(behind, another), 4)).toEqual([200, 200, 200, 200]);
    // What clients put before the address that the proxy saw changes nothing.
    const forged = (): string => `${another()}, 198.51.100.7`;
    expect(await statuses(asked(behind, forged), 4)).toEqual([200, 200, 200, 429]);
    // A network of IPv6 is one neighbour.
    const neighbour = (): string => `2001:db8:1:2::${(++last).toString(16)}`;
    expect(await statuses(asked(behind, neighbour), 4)).toEqual([200, 200, 200, 429]);
  });

  it('of users counts anonymous callers by address.', async () => {
    const service = await start(threePerUser, { clock: stoppedClock() });
    expect(await statuses(() => service.request('GET', '/v1/'), 4)).toEqual([200, 200, 200, 429]);
    expect((await service.asUser('ann').request('GET', '/v1/')).status).toBe(200);
  });

  it('counts requests to unknown paths, alone and in batches, for their sender.', async () => {
    for (const settings of [threePerAddress, threePerUser]) {
      const service = await start(settings, { clock: stoppedClock() });
      const ann = service.asUser('ann');
      let path = 0;
      const unknown = (): Promise<TestResponse> => ann.request('GET', `/v1/admin-${++path}.php`);
      expect(await statuses(unknown, 2)).toEqual([404, 404]);
      const requests = [0, 1].map((i) => ({ path: `/v1/entry-${i}` }));
      const { body } = await service.asUser('ben').request('POST', '/v1/batch', { body: { requests } });
      // The batch itself counts where the address does.
      const own = settings === threePerAddress ? [429, 429] : [404, 429];
      const { responses = [] } = body as { responses?: readonly { status: number }[] };
      expect(responses.map(({ status }) => status)).toEqual(own);
      const refused = await unknown();
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '7' }, body: { errno: 117 } });
    }
  });

  it('may apply to all requests together.', async () => {
    const service = await start({ ...threePerUser, 'rate_limits.calls.per': 'all' }, { clock: stoppedClock() });
    let user = 0;
    const ask = (): Promise<TestResponse> => service.asUser(`user ${user++}`).request('GET', '/v1/');
    expect(await statuses(ask, 4)).toEqual([200, 200, 200, 429]);
  });

  it('applies to its methods and paths in any spelling, and the strictest of several applies.', async () => {
    const service = await start(
      {
        rate_limits: 'reads writes',
        'rate_limits.reads.requests': '5',
        'rate_limits.reads.methods': 'GET',
        'rate_limits.writes.requests': '2',
        'rate_limits.writes.paths': '/buckets/*/collections/**',
        'rate_limits.writes.methods': 'PUT POST',
      },
      { clock: stoppedClock() },
    );
    const ann = service.asUser('ann');
    await ann.request('PUT', '/v1/buckets/b');
    await ann.request('PUT', '/v1/buckets/b');
    expect((await ann.request('PUT', '/v1/buckets/b/collections/c')).status).toBe(201);
    const record = (id: string): Promise<TestResponse> =>
      ann.request('PUT', `/v1/buckets/b/collections/c/records/${id}`);
    expect((await record('x')).headers['ratelimit']).toMatch(/^"writes";r=0;t=\d+$/);
    expect((await record('y')).status).toBe(429);
    expect((await ann.request('PUT', '/v1/buckets/%62/%63ollections/c/records/z')).status).toBe(429);
    const all = await statuses(() => ann.request('HEAD', '/v1/buckets/b'), 6);
    expect(all).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('does not count preflights and liveness checks.', async () => {
    const service = await start(threePerAddress, { clock: stoppedClock() });
    const preflight = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' };
    const ask = (): Promise<TestResponse> => service.request('OPTIONS', '/v1/buckets', { headers: preflight });
    expect(new Set(await statuses(ask, 6))).toEqual(new Set([200]));
    expect(new Set(await statuses(() => service.request('GET', '/v1/__lbheartbeat__'), 6))).toEqual(new Set([200]));
    expect((await service.request('GET', '/v1/__heartbeat__')).headers['ratelimit']).toMatch(/r=2/);
  });

  it('exposes its headers to scripts of other origins.', async () => {
    const service = await start(threePerAddress);
    const { headers } = await service.request('GET', '/v1/', { headers: { Origin: 'https://app.example' } });
    expect(headers['access-control-expose-headers']).toContain('RateLimit, RateLimit-Policy');
  });

  it('does not apply to exempt users and members of exempt groups, who use no tokens of others.', async () => {
    const group = '/buckets/b/groups/robots';
    const service = await start(
      { ...threePerAddress, rate_limit_exempt_principals: `${group} basicauth:unknown` },
      { clock: stoppedClock() },
    );
    const me = await service.asUser('robot').request('GET', '/v1/');
    const robot = (me.body as { user: { id: string } }).user.id;
    const admin = service.asUser('admin');
    await admin.request('PUT', '/v1/buckets/b');
    const made = await admin.request('PUT', `/v1${group}`, { body: { data: { members: [robot] } } });
    expect(made.status).toBe(201);
    const asRobot = service.asUser('robot');
    expect(await statuses(() => asRobot.request('GET', '/v1/buckets'), 5)).toEqual([200, 200, 200, 200, 200]);
    expect((await admin.request('GET', '/v1/buckets')).status).toBe(429);
    const settings = { ...threePerAddress, rate_limit_exempt_principals: 'system.Authenticated' };
    const all = await start(settings, { clock: stoppedClock() });
    expect(await statuses(() => all.asUser('ann').request('GET', '/v1/'), 5)).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses(() => all.request('GET', '/v1/'), 4)).toEqual([200, 200, 200, 429]);
  });

  it('counts a retried request once.', async () => {
    let runs = 0;
    const racing = definePlugin({
      name: 'racing',
      setup: () => ({
        endpoints: [
          {
            name: 'racing',
            path: '/racing',
            isResource: false,
            operations: {
              POST: {
                id: 'race',
                handle: () => {
                  if (++runs % 3 !== 0) throw new TransactionConflict('lost');
                  return Promise.resolve(jsonResponse(200, {}));
                },
              },
            },
          },
        ],
      }),
    });
    const service = await start(threePerUser, { plugins: [racing], clock: stoppedClock() });
    expect(await statuses(() => service.request('POST', '/v1/racing'), 4)).toEqual([200, 200, 200, 429]);
    expect(runs).toBe(9);
  });

  it('with wrong settings prevents the start, with the reason.', async () => {
    const started = (more: Readonly<Record<string, string>>): Promise<TestService> =>
      startTestService({ settings: { rate_limits: 'x', ...more } });
    await expect(started({})).rejects.toThrow('rate_limits.x.requests is not set');
    const enough = { 'rate_limits.x.requests': '1' };
    await expect(started({ ...enough, 'rate_limits.x.per': 'ip' })).rejects.toThrow('rate_limits.x.per');
    await expect(started({ ...enough, 'rate_limits.x.methods': 'get' })).rejects.toThrow('names get; accepted are GET');
    await expect(started({ ...enough, 'rate_limits.x.paths': 'buckets' })).rejects.toThrow('start with a slash');
    await expect(started({ ...enough, 'rate_limits.x.window': '2d' })).rejects.toThrow('rate_limits.x.window');
    await expect(started({ ...enough, 'rate_limits.x.metods': 'GET' })).rejects.toThrow('rate_limits.x.metods');
    await expect(started({ ...enough, 'rate_limits.y.requests': '1' })).rejects.toThrow('rate_limits.y.requests');
    await expect(started({ rate_limits: 'a"b' })).rejects.toThrow('names have letters');
    await expect(started({ ...enough, rate_limits: 'x x' })).rejects.toThrow('twice');
  });
});
