// Adapters in Chromium: a page with a program, in browsers whose connection to the service a test can break.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { basic, Coffer } from '@coffer/client';
import { build } from 'esbuild';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { projectRoot } from '../architecture/source-tree.ts';
import { openBrowser } from '../console/visitor.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

/** For machines that are busy. */
export const patience = { timeout: 30_000 };

const sourceOf = (name: string): string => path.join(projectRoot, 'packages', name, 'src', 'index.ts');

interface Batch {
  readonly defaults?: { readonly method?: string };
  readonly requests: readonly { readonly method?: string; readonly path: string }[];
}

/** A service with the bucket `b` and the collection `c` of the user `ann`, and a page that runs a program on them. */
export class BrowserWorld {
  readonly client: Coffer;
  readonly #browser: Browser;
  readonly #service: TestService;
  readonly #proxy: TcpProxy;
  readonly #pages: Server;
  readonly #faults: string[] = [];

  /** @param program TypeScript, to which `server` is the root of the API */
  static async start(program: string): Promise<BrowserWorld> {
    const [browser, service] = await Promise.all([openBrowser(), startTestService()]);
    const proxy = await TcpProxy.to(Number(new URL(service.origin).port));
    const texts: Record<string, readonly [string, string]> = {
      '/': [
        'text/html',
        '<!doctype html><title>Adapter</title><link rel="icon" href="data:,"><script src="/program.js" type="module"></script>',
      ],
      '/program.js': ['text/javascript', await bundle(`const server = 'http://127.0.0.1:${proxy.port}/v1';${program}`)],
    };
    const pages = createServer((request, response) => {
      const [type, text] = texts[request.url!] ?? ['text/plain', ''];
      response.writeHead(text === '' ? 404 : 200, { 'Content-Type': type }).end(text);
    });
    pages.listen(0, '127.0.0.1');
    await once(pages, 'listening');
    const client = new Coffer(`${service.origin}/v1`, { auth: basic('ann', 'secret of ann') });
    await client.buckets.create({ id: 'b' });
    await client.bucket('b').collections.create({ id: 'c' });
    return new BrowserWorld(client, browser, service, proxy, pages);
  }

  private constructor(client: Coffer, browser: Browser, service: TestService, proxy: TcpProxy, pages: Server) {
    this.client = client;
    this.#browser = browser;
    this.#service = service;
    this.#proxy = proxy;
    this.#pages = pages;
  }

  /** Opens a browser with storage of its own. */
  newBrowser(): Promise<BrowserContext> {
    return this.#browser.newContext();
  }

  /** Returns the writes of all tabs of a browser that were answered, such as `PUT milk`, as the list grows. */
  writesOf(context: BrowserContext): readonly string[] {
    const writes: string[] = [];
    const note = (method: string, address: string): void => {
      if (method !== 'GET' && method !== 'OPTIONS') writes.push(`${method} ${address.split('/').at(-1)}`);
    };
    context.on('response', (response) => {
      const request = response.request();
      if (!request.url().endsWith('/batch')) return note(request.method(), request.url());
      const { requests, defaults } = request.postDataJSON() as Batch;
      for (const { method, path: address } of requests) note(method ?? defaults?.method ?? 'GET', address);
    });
    return writes;
  }

  /** Opens a tab, and waits until the program has begun. */
  async openTab(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(patience.timeout);
    page.on('pageerror', (error) => this.#faults.push(error.message));
    await page.goto(`http://127.0.0.1:${(this.#pages.address() as AddressInfo).port}`);
    await page.waitForFunction('globalThis.ready');
    return page;
  }

  /** Switches the network of a browser. `navigator.onLine` and its events say so. */
  async setOnline(context: BrowserContext, isOnline: boolean): Promise<void> {
    if (isOnline) this.#proxy.mend();
    else this.#proxy.refuse();
    await context.setOffline(!isOnline);
  }

  /** Returns the titles of all records of the service, by id. */
  async stored(): Promise<Record<string, unknown>> {
    const { data } = await this.client.bucket('b').collection('c').list().all();
    return Object.fromEntries(data.map(({ id, title }) => [id, { title }]));
  }

  async close(): Promise<void> {
    await this.#browser.close();
    this.#pages.close();
    await this.#proxy.close();
    await this.#service.close();
    expect(this.#faults).toEqual([]);
  }
}

async function bundle(code: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: projectRoot, loader: 'ts' },
    alias: {
      '@coffer/client': sourceOf('client'),
      '@coffer/rxdb': sourceOf('rxdb'),
      '@coffer/tanstack-db': sourceOf('tanstack-db'),
      // The package for persistence depends on an older version. Two copies would not know each other.
      '@tanstack/db': path.join(projectRoot, 'node_modules', '@tanstack', 'db'),
    },
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  return outputFiles[0]!.text;
}
