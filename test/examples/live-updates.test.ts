// The program of the guide to live updates and its configurations of proxies, taken from the page and run together.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { authorizationOf, startTestService, type TestService } from '../../src/testing/index.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { startNginx } from '../support/nginx.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { EventClient } from '../live/event-client.ts';

interface Record {
  readonly id: string;
  readonly n?: number;
}

type Follow = (
  list: string,
  options: {
    readonly headers?: object;
    readonly signal?: AbortSignal;
    readonly changed: (records: readonly Record[]) => void;
  },
) => Promise<never>;

const page = readFileSync(new URL('../../docs/guides/live-updates.md', import.meta.url), 'utf8');

/** Returns the block of the page in a language that contains a text. */
function blockOf(language: string, text: string): string {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map((match) => match[1]!);
  return blocks.find((block) => block.includes(text))!;
}

const path = '/v1/buckets/b/collections/c/records';
const address = '127.0.0.1:8888';

/** Servers that clients reach the service through, by name. */
const ways: readonly [string, (origin: string) => Promise<{ origin: string; stop(): Promise<void> }>][] = [
  ['directly', (origin) => Promise.resolve({ origin, stop: () => Promise.resolve() })],
  [
    'through nginx',
    (origin) => startNginx(origin, blockOf('nginx', 'location').replace(address, new URL(origin).host)),
  ],
  [
    'through HAProxy',
    (origin) =>
      startHaproxy(origin, ([port, other]) =>
        blockOf('haproxy', 'defaults')
          .replace('127.0.0.1:8080', `127.0.0.1:${port}\n  bind 127.0.0.1:${other}`)
          .replace(address, new URL(origin).host),
      ),
  ],
];

describe.each(ways)('the guide to live updates, %s', (_, start) => {
  let service: TestService;
  let way: Awaited<ReturnType<typeof start>>;
  /** The network between clients and the way. */
  let network: TcpProxy;
  let origin: string;
  const aborting = new AbortController();

  beforeAll(async () => {
    service = await startTestService();
    way = await start(service.origin);
    network = await TcpProxy.to(Number(new URL(way.origin).port));
    origin = `http://127.0.0.1:${network.port}`;
    await write('PUT', '/v1/buckets/b');
    await write('PUT', '/v1/buckets/b/collections/c');
  });
  afterAll(async () => {
    aborting.abort();
    await network.close();
    await way.stop();
    await service.close();
  });

  async function write(method: string, at: string, body?: object): Promise<void> {
    const { status, text } = await service.request(method, at, {
      auth: 'alice',
      ...(body === undefined ? {} : { body }),
    });
    expect(status, text).toBeLessThan(300);
  }

  it('has a program that holds what the list contains, also after its connection was cut', async () => {
    const code = blockOf('js', 'export async function follow(');
    const { follow }: { follow: Follow } = await import(
      /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`
    );
    let copy: readonly Record[] = [];
    const ended = follow(origin + path, {
      headers: { Authorization: authorizationOf('alice') },
      signal: aborting.signal,
      changed: (records) => {
        copy = records;
      },
    }).catch((error: unknown) => error);
    await write('PUT', `${path}/a`, { data: { n: 1 } });
    await write('PUT', `${path}/b`, { data: { n: 2 } });
    await expect.poll(() => copy.map(({ id }) => id), { timeout: 60_000 }).toEqual(['a', 'b']);
    await write('PUT', `${path}/a`, { data: { n: 3 } });
    await write('DELETE', `${path}/b`);
    await expect.poll(() => copy.map(({ id, n }) => ({ id, n })), { timeout: 60_000 }).toEqual([{ id: 'a', n: 3 }]);
    network.refuse();
    await write('DELETE', `${path}/a`);
    await write('PUT', `${path}/c`, { data: { n: 4 } });
    network.mend();
    await expect.poll(() => copy.map(({ id, n }) => ({ id, n })), { timeout: 60_000 }).toEqual([{ id: 'c', n: 4 }]);
    await write('DELETE', '/v1/buckets/b/collections/c');
    expect(String(await ended)).toContain('"errno":111');
    await write('PUT', '/v1/buckets/b/collections/c');
  });

  it('passes each frame on at once, and a client that was cut off goes on where it was', async () => {
    await write('PUT', `${path}/before`);
    const stream = await EventClient.open(origin, `${path}?_live=sse`, { auth: 'alice' });
    const { id } = await stream.until('current');
    network.refuse();
    expect(await stream.nextOrEnd()).toBeUndefined();
    await write('PUT', `${path}/meanwhile`);
    network.mend();
    const again = await EventClient.open(origin, `${path}?_live=sse`, {
      auth: 'alice',
      headers: { 'last-event-id': id! },
    });
    expect((await again.next()).data).toMatchObject({ data: [{ id: 'meanwhile' }] });
    await again.until('current');
    await write('PUT', `${path}/later`);
    expect((await again.next()).data).toMatchObject({ data: [{ id: 'later' }] });
    again.close();
  });
});

it('the guide has a cache that sends one poll to the service for all clients with the same cursor', async () => {
  const service = await startTestService();
  onTestFinished(() => service.close());
  const block = blockOf('nginx', 'proxy_cache_path');
  const [, folder = '', others = ''] = /^proxy_cache_path (\S+)(.*;)$/m.exec(block)!;
  expect(folder).toMatch(/^\//);
  const [location = ''] = /^ {2}location [^]*?^ {2}\}/m.exec(block)!;
  const cache = await startNginx(
    service.origin,
    location.replace(address, new URL(service.origin).host),
    (files) => `proxy_cache_path ${files}/lists${others}`,
  );
  onTestFinished(() => cache.stop());
  const write = (at: string, body: object): Promise<unknown> => service.request('PUT', at, { auth: 'alice', body });
  await write('/v1/buckets/b', { permissions: { read: ['system.Everyone'] } });
  await write('/v1/buckets/b/collections/c', { data: { cache_expires: 60 } });
  const { headers } = await service.request('GET', path);
  const poll = `${path}?_live=poll&_wait=60&_since=${headers['etag']!.replaceAll('"', '')}`;
  const polls = Array.from({ length: 10 }, async () => (await fetch(cache.origin + poll)).json());
  await write(`${path}/a`, {});
  for (const body of await Promise.all(polls)) expect(body).toMatchObject({ data: [{ id: 'a' }] });
  // A proxy logs a request after it has sent the response.
  await expect.poll(async () => (await cache.requests()).length).toBe(polls.length);
  expect((await cache.requests()).filter(({ isForwarded }) => isForwarded)).toHaveLength(1);
});
