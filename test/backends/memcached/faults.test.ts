// A cache on memcached when servers are slow, down, full or restarted, and the stored values.
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openMemcachedCache } from '../../../src/backends/memcached/cache.ts';
import type { CacheBackend } from '../../../src/contracts/cache.ts';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { createTestClock, startTestService, type TestClock } from '../../../src/testing/index.ts';
import { MemcachedProcess } from '../../support/memcached.ts';

let server: MemcachedProcess;

beforeAll(async () => {
  server = await MemcachedProcess.start();
}, 120_000);

afterAll(() => server.kill());

interface OpenOptions {
  readonly hosts?: readonly { readonly host: string; readonly port: number }[];
  readonly prefix?: string;
  readonly timeoutSeconds?: number;
  readonly maxBacklog?: number;
  readonly clock?: TestClock;
}

async function open(options: OpenOptions = {}): Promise<CacheBackend> {
  const { hosts = [server], prefix = '', timeoutSeconds = 5, maxBacklog = 1000, clock = createTestClock() } = options;
  const cache = await openMemcachedCache({ hosts, prefix, timeoutSeconds, maxBacklog, clock });
  onTestFinished(() => cache.close());
  return cache;
}

/** Returns the response of a server to raw lines. */
async function ask({ host, port }: MemcachedProcess, lines: string, until: string): Promise<string> {
  const socket = connect(port, host);
  socket.write(lines);
  let text = '';
  while (!text.endsWith(until)) text += String(((await once(socket, 'data')) as [Buffer])[0]);
  socket.destroy();
  return text;
}

describe('A memcached server', () => {
  it('that is down prevents opening the cache, with a clear error.', async () => {
    const away = await MemcachedProcess.start();
    await away.kill();
    await expect(open({ hosts: [server, away] })).rejects.toMatchObject({
      backend: 'cache',
      reason: 'the server cannot be reached (ECONNREFUSED)',
    });
  });

  it('that goes down causes errors at once, and is used again when it is up.', async () => {
    const own = await MemcachedProcess.start();
    onTestFinished(() => own.kill());
    const cache = await open({ hosts: [own] });
    await cache.set('key', 1, 60);
    await own.kill();
    await expect(cache.get('key')).rejects.toBeInstanceOf(BackendUnavailable);
    await expect(cache.set('key', 2, 60)).rejects.toBeInstanceOf(BackendUnavailable);
    await own.start();
    expect(await cache.get('key')).toBeUndefined();
    await cache.set('key', 3, 60);
    expect(await cache.get('key')).toBe(3);
  });

  it('that was restarted does not affect readers.', async () => {
    const own = await MemcachedProcess.start();
    onTestFinished(() => own.kill());
    const cache = await open({ hosts: [own] });
    await cache.set('key', 1, 60);
    await own.kill();
    await own.start();
    expect(await cache.get('key')).toBeUndefined();
  });

  it('that is down is named by host and port in the log, but not to clients.', async () => {
    const missing = open({ hosts: [{ host: '127.0.0.1', port: 1 }] });
    await expect(missing).rejects.toMatchObject({
      message: 'memcached at 127.0.0.1:1: the server cannot be reached (ECONNREFUSED)',
      reason: 'the server cannot be reached (ECONNREFUSED)',
    });
  });

  it('that does not respond causes a timeout, also at close.', async () => {
    const own = await MemcachedProcess.start();
    onTestFinished(() => own.kill());
    const cache = await openMemcachedCache({
      hosts: [own],
      timeoutSeconds: 0.2,
      maxBacklog: 1000,
      clock: createTestClock(),
    });
    await own.pause();
    const outcomes = await Promise.allSettled([cache.get('a'), cache.set('b', 1, 60), cache.advance('c', 1, 0, 60)]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { reason: 'the server did not answer in time' } });
    }
    own.resume();
    expect(await cache.get('a')).toBeUndefined();
    await own.pause();
    await cache.close();
  });

  it('that does not speak the memcached protocol is refused.', async () => {
    const other = createServer((socket) => {
      socket.on('error', () => {});
      socket.end('x'.repeat(5000));
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    await expect(open({ hosts: [{ host: '127.0.0.1', port }] })).rejects.toBeInstanceOf(BackendUnavailable);
  });

  it('gets no more commands than the backlog allows without a connection.', async () => {
    const own = await MemcachedProcess.start();
    onTestFinished(() => own.kill());
    const cache = await open({ hosts: [own], maxBacklog: 2 });
    await own.kill();
    await expect(cache.set('key', 0, 60)).rejects.toBeInstanceOf(BackendUnavailable);
    const outcomes = await Promise.allSettled([1, 2, 3].map((n) => cache.set('key', n, 60)));
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual([
      expect.stringContaining('ECONNREFUSED'),
      expect.stringContaining('ECONNREFUSED'),
      expect.stringContaining('too many commands'),
    ]);
  });
});

describe('A value on memcached', () => {
  it('that is too large counts as evicted at once.', async () => {
    const cache = await open();
    await cache.set('large', 'small', 60);
    await cache.set('large', 'x'.repeat(3_000_000), 60);
    expect(await cache.get('large')).toBeUndefined();
    await cache.set('large', 'x'.repeat(900_000), 60);
    expect(await cache.get('large')).toHaveLength(900_000);
  });

  it('is separate for each prefix and key.', async () => {
    const [a, b] = [await open({ prefix: 'a' }), await open({ prefix: 'b' })];
    await a.set('key\r\nflush_all\r\n', 1, 60);
    await b.set('key\r\nflush_all\r\n', 2, 60);
    expect(await a.get('key\r\nflush_all\r\n')).toBe(1);
    await a.delete('key\r\nflush_all\r\n');
    expect(await b.get('key\r\nflush_all\r\n')).toBe(2);
  });

  it('can live for years, and expires on the server too.', async () => {
    const cache = await open();
    const year = 365 * 24 * 3600;
    for (const seconds of [30 * 24 * 3600, year, 100 * year]) {
      await cache.set('old', seconds, seconds);
      expect(await cache.get('old')).toBe(seconds);
    }
    const own = await MemcachedProcess.start();
    onTestFinished(() => own.kill());
    const other = await open({ hosts: [own] });
    await other.set('taken', 1, 60);
    await other.delete('taken');
    expect(await ask(own, 'stats\r\n', 'END\r\n')).toMatch(/STAT cas_hits 1\r\n/);
    expect(await other.get('taken')).toBeUndefined();
  });

  it('that is replaced or deleted while it is extended is neither restored nor overwritten.', async () => {
    const clock = createTestClock();
    const [a, b] = [await open({ clock }), await open({ clock })];
    for (let round = 0; round < 30; round++) {
      await a.set('key', 'old', 60);
      const [, taken] = await Promise.all([a.expire('key', 100), b.delete('key')]);
      expect([taken, await a.get('key')]).toEqual(['old', undefined]);
      await a.set('key', 'old', 60);
      await Promise.all([a.expire('key', 100), b.set('key', 'new', 60)]);
      expect(await a.get('key')).toBe('new');
    }
  });
});

it('several servers share the keys independently of their order, and a flush empties all.', async () => {
  const servers = await Promise.all([1, 2, 3].map(() => MemcachedProcess.start()));
  onTestFinished(async () => {
    for (const one of servers) await one.kill();
  });
  const cache = await open({ hosts: servers });
  const keys = Array.from({ length: 60 }, (_, n) => `key ${n}`);
  for (const key of keys) await cache.set(key, key, 60);
  for (const one of servers) {
    const items = Number(/STAT curr_items (\d+)/.exec(await ask(one, 'stats\r\n', 'END\r\n'))?.[1]);
    expect(items).toBeGreaterThan(5);
  }
  const other = await open({ hosts: servers.toReversed() });
  for (const key of keys) expect(await other.get(key)).toBe(key);
  await other.flush();
  for (const key of keys) expect(await cache.get(key)).toBeUndefined();
});

it('a service reports a cache failure in its heartbeat and recovers.', async () => {
  const own = await MemcachedProcess.start();
  onTestFinished(() => own.kill());
  const service = await startTestService({
    settings: { cache_backend: 'kinto.core.cache.memcached', cache_hosts: `127.0.0.1:${own.port}` },
  });
  onTestFinished(() => service.close());
  expect((await service.request('GET', '/v1/__heartbeat__')).body).toMatchObject({ cache: true });
  await own.kill();
  const { status, body } = await service.request('GET', '/v1/__heartbeat__');
  expect([status, body]).toMatchObject([503, { cache: false, storage: true }]);
  await own.start();
  expect((await service.request('GET', '/v1/__heartbeat__')).status).toBe(200);
});
