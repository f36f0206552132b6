// Interruptions: the service forgets, flushes, is restored, refuses, goes away and comes back.
import { basic, Coffer } from '@coffer/client';
import { createLiveQueryCollection, gte } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { forgetting } from '../../support/forgetting.ts';
import { inExtent } from '../../support/extent.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import { SwitchedFetch } from '../switched-fetch.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { backendNamed, fill, memory, startWorld, until, type Item, type Items, type World } from './support.ts';

const records = Array.from({ length: 10 }, (_, n) => ({ id: `r${n}`, n }));
const ids = (items: { keys(): Iterable<unknown> }): string[] => [...items.keys()].map(String).sort();

/** A live query over everything, which keeps the rows of a collection that loads on demand. */
async function follow(items: Items) {
  const query = createLiveQueryCollection((q) => q.from({ item: items }).where(({ item }) => gte(item.n, 0)));
  await query.preload();
  // Without a subscriber, the query itself would end after a while, and be empty.
  query.subscribeChanges(() => undefined);
  await items.preload();
  return query;
}

function thrown(error: Error): never {
  throw error;
}

const modes = ['eager', 'on-demand', 'progressive'] as const;

const backends = inExtent(['memory'], ['memory', 'sqlite', 'postgresql']);

describe.each(backends)('with a service on %s', (backend) => {
  let world: World;
  const proxies: TcpProxy[] = [];
  beforeEach(async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const settings = { includes: 'flush', live_recheck_seconds: '0.5' };
    world = await startWorld(backendNamed(backend), settings, { plugins: [forgetting] });
    await fill(world, records);
  });
  afterEach(async () => {
    await world.close();
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  });

  async function throughProxy(user = 'owner') {
    const proxy = await TcpProxy.to(Number(new URL(world.service.origin).port));
    proxies.push(proxy);
    return { proxy, client: world.clientOf(user, `http://127.0.0.1:${proxy.port}`) };
  }

  describe.each(modes)('interruptions, %s', (syncMode) => {
    it('reads everything again after a flush', async () => {
      const items = world.items({ syncMode });
      const query = await follow(items);
      expect(query.size).toBe(10);
      await world.client.request('POST', '/__flush__', { body: {} });
      // The bucket is gone as well: the stream ends with 404 or restarts, and the rows go.
      await until(() => query.size === 0);
    });

    it('removes rows that were deleted while it was away, also if the tombstones are gone', async () => {
      const { proxy, client } = await throughProxy();
      const items = world.items({ syncMode, client });
      const query = await follow(items);
      proxy.refuse();
      await world.records.delete('r1');
      await world.records.delete('r2');
      await world.records.patch('r3', { n: 33 });
      await world.client.request('POST', `/forget?parent=/buckets/b/collections/c&before=${Date.now() + 1000}`);
      proxy.mend();
      items.utils.retry();
      await until(() => !query.has('r1') && !query.has('r2') && (query.get('r3') as Item | undefined)?.n === 33);
      expect(query.size).toBe(8);
      await world.records.put('new', { n: 5 });
      await until(() => query.has('new'));
    });

    it('continues after the connection was cut', async () => {
      const { proxy, client } = await throughProxy();
      const items = world.items({ syncMode, client });
      const query = await follow(items);
      proxy.refuse();
      await world.records.put('missed', { n: 1 });
      await world.records.delete('r0');
      proxy.mend();
      await until(() => query.has('missed') && !query.has('r0'));
    });

    it('goes back to the state of a service that was restored from a backup', async () => {
      const restored = await startWorld(memory, {}, { clock: { now: () => Date.now() - 3_600_000 } });
      await fill(restored, records.slice(0, 3));
      let target = world.service.origin;
      const redirected: typeof fetch = (input, init) => {
        const { href } = new URL(input instanceof Request ? input.url : input);
        return fetch(href.replace(world.service.origin, target), init);
      };
      const client = new Coffer(world.service.origin, {
        auth: basic('owner', 'secret of owner'),
        fetch: redirected,
        maxPauseMs: 100,
      });
      const items = world.items({
        syncMode,
        client,
        ...(syncMode === 'eager' ? { transport: 'none', pollMs: 20 } : {}),
      });
      const query = await follow(items);
      expect(query.size).toBe(10);
      target = restored.service.origin;
      await world.service.close();
      await until(() => query.size === 3);
      await restored.records.put('new', { n: 1 });
      await until(() => query.has('new'));
      expect(ids(items)).toEqual(['new', 'r0', 'r1', 'r2']);
      await items.cleanup();
      await restored.close();
    });

    it('removes the rows when the user may not read the list any more, and loads them again after that', async () => {
      await world.client
        .bucket('b')
        .collections.permissions('c')
        .set({ read: ['system.Everyone'] });
      const errors: unknown[] = [];
      const items = world.items({ syncMode, client: world.clientOf('reader'), onError: (error) => errors.push(error) });
      const query = await follow(items);
      expect(query.size).toBe(10);
      await world.client.bucket('b').collections.permissions('c').set({ read: [] });
      await until(() => items.size === 0 && query.size === 0 && items.utils.status() === 'refused');
      expect(errors.at(-1)).toMatchObject({ status: 403 });
      await world.client
        .bucket('b')
        .collections.permissions('c')
        .set({ read: ['system.Everyone'] });
      items.utils.retry();
      await until(() => items.utils.status() === 'live');
      const again = await follow(items);
      await until(() => again.size === 10 && query.size === 10);
      await world.records.put('new', { n: 3 });
      await until(() => again.has('new'));
    });

    it('goes on although the application fails to handle an error', async () => {
      const uncaught: unknown[] = [];
      const listeners = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => uncaught.push(error));
      onTestFinished(() => {
        process.removeAllListeners('uncaughtException');
        for (const listener of listeners) process.on('uncaughtException', listener);
      });
      const { proxy, client } = await throughProxy();
      const fault = new Error('a fault of the application');
      const options = { transport: 'none', pollMs: 20, client, onError: () => thrown(fault) } as const;
      const items = world.items({ syncMode, ...options });
      const query = await follow(items);
      proxy.refuse();
      await until(() => uncaught.length > 0);
      proxy.mend();
      await world.records.put('new', { n: 1 });
      await until(() => query.has('new'));
      expect(uncaught[0]).toBe(fault);
    });

    it('keeps the rows of a user without access, if told so', async () => {
      await world.client
        .bucket('b')
        .collections.permissions('c')
        .set({ read: ['system.Everyone'] });
      const items = world.items({ syncMode, client: world.clientOf('reader'), whenRefused: 'keep' });
      const query = await follow(items);
      await world.client.bucket('b').collections.permissions('c').set({ read: [] });
      await until(() => items.utils.status() === 'refused');
      expect(query.size).toBe(10);
    });

    it('removes the rows of a collection that is deleted', async () => {
      const items = world.items({ syncMode });
      const query = await follow(items);
      await world.client.bucket('b').collections.delete('c');
      await until(() => items.size === 0 && query.size === 0 && items.utils.status() === 'refused');
      expect(items.utils.lastError()).toMatchObject({ status: 404 });
    });

    it.each([-1, 1])('needs no clock that is right: that of the service differs by %d days', async (days) => {
      await world.close();
      world = await startWorld(memory, {}, { clock: { now: () => Date.now() + days * 86_400_000 } });
      await fill(world, [{ id: 'a', n: 1 }] as never);
      const items = world.items();
      await items.preload();
      await items.update('a', (draft) => void (draft.n = 2)).when('settled');
      await items.insert({ id: 'b', n: 1 }).when('settled');
      await world.records.patch('b', { n: 3 });
      await until(() => items.get('b')?.n === 3);
      // A condition on the timestamp may be in the future of the service, which refuses it.
      const recent = createLiveQueryCollection((q) =>
        q
          .from({ item: world.items({ syncMode: 'on-demand' }) })
          .where(({ item }) => gte(item.last_modified, Date.now() - 3_600_000)),
      );
      await recent.preload();
      expect(recent.size).toBe(days > 0 ? 2 : 0);
      await items.delete('a').when('settled');
      await until(() => items.size === 1);
      expect((await world.records.list().all()).data).toEqual([
        { id: 'b', n: 3, last_modified: items.get('b')?.last_modified },
      ]);
    });

    it('begins anew after a cleanup', async () => {
      const items = world.items({ syncMode });
      const query = await follow(items);
      await query.cleanup();
      await items.cleanup();
      expect(items.utils.status()).toBe('stopped');
      await world.records.delete('r0');
      items.startSyncImmediate();
      const again = await follow(items);
      await until(() => again.size === 9);
    });

    it('shows only the records that are shared with a user, and follows their shares', async () => {
      await world.records.permissions('r1').set({ read: ['system.Everyone'] });
      const items = world.items({ syncMode, client: world.clientOf('guest') });
      const query = await follow(items);
      expect(ids(query)).toEqual(['r1']);
      await world.records.permissions('r2').set({ read: ['system.Everyone'] });
      await until(() => query.has('r2'));
      await world.records.permissions('r1').set({ read: [] });
      await until(() => !query.has('r1'));
      await world.records.patch('r2', { n: 22 });
      await until(() => (query.get('r2') as Item | undefined)?.n === 22);
    });
  });

  it.each(modes)('shows the whole list after it showed single records, %s', async (syncMode) => {
    await world.records.permissions('r1').set({ write: ['system.Everyone'] });
    const network = new SwitchedFetch();
    const client = new Coffer(world.service.origin, { fetch: network.fetch, maxPauseMs: 50 });
    const items = world.items({ syncMode, client });
    const query = await follow(items);
    // Until the stream has begun, the place is that of the list, which has no mark.
    await until(() => ids(query).join() === 'r1' && /^0./.test(items.utils.cursor() ?? ''));
    network.off();
    await world.client
      .bucket('b')
      .collections.permissions('c')
      .add({ read: ['system.Everyone'] });
    network.on();
    await until(() => query.size === 10);
    await world.records.delete('r2');
    await until(() => query.size === 9);
  });

  it.each(['auto', 'none'] as const)('reads everything again after 410 for its position (%s)', async (transport) => {
    await world.close();
    const settings = { refuse_outdated_since: 'true' };
    world = await startWorld(backendNamed(backend), settings, { plugins: [forgetting] });
    await fill(world, records);
    const { proxy, client } = await throughProxy();
    const collections = modes.map((syncMode) => world.items({ syncMode, client, transport, pollMs: 20 }));
    const queries = await Promise.all(collections.map((items) => follow(items)));
    proxy.refuse();
    await world.records.delete('r1');
    await world.client.request('POST', `/forget?parent=/buckets/b/collections/c&before=${Date.now() + 1000}`);
    proxy.mend();
    for (const items of collections) items.utils.retry();
    await until(() => queries.every((query) => query.size === 9 && !query.has('r1')));
    await world.records.put('new', { n: 5 });
    await until(() => queries.every((query) => query.has('new')));
  });

  describe('waiting for the service', () => {
    it('starts without a connection, and is ready when there is one', async () => {
      const { proxy, client } = await throughProxy();
      proxy.refuse();
      const items = world.items({ client });
      await until(() => items.utils.lastError() !== undefined || items.utils.status() === 'connecting');
      expect(items.status).toBe('loading');
      proxy.mend();
      await items.preload();
      expect(items.size).toBe(10);
    });

    it('applies the response itself when the stream is silent', async () => {
      const { proxy, client } = await throughProxy();
      const items = world.items({ client: world.client, confirmTimeoutMs: 50 });
      await items.preload();
      void proxy;
      void client;
      const quiet = world.items({ transport: 'none', pollMs: 3_600_000, confirmTimeoutMs: 20 });
      await quiet.preload();
      await quiet.insert({ id: 'mine', n: 1 }).when('settled');
      expect(quiet.has('mine')).toBe(true);
      await until(() => items.has('mine'));
    });

    it('resolves refetch when the copy is current', async () => {
      const items = world.items({ transport: 'none', pollMs: 3_600_000 });
      await items.preload();
      await world.records.delete('r0');
      await world.records.put('new', { n: 1 });
      await items.utils.refetch();
      expect(items.has('r0')).toBe(false);
      expect(items.has('new')).toBe(true);
    });

    it('rejects refetch when access was revoked, and repeats it', async () => {
      const access = world.client.bucket('b').collections.permissions('c');
      await access.set({ read: ['system.Everyone'] });
      const items = world.items({ client: world.clientOf('reader') });
      await items.preload();
      await access.set({ read: [] });
      await expect(items.utils.refetch()).rejects.toMatchObject({ status: 403 });
      await access.set({ read: ['system.Everyone'] });
      await items.utils.refetch();
      expect(items.size).toBe(10);
      await items.cleanup();
      await items.utils.refetch();
    });

    it('leaves no listeners behind while it polls', async () => {
      const warn = vi.spyOn(process, 'emitWarning');
      const items = world.items({ transport: 'none', pollMs: 1 });
      await items.preload();
      world.requests.length = 0;
      await until(() => world.requests.length > 30);
      // Node.js warns about more than ten listeners of one signal.
      expect(warn).not.toHaveBeenCalled();
    });

    it('sends no request before the time that the service has named, except after retry', async () => {
      const proxy = await FaultyProxy.start(world.service.origin);
      onTestFinished(() => proxy.close());
      const items = world.items({ client: world.clientOf('owner', proxy.origin), transport: 'none', pollMs: 1 });
      await items.preload();
      const timers = vi.spyOn(globalThis, 'setTimeout');
      let refusals = 0;
      proxy.rule = () => {
        refusals++;
        return { status: 503, headers: { 'Retry-After': '3600' } };
      };
      await until(() => refusals > 1 || timers.mock.calls.some(([, pauseMs]) => pauseMs === 3_600_000));
      expect(refusals).toBe(1);
      proxy.rule = undefined;
      await world.records.put('new', { n: 1 });
      items.utils.retry();
      await until(() => items.has('new'));
    });

    it('waits for a timestamp', async () => {
      const items = world.items();
      await items.preload();
      const { last_modified: written } = await world.records.put('new', { n: 1 });
      expect(await items.utils.awaitTimestamp(written)).toBe(true);
      expect(items.has('new')).toBe(true);
      expect(Number(items.utils.cursor())).toBeGreaterThanOrEqual(written);
      expect(await items.utils.awaitTimestamp(written + 1_000_000, 20)).toBe(false);
    });

    it('removes rows that a query has loaded when access is revoked before everything has arrived', async () => {
      const access = world.client.bucket('b').collections.permissions('c');
      await access.set({ read: ['system.Everyone'] });
      const proxy = await FaultyProxy.start(world.service.origin);
      onTestFinished(() => proxy.close());
      proxy.rule = ({ target }) => (target.startsWith('/v1/live') ? 'silence' : undefined);
      const items = world.items({ syncMode: 'progressive', client: world.clientOf('reader', proxy.origin) });
      const query = createLiveQueryCollection((q) => q.from({ item: items }).where(({ item }) => gte(item.n, 0)));
      await query.preload();
      expect(query.size).toBe(10);
      await access.set({ read: [] });
      proxy.rule = undefined;
      proxy.cutAll();
      await expect(items.preload()).rejects.toMatchObject({ status: 403 });
      expect([items.size, query.size]).toEqual([0, 0]);
    });

    it('fails the start when the list does not exist', async () => {
      const items = world.items({ list: world.client.bucket('b').collection('none') });
      await expect(items.preload()).rejects.toMatchObject({ status: 404 });
      expect(items.status).toBe('error');
      await world.client.bucket('b').collections.put('none', {});
      items.utils.retry();
      await until(() => items.status === 'ready');
    });
  });
});
