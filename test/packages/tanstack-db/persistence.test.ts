// Persisted collections: rows and the timestamp of the list survive a restart.
import { createLiveQueryCollection, lt } from '@tanstack/db';
import type { SQLiteDriver } from '@tanstack/db-sqlite-persistence-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CofferCollectionConfig } from '../../../packages/tanstack-db/src/index.ts';
import { inExtent } from '../../support/extent.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { forgetting } from '../../support/forgetting.ts';
import { FailingStore, memoryDriver, persistedIn } from './persisted.ts';
import { backendNamed, fill, startWorld, until, type Item, type Items, type World } from './support.ts';

describe.each(inExtent(['memory'], ['memory', 'sqlite', 'postgresql']))(
  'persisted collections, with a service on %s,',
  (backend) => {
    let world: World;
    let database: SQLiteDriver;
    const proxies: TcpProxy[] = [];
    beforeEach(async () => {
      vi.spyOn(console, 'warn').mockImplementation(() => undefined);
      world = await startWorld(backendNamed(backend), {}, { plugins: [forgetting] });
      await fill(
        world,
        Array.from({ length: 10 }, (_, n) => ({ id: `r${n}`, n })),
      );
      database = memoryDriver();
    });
    afterEach(async () => {
      await world.close();
      await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    });

    const persisted = (config: Partial<CofferCollectionConfig<Item>> = {}): Items =>
      persistedIn(database, world, config);

    /** Requests for changes since a timestamp, and for complete lists. */
    const requests = (): { readonly since: string | null; readonly live: string | null }[] =>
      world.requests
        .filter(({ method, url }) => method === 'GET' && /\/(?:records|live)$/.test(url.pathname))
        .map(({ url }) => {
          const watch = new URLSearchParams(url.searchParams.get('watch')?.split('?')[1]);
          return { since: url.searchParams.get('_since') ?? watch.get('_since'), live: url.searchParams.get('_live') };
        });

    /** Returns the principal of a user. */
    async function userOf(name: string): Promise<string> {
      return (await world.clientOf(name).info()).user!.id;
    }

    async function throughProxy() {
      const proxy = await TcpProxy.to(Number(new URL(world.service.origin).port));
      proxies.push(proxy);
      return { proxy, client: world.clientOf('owner', `http://127.0.0.1:${proxy.port}`) };
    }

    it('begin anew when they showed single records, without those that are not shared any more', async () => {
      const guest = world.clientOf('guest');
      const share = (id: string, read: readonly string[]): Promise<unknown> =>
        world.records.permissions(id).set({ read });
      await share('r1', ['system.Everyone']);
      await share('r2', ['system.Everyone']);
      const first = persisted({ client: guest });
      await first.preload();
      await until(() => first.size === 2 && /^0./.test(first.utils.cursor()!));
      await first.cleanup();
      await share('r1', []);
      await share('r3', ['system.Everyone']);
      const second = persisted({ client: guest });
      await until(() => [...second.keys()].sort().join() === 'r2,r3');
      await second.cleanup();
      await world.client
        .bucket('b')
        .collections.permissions('c')
        .add({ read: ['system.Everyone'] });
      const third = persisted({ client: guest });
      await until(() => third.size === 10);
      await third.cleanup();
    });

    it('continue with the changes since the last run', async () => {
      const first = persisted();
      await first.preload();
      await until(() => first.size === 10);
      const cursor = first.utils.cursor()!;
      await first.cleanup();
      await world.records.put('new', { n: 1 });
      await world.records.delete('r0');
      await world.records.patch('r1', { n: 11 });
      world.requests.length = 0;
      const second = persisted();
      await second.preload();
      await until(() => second.has('new') && !second.has('r0') && second.get('r1')?.n === 11);
      expect(second.size).toBe(10);
      expect(requests().map(({ since }) => since)).toEqual([cursor]);
      await second.cleanup();
    });

    it('are read again after the store has failed', async () => {
      const first = persisted();
      await until(() => first.size === 10);
      await first.cleanup();
      await world.records.delete('r0');
      const { query } = database;
      let failures = 0;
      database.query = async (sql, params) => {
        if (sql.includes('metadata IS NOT NULL') && failures++ < 1) throw new Error('the disk is busy');
        return query(sql, params);
      };
      const errors: unknown[] = [];
      const second = persisted({ onError: (error) => errors.push(error) });
      await until(() => second.size === 9 && second.utils.status() === 'live');
      expect(errors).toHaveLength(1);
      await second.cleanup();
    });

    it('lose no change that the store has failed to write', async () => {
      const store = new FailingStore(database);
      const errors: unknown[] = [];
      const first = persisted({ onError: (error) => errors.push(error) });
      await until(() => first.size === 10 && store.written > 0 && store.isIdle);
      store.fail();
      await world.records.put('new', { n: 1 });
      await until(() => first.has('new') && errors.length === 1);
      await world.records.delete('r0');
      await world.records.patch('r1', { n: 11 });
      await until(() => !first.has('r0') && first.get('r1')?.n === 11 && store.isIdle);
      await first.cleanup();
      const { last_modified: latest } = await world.records.patch('r2', { n: 12 });
      const second = persisted();
      await second.preload();
      expect(await second.utils.awaitTimestamp(latest, 60_000)).toBe(true);
      expect(
        [...second.values()]
          .map(({ id, n }) => `${id} ${n}`)
          .toSorted()
          .join(),
      ).toBe('new 1,r1 11,r2 12,r3 3,r4 4,r5 5,r6 6,r7 7,r8 8,r9 9');
      await second.cleanup();
    });

    it('lose no change that the store has failed to write while it had others to write', async () => {
      const store = new FailingStore(database);
      const errors: unknown[] = [];
      const first = persisted({ onError: (error) => errors.push(error) });
      await until(() => first.size === 10 && store.written > 0 && store.isIdle);
      store.hold();
      store.fail();
      await world.records.put('new', { n: 1 });
      await until(() => first.has('new'));
      const { last_modified: latest } = await world.records.put('newer', { n: 2 });
      await until(() => first.has('newer'));
      store.release();
      await until(() => errors.length === 1 && store.isIdle);
      await first.cleanup();
      const second = persisted();
      await second.preload();
      expect(await second.utils.awaitTimestamp(latest, 60_000)).toBe(true);
      expect(second.has('new')).toBe(true);
      await second.cleanup();
    });

    it('repair their store after it has failed', async () => {
      const store = new FailingStore(database);
      const errors: unknown[] = [];
      const first = persisted({ onError: (error) => errors.push(error) });
      await until(() => first.size === 10 && store.written > 0 && store.isIdle);
      // Also while it is repaired.
      store.fail(2);
      await world.records.put('new', { n: 1 });
      await until(() => errors.length === 2);
      const { written } = store;
      await until(() => store.written > written && store.isIdle);
      expect(first.size).toBe(11);
      await first.cleanup();
      const { proxy, client } = await throughProxy();
      proxy.refuse();
      const second = persisted({ client });
      await second.preload();
      expect(second.size).toBe(11);
      expect(second.has('new')).toBe(true);
      await second.cleanup();
    });

    it('are ready without a connection', async () => {
      const first = persisted();
      await until(() => first.size === 10);
      await first.cleanup();
      const { proxy, client } = await throughProxy();
      proxy.refuse();
      const second = persisted({ client });
      await second.preload();
      expect(second.size).toBe(10);
      await world.records.patch('r1', { n: 11 });
      proxy.mend();
      second.utils.retry();
      await until(() => second.get('r1')?.n === 11);
      await second.cleanup();
    });

    it('fetch everything again when deletions since the last run are not known', async () => {
      const first = persisted();
      await until(() => first.size === 10);
      await first.cleanup();
      await world.records.delete('r0');
      await world.client.request('POST', `/forget?parent=/buckets/b/collections/c&before=${Date.now() + 1000}`);
      const second = persisted();
      await second.preload();
      await until(() => !second.has('r0'));
      expect(second.size).toBe(9);
      await second.cleanup();
      const third = persisted();
      await third.preload();
      expect(third.size).toBe(9);
      await third.cleanup();
    });

    it('fetch everything again for another list or filter', async () => {
      const first = persisted();
      await until(() => first.size === 10);
      await first.cleanup();
      const second = persisted({ filter: { n: { $lt: 3 } } });
      await until(() => second.size === 3);
      await second.cleanup();
    });

    it('persist mutations once they are confirmed', async () => {
      const first = persisted();
      await first.preload();
      await first.insert({ id: 'mine', n: 5 }).when('settled');
      await first.update('r1', (draft) => void (draft.n = 21)).when('settled');
      await first.cleanup();
      const { proxy, client } = await throughProxy();
      proxy.refuse();
      const second = persisted({ client });
      await second.preload();
      await until(() => second.get('mine')?.n === 5 && second.get('r1')?.n === 21);
      proxy.mend();
      // The precondition survives the restart.
      second.utils.retry();
      await second.update('r1', (draft) => void (draft.n = 22)).when('settled');
      expect(await world.records.get('r1')).toMatchObject({ n: 22 });
      await second.cleanup();
    });

    it('fetch everything again after access was refused and granted again', async () => {
      await world.client
        .bucket('b')
        .collections.permissions('c')
        .add({ read: [await userOf('reader')] });
      const client = world.clientOf('reader');
      const first = persisted({ client });
      await until(() => first.size === 10);
      await world.client.bucket('b').collections.permissions('c').set({ read: [] });
      await until(() => first.utils.status() === 'refused' && first.size === 0);
      await first.cleanup();
      await world.client
        .bucket('b')
        .collections.permissions('c')
        .add({ read: [await userOf('reader')] });
      const second = persisted({ client });
      await until(() => second.size === 10);
      await second.cleanup();
    });

    it('lose attributes that were removed from a record', async () => {
      await world.records.put('r1', { n: 1, name: 'x' });
      const first = persisted();
      await until(() => first.get('r1')?.name === 'x');
      const events: string[] = [];
      first.subscribeChanges((changes) => events.push(...changes.map(({ type, key }) => `${type} ${key}`)), {
        includeInitialState: true,
      });
      events.length = 0;
      await world.records.put('r1', { n: 2 });
      await until(() => first.get('r1')?.n === 2);
      expect(first.get('r1')).not.toHaveProperty('name');
      expect(events).toEqual(['update r1']);
      await first.cleanup();
      const { proxy, client } = await throughProxy();
      proxy.refuse();
      const second = persisted({ client });
      await until(() => second.get('r1')?.n === 2);
      expect(second.get('r1')).not.toHaveProperty('name');
      await second.cleanup();
    });

    it('keep what queries have loaded on demand, and bring it up to date', async () => {
      const load = async (items: Items) => {
        const query = createLiveQueryCollection((q) => q.from({ item: items }).where(({ item }) => lt(item.n, 4)));
        await query.preload();
        return query;
      };
      const first = persisted({ syncMode: 'on-demand', keepSubsetMs: 60_000 });
      expect((await load(first)).size).toBe(4);
      await first.cleanup();
      await world.records.delete('r0');
      await world.records.patch('r1', { n: 1.5 });
      const second = persisted({ syncMode: 'on-demand', keepSubsetMs: 60_000 });
      const query = await load(second);
      await until(() => query.size === 3 && (query.get('r1') as Item | undefined)?.n === 1.5);
      await second.cleanup();
    });
  },
);
