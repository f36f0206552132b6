// What happens when a process has too much to do (docs/guides/limits.md#overload).
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import { LoadShedder } from '../../src/http/load-shedder.ts';
import { definePlugin, type Plugin } from '../../src/http/plugin.ts';
import { startTestService, type TestResponse } from '../../src/testing/index.ts';

function ignore(): void {
  // Replaced by the executor of a promise.
}

/** A plugin with one endpoint, `/work`. */
function working(work: () => Promise<void>): Plugin {
  const handle = async (): Promise<ReturnType<typeof jsonResponse>> => {
    await work();
    return jsonResponse(200, {});
  };
  const operations = { POST: { id: 'work', consumes: ['application/json'], handle } };
  return definePlugin({
    name: 'working',
    setup: () => ({ endpoints: [{ name: 'work', path: '/work', isResource: false, operations }] }),
  });
}

describe('A process', () => {
  it('refuses requests beyond its limit, serves the liveness check, and counts refusals.', async () => {
    let release = ignore;
    let begun = 0;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let bothWork = ignore;
    const bothBegan = new Promise<void>((resolve) => {
      bothWork = resolve;
    });
    const plugin = working(() => {
      if (++begun === 2) bothWork();
      return released;
    });
    const lines: unknown[] = [];
    const service = await startTestService({
      settings: {
        max_requests_under_way: '2',
        max_requests_under_way_per_address: '0',
        includes: 'prometheus',
        retry_after_seconds: '7',
      },
      plugins: [plugin],
      logger: { ...silentLogger, error: (...given: unknown[]) => void lines.push(given) },
    });
    onTestFinished(() => service.close());
    const held = [1, 2].map(() => service.request('POST', '/v1/work', { body: {} }));
    await bothBegan;
    const refused = await service.request('PUT', '/v1/buckets/b', { auth: 'ann', body: { data: {} } });
    expect(refused).toMatchObject({
      status: 503,
      headers: { 'retry-after': '7', 'x-content-type-options': 'nosniff' },
      body: { code: 503, errno: 201, error: 'Service Unavailable' },
    });
    expect(refused.headers['connection']).not.toBe('close');
    for (const path of ['/v1/__lbheartbeat__', '/__lbheartbeat__', '/v1/__lbheartbeat__?x=1']) {
      expect((await service.request('GET', path)).status).toBe(200);
    }
    expect((await service.request('GET', '/v1/__lbheartbeat__/x')).status).toBe(503);
    release();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await service.request('GET', '/v1/buckets/b', { auth: 'ann' })).status).toBe(403);
    const { text } = await service.request('GET', '/v1/__metrics__');
    expect(text).toMatch(/coffer_requests_refused_total\{reason="requests"\} 2/);
    // A line for each of them in the log would be more to do, not less.
    expect(lines).toEqual([]);
  });

  it('leaves requests to other addresses when one has as many as it may.', async () => {
    let release = ignore;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begin = ignore;
    const began = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const plugin = working(() => {
      begin();
      return released;
    });
    const settings = { max_requests_under_way_per_address: '1', trusted_proxies: '127.0.0.1' };
    const service = await startTestService({ settings, plugins: [plugin] });
    onTestFinished(() => service.close());
    const from = (address: string): { readonly headers: Readonly<Record<string, string>> } => ({
      headers: { 'X-Forwarded-For': address },
    });
    const held = service.request('POST', '/v1/work', { body: {}, ...from('192.0.2.1') });
    await began;
    expect((await service.request('GET', '/v1/', from('192.0.2.1'))).status).toBe(503);
    expect((await service.request('GET', '/v1/', from('192.0.2.2'))).status).toBe(200);
    release();
    expect((await held).status).toBe(200);
    expect((await service.request('GET', '/v1/', from('192.0.2.1'))).status).toBe(200);
  });

  it('does not count slow senders among the concurrent requests.', async () => {
    const service = await startTestService({ settings: { max_requests_under_way: '1' } });
    onTestFinished(() => service.close());
    const { port } = new URL(service.origin);
    const sockets = [1, 2, 3].map(() => connect(Number(port), '127.0.0.1'));
    onTestFinished(() => void sockets.map((socket) => socket.destroy()));
    const head = 'POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.write(head);
    expect((await service.request('GET', '/v1/')).status).toBe(200);
  });

  it('that is really overloaded refuses a share of the requests, and recovers on its own.', async () => {
    let isBusy = true;
    // As a handler would that computes for long, again and again.
    const plugin = working(async () => {
      await Promise.resolve();
      if (!isBusy) return;
      const until = performance.now() + 60;
      while (performance.now() < until);
    });
    const service = await startTestService({ settings: { max_event_loop_delay_ms: '40' }, plugins: [plugin] });
    onTestFinished(() => service.close());
    const work = (): Promise<TestResponse> => service.request('POST', '/v1/work', { body: {} });
    // Several at a time, until one is refused.
    let refusal: TestResponse | undefined;
    const press = async (): Promise<void> => {
      while (refusal === undefined) {
        const answer = await work();
        if (answer.status !== 200) refusal = answer;
      }
    };
    await Promise.all([press(), press(), press(), press()]);
    expect(refusal).toMatchObject({ status: 503, body: { errno: 201 } });
    isBusy = false;
    let calm = 0;
    while (calm < 20) calm = (await work()).status === 200 ? calm + 1 : 0;
  });
});

describe('The refused share', () => {
  const start = (maxDelayMs = 100): LoadShedder =>
    new LoadShedder({
      maxUnderWay: 0,
      maxOfAddress: 0,
      maxDelayMs,
      vitalPaths: new Set(['/v1/alive']),
      logger: silentLogger,
    });
  const refusedOf = (load: LoadShedder, requests: number): number =>
    Array.from({ length: requests }, () => load.findOverload('/v1/x', '')).filter((reason) => reason === 'delay')
      .length;

  it('grows while the event loop is late, and shrinks otherwise.', () => {
    const load = start();
    const parts = [50, 150, 50, 150, 150, 150, 150, 150, 150, 100, 0, 0, 0, 0].map((delay) => {
      load.noteDelay(delay);
      return refusedOf(load, 100);
    });
    // One late sample alone is nothing.
    expect(parts).toEqual([0, 0, 0, 0, 25, 50, 75, 100, 100, 75, 50, 25, 0, 0]);
  });

  it('never includes vital paths.', () => {
    const load = start();
    for (let i = 0; i < 10; i++) load.noteDelay(1000);
    expect(load.findOverload('/v1/alive', '')).toBeUndefined();
    expect(load.findOverload('/v1/alive?x', '')).toBeUndefined();
    expect(load.findOverload('/v1/alive2', '')).toBe('delay');
  });

  it('is zero without a limit.', () => {
    const load = start(0);
    for (let i = 0; i < 10; i++) load.noteDelay(1e6);
    expect(refusedOf(load, 100)).toBe(0);
  });
});
