// Foreign clients of live updates: `eventsource` from npm, and `EventSource` of Chromium with the program of the guide. Their
// streams end again and again, so that they reconnect with `Last-Event-ID`, also through nginx and HAProxy.
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EventSource } from 'eventsource';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { authorizationOf, startTestService, type TestService } from '../../src/testing/index.ts';
import { openBrowser } from '../console/visitor.ts';
import { inExtent } from '../support/extent.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { startNginx } from '../support/nginx.ts';

const collection = '/v1/buckets/b/collections/c';
const records = `${collection}/records`;

interface Way {
  readonly name: string;
  readonly start: (origin: string) => Promise<{ readonly origin: string; stop(): Promise<void> }>;
}

const guide = readFileSync(new URL('../../docs/guides/live-updates.md', import.meta.url), 'utf8');
const blockOf = (language: string): string => new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(guide)![1]!;

const direct: Way = { name: 'directly', start: (origin) => Promise.resolve({ origin, stop: () => Promise.resolve() }) };
const nginx: Way = {
  name: 'through nginx',
  start: (origin) => startNginx(origin, blockOf('nginx').replace('127.0.0.1:8888', new URL(origin).host)),
};
const haproxy: Way = {
  name: 'through HAProxy',
  start: (origin) =>
    startHaproxy(origin, ([port, other]) =>
      blockOf('haproxy')
        .replace('127.0.0.1:8080', `127.0.0.1:${port}\n  bind 127.0.0.1:${other}`)
        .replace('127.0.0.1:8888', new URL(origin).host),
    ),
};

/** A page of the application, on an origin of its own. */
async function startApp(): Promise<{ readonly origin: string; readonly server: Server }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>app</title>');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe.each(inExtent([nginx], [direct, nginx, haproxy]))('foreign clients $name', ({ start }) => {
  let service: TestService;
  let way: Awaited<ReturnType<Way['start']>>;
  let app: Awaited<ReturnType<typeof startApp>>;
  let browser: Browser;

  beforeAll(async () => {
    app = await startApp();
    service = await startTestService({
      settings: { live_max_seconds: '1', live_recheck_seconds: '0.5', cors_origins: app.origin },
    });
    way = await start(service.origin);
    browser = await openBrowser();
    await write('PUT', '/v1/buckets/b');
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    await way.stop();
    await service.close();
    app.server.close();
  });

  async function write(method: string, path: string, body?: object): Promise<void> {
    const options = body === undefined ? {} : { body };
    const { status, text } = await service.request(method, path, { auth: 'alice', ...options });
    expect(status, text).toBeLessThan(300);
  }

  async function createCollection(): Promise<void> {
    const { body } = await service.request('GET', '/v1/', { auth: 'bob' });
    const { id } = (body as { user: { id: string } }).user;
    await write('PUT', collection, { permissions: { read: [id] } });
  }

  /** Makes the program of the guide known to a page. */
  async function loadProgram(page: Page): Promise<void> {
    const program = /```js\n(export async function followInBrowser[^]*?)```/.exec(guide)![1]!;
    await page.addScriptTag({ type: 'module', content: `${program}; globalThis.followInBrowser = followInBrowser;` });
    await page.waitForFunction('globalThis.followInBrowser !== undefined');
  }

  it('eventsource receives every change once, over several connections', async () => {
    await createCollection();
    let connections = 0;
    const source = new EventSource(`${way.origin}${records}?_live=sse&_since=0`, {
      fetch: (url, init) => {
        connections += 1;
        return fetch(url, { ...init, headers: { ...init.headers, Authorization: authorizationOf('bob') } });
      },
    });
    onTestFinished(() => source.close());
    const received: string[] = [];
    source.addEventListener('changes', ({ data }: { data: string }) => {
      for (const { id } of (JSON.parse(data) as { data: { id: string }[] }).data) received.push(id);
    });
    let n = 0;
    await expect
      .poll(
        async () => {
          await write('PUT', `${records}/r${n}`);
          n += 1;
          return connections;
        },
        { timeout: 60_000, interval: 50 },
      )
      .toBeGreaterThanOrEqual(3);
    await expect.poll(() => received.length, { timeout: 60_000 }).toBe(n);
    expect(received).toEqual(Array.from({ length: n }, (_, index) => `r${index}`));
    await write('DELETE', collection);
    await expect.poll(() => source.readyState, { timeout: 60_000 }).toBe(EventSource.CLOSED);
  });

  it('the program of the guide renews its session in Chromium, and begins anew after a refusal', async () => {
    await createCollection();
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    await page.clock.install();
    await page.goto(app.origin);
    await loadProgram(page);
    const [list, authorization] = [records.slice('/v1'.length), JSON.stringify(authorizationOf('bob'))];
    await page.evaluate(`(async () => {
      globalThis.source = await followInBrowser('${way.origin}/v1', '${list}', ${authorization}, (copy) => { globalThis.copy = copy; });
    })()`);
    await page.waitForFunction('globalThis.copy?.length === 0', undefined, { timeout: 60_000 });
    const renewed = page.waitForResponse((response) => response.url().endsWith('/live/session'));
    await page.clock.fastForward('31:00');
    expect((await renewed).status()).toBe(201);
    const headers = { 'Access-Control-Allow-Origin': app.origin, 'Access-Control-Allow-Credentials': 'true' };
    await page.route('**/*_live=sse*', (route) => route.fulfill({ status: 503, headers }), { times: 1 });
    await page.waitForFunction('source.readyState === EventSource.CLOSED', undefined, { timeout: 60_000 });
    await write('PUT', `${records}/a`);
    await page.waitForFunction('copy.length === 1', undefined, { timeout: 60_000 });
    await write('DELETE', collection);
  });

  it('the program of the guide keeps a copy in Chromium, with a session, until access is lost', async () => {
    await createCollection();
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    await page.goto(app.origin);
    await loadProgram(page);
    const authorization = JSON.stringify(authorizationOf('bob'));
    const list = records.slice('/v1'.length);
    await page.evaluate(`(async () => {
      globalThis.opened = 0;
      globalThis.source = await followInBrowser('${way.origin}/v1', '${list}', ${authorization}, (copy) => { globalThis.copy = copy; });
      source.addEventListener('open', () => { globalThis.opened += 1; });
    })()`);
    for (const id of ['a', 'b']) await write('PUT', `${records}/${id}`);
    await page.waitForFunction('globalThis.copy?.length === 2', undefined, { timeout: 60_000 });
    // Written between two connections, sooner or later.
    await page.waitForFunction('source.readyState === EventSource.CONNECTING', undefined, { timeout: 60_000 });
    await write('DELETE', `${records}/a`);
    await write('PUT', `${records}/c`, { data: { n: 1 } });
    await page.waitForFunction(`copy.map(({ id }) => id).join() === 'b,c'`, undefined, { timeout: 60_000 });
    await page.waitForFunction('opened >= 2', undefined, { timeout: 60_000 });
    await write('PATCH', collection, { permissions: { read: [] } });
    await page.waitForFunction('source.readyState === EventSource.CLOSED', undefined, { timeout: 60_000 });
  });
});
