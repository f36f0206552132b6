// S34 in a real browser: a service with the settings of a start without configuration, and pages of other sites.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { profileValues } from '../../src/settings/profile.ts';
import { authorizationOf, startTestService, type TestService } from '../../src/testing/index.ts';
import { openBrowser } from './visitor.ts';

const record = '/v1/buckets/default/collections/notes/records/1';
const authorization = authorizationOf('ann');

describe('A local service and pages in a browser', () => {
  let browser: Browser;
  let service: TestService;
  let pages: Server;
  let pagesPort: number;

  beforeAll(async () => {
    // Every name below .test is this machine: that is what an attacker's name server says when it rebinds.
    browser = await openBrowser(['--host-resolver-rules=MAP *.test 127.0.0.1']);
    const { allowed_hosts = '', cors_origins = '', includes = '' } = profileValues;
    service = await startTestService({ settings: { allowed_hosts, cors_origins, includes } });
    await service.request('PUT', record, { auth: 'ann', body: { data: { text: 'mine' } } });
    pages = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>A page</title>');
    });
    pages.listen(0, '127.0.0.1');
    await once(pages, 'listening');
    pagesPort = (pages.address() as AddressInfo).port;
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    await service.close();
    pages.closeAllConnections();
    pages.close();
    await once(pages, 'close');
  });

  async function open(address: string): Promise<Page> {
    // The page that an attacker served before the name led elsewhere has no policy of ours.
    const context = await browser.newContext({ bypassCSP: true });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(address);
    return page;
  }

  /** What a script of the page learns: a status, `0` for an opaque answer, or that the browser keeps it away. */
  function ask(page: Page, url: string, init: RequestInit = {}): Promise<number | 'kept away'> {
    return page.evaluate(
      ([address, options]) =>
        fetch(address, options).then(
          ({ status }) => status,
          () => 'kept away' as const,
        ),
      [url, init] as const,
    );
  }

  const stored = async (): Promise<unknown> => (await service.request('GET', record, { auth: 'ann' })).body;

  it('a page of a foreign site can neither read nor write.', async () => {
    const page = await open(`http://evil.test:${pagesPort}/`);
    const url = service.origin + record;
    const headers = { Authorization: authorization };
    const json = { ...headers, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ data: { text: 'theirs' } });
    expect(await ask(page, `${service.origin}/v1/`)).toBe('kept away');
    expect(await ask(page, url, { headers })).toBe('kept away');
    expect(await ask(page, url, { method: 'PUT', headers: json, body })).toBe('kept away');
    expect(await ask(page, url, { method: 'DELETE', headers })).toBe('kept away');
    const list = url.slice(0, -2);
    expect(await ask(page, list, { method: 'POST', mode: 'no-cors', body })).toBe(0);
    await page.setContent(
      `<form action="${list}" method="post" enctype="text/plain"><input name='{"data":{"a":"' value='"}}'></form>`,
    );
    await Promise.all([page.waitForURL(list), page.evaluate('document.forms[0].submit()')]);
    expect(await page.content()).toContain('"code":4');
    expect(await stored()).toMatchObject({ data: { text: 'mine' } });
    const { body: listed } = await service.request('GET', list, { auth: 'ann' });
    expect((listed as { data: unknown[] }).data).toHaveLength(1);
  });

  it('a page whose name has been made to lead to the service gets 421 for everything.', async () => {
    const { port } = new URL(service.origin);
    const page = await open(`http://rebound.test:${port}/v1/`);
    expect(await page.content()).toContain('"code":421');
    const headers = { Authorization: authorization };
    expect(await ask(page, '/v1/', { headers })).toBe(421);
    expect(await ask(page, record, { headers })).toBe(421);
    expect(await ask(page, record, { method: 'DELETE', headers })).toBe(421);
    expect(await ask(page, record, { headers: { ...headers, 'X-Forwarded-Host': 'localhost' } })).toBe(421);
    expect(await stored()).toMatchObject({ data: { text: 'mine' } });
  });

  it('a page on another port of this machine reads and writes, as in the development of an application.', async () => {
    const headers = { Authorization: authorizationOf('bob'), 'Content-Type': 'application/json' };
    for (const host of ['localhost', '127.0.0.1']) {
      const page = await open(`http://${host}:${pagesPort}/`);
      const url = `${service.origin}${record}-${host.length}`;
      expect(await ask(page, url, { method: 'PUT', headers, body: '{"data":{}}' })).toBe(201);
      expect(await ask(page, url, { headers })).toBe(200);
      expect(await ask(page, url, { method: 'DELETE', headers })).toBe(200);
    }
  });
});
