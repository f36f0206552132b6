// The program of the guide to live updates and its configurations of proxies, taken from the page and run together.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorizationOf, startTestService, type TestService } from '../../src/testing/index.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { startNginx } from '../support/nginx.ts';
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
  const aborting = new AbortController();

  beforeAll(async () => {
    service = await startTestService();
    way = await start(service.origin);
    await write('PUT', '/v1/buckets/b');
    await write('PUT', '/v1/buckets/b/collections/c');
  });
  afterAll(async () => {
    aborting.abort();
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

  it('has a program that holds what the list contains', async () => {
    const code = blockOf('js', 'export async function follow(');
    const { follow }: { follow: Follow } = await import(
      /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(code)}`
    );
    let copy: readonly Record[] = [];
    const ended = follow(way.origin + path, {
      headers: { Authorization: authorizationOf('alice') },
      signal: aborting.signal,
      changed: (records) => {
        copy = records;
      },
    }).catch((error: unknown) => error);
    await write('PUT', `${path}/a`, { data: { n: 1 } });
    await write('PUT', `${path}/b`, { data: { n: 2 } });
    await expect.poll(() => copy.map(({ id }) => id), { timeout: 20_000 }).toEqual(['a', 'b']);
    await write('PUT', `${path}/a`, { data: { n: 3 } });
    await write('DELETE', `${path}/b`);
    await expect.poll(() => copy.map(({ id, n }) => ({ id, n })), { timeout: 20_000 }).toEqual([{ id: 'a', n: 3 }]);
    await write('DELETE', '/v1/buckets/b/collections/c');
    expect(String(await ended)).toContain('"errno":111');
    await write('PUT', '/v1/buckets/b/collections/c');
  });

  it('passes each frame on at once, and a client that was cut off goes on where it was', async () => {
    const stream = await EventClient.open(way.origin, `${path}?_live=sse`, { auth: 'alice' });
    const { id } = await stream.until('current');
    stream.close();
    await write('PUT', `${path}/meanwhile`);
    const again = await EventClient.open(way.origin, `${path}?_live=sse`, {
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
