// The client in Chromium: a bundle on a page of another origin, in a worker too, with credentials, live updates and files.
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { basic, Coffer } from '../../../packages/client/src/index.ts';
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { projectRoot } from '../../architecture/source-tree.ts';
import { openBrowser } from '../../console/visitor.ts';
import { FaultyProxy } from './faulty-proxy.ts';

const entry = path.join(projectRoot, 'packages', 'client', 'src', 'index.ts');

/** Reports the result of a program as a message, from a worker or to the page. */
const workerProgram = `
import { basic, Coffer } from '@coffer/client';
self.onmessage = async ({ data }) => {
  const notes = new Coffer(data, { auth: basic('ann', 'secret of ann') }).bucket('b').collection('c');
  await notes.create({ id: 'from-worker', n: 1 });
  for await (const { changes, current } of notes.live()) {
    if (current) return self.postMessage(changes.map(({ id }) => id));
  }
};`;

async function bundle(code: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: projectRoot, loader: 'ts' },
    alias: { '@coffer/client': entry },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  return outputFiles[0]!.text;
}

describe('The client in Chromium', () => {
  let browser: Browser;
  let service: TestService;
  let proxy: FaultyProxy;
  let pages: Server;
  let origin: string;
  const files = mkdtempSync(path.join(tmpdir(), 'coffer-files-'));

  beforeAll(async () => {
    browser = await openBrowser();
    service = await startTestService({ settings: { includes: 'attachments', 'attachment.base_path': files } });
    proxy = await FaultyProxy.start(service.origin);
    const texts: Record<string, readonly [string, string]> = {
      '/': ['text/html', '<!doctype html><title>Client</title><link rel="icon" href="data:,">'],
      '/client.js': ['text/javascript', await bundle("export * from '@coffer/client';")],
      '/worker.js': ['text/javascript', await bundle(workerProgram)],
    };
    pages = createServer((request, response) => {
      const [type, text] = texts[request.url!] ?? ['text/plain', ''];
      response.writeHead(text === '' ? 404 : 200, { 'Content-Type': type }).end(text);
    });
    pages.listen(0, '127.0.0.1');
    await once(pages, 'listening');
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    const coffer = client();
    await coffer.buckets.create({ id: 'b' });
    await coffer.bucket('b').collections.create({ id: 'c' });
  }, 300_000);
  afterAll(async () => {
    await browser.close();
    pages.close();
    await proxy.close();
    await service.close();
    rmSync(files, { recursive: true, force: true });
  });

  function client(): Coffer {
    return new Coffer(service.origin, { auth: basic('ann', 'secret of ann') });
  }

  async function open(): Promise<{ readonly page: Page; readonly faults: readonly string[] }> {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    onTestFinished(() => page.close());
    await page.goto(origin);
    await page.evaluate(`(async () => {
      const api = await import('/client.js');
      Object.assign(window, { api, notes: new api.Coffer('${proxy.origin}', {
        auth: api.basic('ann', 'secret of ann'), maxPauseMs: 50 }).bucket('b').collection('c') });
    })()`);
    return { page, faults };
  }

  it('reads headers, statuses and pages across origins', async () => {
    const { page, faults } = await open();
    const result = await page.evaluate(`(async () => {
      const made = await notes.create({ title: 'ä☃' });
      await notes.create({ title: 'second' });
      const first = await notes.list({ limit: 1, total: true }).page();
      const second = await notes.list({ limit: 1 }).page(first.next);
      const unchanged = await notes.get(made.id, { ifNoneMatch: made.last_modified });
      const error = await notes.put(made.id, {}, { ifMatch: 5 }).catch((thrown) => thrown);
      const batch = await new api.Coffer('${proxy.origin}', { auth: api.basic('ann', 'secret of ann') }).batch((root) =>
        [root.bucket('b').collection('c').patch(made.id, { done: true })]);
      const gone = await notes.deleteAll();
      return { total: first.total, etag: first.etag, second: second.data.length, unchanged: unchanged === undefined,
        status: error.status, existing: error.existing.title, batch: batch[0].status, gone: gone.length };
    })()`);
    expect(result).toMatchObject({
      total: 2,
      etag: expect.stringMatching(/^\d+$/) as unknown,
      second: 1,
      unchanged: true,
      status: 412,
      existing: 'ä☃',
      batch: 'fulfilled',
      gone: 2,
    });
    expect(faults).toEqual([]);
  });

  it('follows a list over cut connections', async () => {
    const { page, faults } = await open();
    await page.evaluate(`(async () => {
      window.copy = new Map();
      window.controller = new AbortController();
      window.ended = (async () => {
        for await (const { changes, resync } of notes.live({ signal: controller.signal })) {
          if (resync) copy.clear();
          for (const change of changes) api.isRemoval(change) ? copy.delete(change.id) : copy.set(change.id, change);
          document.title = [...copy.keys()].sort().join(' ') || 'empty';
        }
      })();
    })()`);
    const notes = client().bucket('b').collection('c');
    await notes.create({ id: 'one' });
    await page.waitForFunction("document.title === 'one'");
    proxy.cutAll();
    await notes.create({ id: 'two' });
    await page.waitForFunction("document.title === 'one two'");
    await notes.deleteAll();
    await page.waitForFunction("document.title === 'empty'");
    await page.evaluate('(async () => { controller.abort(); await ended; })()');
    expect(faults).toEqual([]);
  });

  it('works in a worker', async () => {
    const { page } = await open();
    const ids = await page.evaluate(`new Promise((resolve, reject) => {
      const worker = new Worker('/worker.js', { type: 'module' });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage('${proxy.origin}');
    })`);
    expect(ids).toContain('from-worker');
    await client().bucket('b').collection('c').deleteAll();
  });

  it('stores and reads files', async () => {
    const { page } = await open();
    const result = await page.evaluate(`(async () => {
      const file = notes.attachment('picture');
      const info = await file.put(new File(['bytes'], 'a.txt', { type: 'text/plain' }), { data: { title: 'T' } });
      const { attachment, title } = await notes.get('picture');
      const { url } = await file.url();
      const signed = await (await fetch(url)).text();
      const blob = await file.read(attachment);
      const own = await blob.text();
      await file.delete();
      if (new api.Coffer('/v1').buckets.path !== '/buckets') throw new Error('no relative address');
      return { size: info.size, title, own, signed, left: (await notes.get('picture')).attachment };
    })()`);
    expect(result).toEqual({ size: 5, title: 'T', own: 'bytes', signed: 'bytes', left: null });
  });

  it('reads the tokens of a login from the address of a page', async () => {
    const { page } = await open();
    const result = await page.evaluate(`(() => {
      const tokens = { access_token: 'of-ann', name: 'Ännchen ☃' };
      const bytes = new TextEncoder().encode(JSON.stringify(tokens));
      history.replaceState(null, '', '#tokens=' + encodeURIComponent(btoa(String.fromCharCode(...bytes))));
      const login = new URL(api.openIdLogin('http://localhost/v1', { provider: 'company', callback: location.href }));
      return [api.openIdTokens(location.href), api.openIdTokens(location.origin), api.openIdTokens('/#tokens=%%'),
        login.pathname, login.searchParams.get('callback') === location.origin + '/#tokens=', login.searchParams.get('scope')];
    })()`);
    expect(result).toEqual([
      { access_token: 'of-ann', name: 'Ännchen ☃' },
      undefined,
      undefined,
      '/v1/openid/company/login',
      true,
      'openid email',
    ]);
  });
});
