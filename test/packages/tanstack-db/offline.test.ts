// The outbox of `@tanstack/offline-transactions`: mutations survive restarts, and are sent when there is a connection.
import { setImmediate } from 'node:timers/promises';
import { NonRetriableError } from '@tanstack/offline-transactions';
import { CofferError } from '@coffer/client';
import { createCollection } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { cofferCollectionOptions, cofferMutationFn } from '../../../packages/tanstack-db/src/index.ts';
import { inExtent } from '../../support/extent.ts';
import { closeDevices, Device, type DeviceOptions } from './device.ts';
import { backendNamed, fill, startWorld, until, type Item, type World } from './support.ts';

describe.each(inExtent(['memory'], ['memory', 'sqlite', 'postgresql']))(
  'the outbox, with a service on %s,',
  (backend) => {
    let world: World;
    beforeEach(async () => {
      for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
      world = await startWorld(backendNamed(backend), { includes: 'quotas', 'quotas.collection_max_items': '5' });
    });
    afterEach(async () => {
      await closeDevices();
      await world.close();
    });

    /** Starts a device with everything that the list has. */
    async function start(options: DeviceOptions = {}): Promise<Device> {
      const device = await Device.start(world, options);
      await device.items.preload();
      return device;
    }

    it('sends mutations at once when there is a connection', async () => {
      const { items, change } = await start();
      await change(() => {
        items.insert({ id: 'a', n: 1 });
        items.insert({ id: 'b', n: 2 });
      });
      expect(await world.records.get('a')).toMatchObject({ n: 1 });
      expect(items.get('b')).toMatchObject({ n: 2, last_modified: expect.any(Number) });
    });

    it('does not confirm mutations before the collection begins, whose persisted rows may be slower', async () => {
      const { client, records } = world;
      const options = cofferCollectionOptions<Item>({ client, list: records });
      let isConfirmed = false;
      const mutation = { type: 'insert', key: 'a', original: {}, modified: { id: 'a', n: 1 }, collection: {} } as const;
      const sent = options.utils.persist([mutation]).then(() => (isConfirmed = true));
      await until(() =>
        records.get('a').then(
          () => true,
          () => false,
        ),
      );
      for (let turn = 0; turn < 100; turn++) await setImmediate();
      expect(isConfirmed).toBe(false);
      const items = createCollection({ ...options, startSync: true });
      onTestFinished(() => items.cleanup());
      await sent;
      expect(items.get('a')).toMatchObject({ n: 1 });
    });

    it('keeps mutations without a connection, and sends them in their order later', async () => {
      const device = await start();
      const { items, change, stored } = device;
      device.goOffline();
      const all = [
        change(() => void items.insert({ id: 'a', n: 1 })),
        change(() => void items.update('a', (draft) => void (draft.n = 2))),
        change(() => void items.insert({ id: 'b', n: 1 })),
        change(() => void items.delete('b')),
      ];
      await until(() => stored.size === 4);
      expect(items.get('a')?.n).toBe(2);
      expect(items.has('b')).toBe(false);
      device.goOnline();
      await Promise.all(all);
      expect(await world.records.get('a')).toMatchObject({ n: 2 });
      await expect(world.records.get('b')).rejects.toMatchObject({ status: 404 });
      expect(stored.size).toBe(0);
      expect(items.get('a')?.n).toBe(2);
    });

    it('survives a restart of the application', async () => {
      await fill(world, [{ id: 'x', n: 1, name: 'old' }] as never);
      const first = await start({ config: { id: 'same' } });
      first.goOffline();
      void first.change(() => void first.items.insert({ id: 'a', n: 1 }));
      void first.change(() => void first.items.update('x', (draft) => void (draft.n = 2)));
      await until(() => first.stored.size === 2);
      await first.close();
      // Another client changes the same record meanwhile.
      await world.records.patch('x', { name: 'new' });

      const { items, stored } = await start({ config: { id: 'same' }, stored: first.stored });
      await until(() => stored.size === 0);
      expect(await world.records.get('a')).toMatchObject({ n: 1 });
      expect(await world.records.get('x')).toMatchObject({ n: 2, name: 'new' });
      await until(() => items.get('x')?.n === 2 && items.get('x')?.name === 'new');
    });

    it('repeats a creation whose response was lost without creating twice', async () => {
      const { items, change, proxy } = await start({ config: { onConflict: 'fail' } });
      let isLost = false;
      proxy.rule = ({ method }) => {
        if (method !== 'PUT' || isLost) return undefined;
        isLost = true;
        return 'lose';
      };
      await change(() => void items.insert({ id: 'a', n: 1 }));
      expect(isLost).toBe(true);
      expect(await world.records.get('a')).toMatchObject({ n: 1 });
    });

    it.each([400, 403, 404, 405, 410])('repeats what a proxy has refused with %i', async (status) => {
      const onRefused = vi.fn();
      const { items, change, proxy } = await start({ outbox: { onRefused } });
      let isRefused = false;
      proxy.rule = ({ method }) => {
        if (method !== 'PUT' || isRefused) return undefined;
        isRefused = true;
        return { status, body: '<html></html>' };
      };
      await change(() => void items.insert({ id: 'a', n: 1 }));
      expect(onRefused).not.toHaveBeenCalled();
      expect(await world.records.get('a')).toMatchObject({ n: 1 });
    });

    it.each([403, 404])('keeps its rows while a proxy responds with %i', async (status) => {
      await world.records.put('a', { n: 1 });
      const { items, proxy } = await start();
      proxy.rule = () => ({ status, body: '<html></html>' });
      const { length } = proxy.seen;
      proxy.cutAll();
      await until(() => proxy.seen.length > length + 2);
      expect(items.has('a')).toBe(true);
      expect(items.utils.status()).not.toBe('refused');
      proxy.rule = undefined;
      await world.records.put('b', { n: 2 });
      await until(() => items.has('b'));
    });

    it('drops what the service refuses for good, and goes on', async () => {
      await world.client
        .bucket('b')
        .collections.permissions('c')
        .set({ read: ['system.Everyone'] });
      await world.records.put('a', { n: 1 });
      const refused: string[] = [];
      const onRefused = (error: Error, mutations: readonly { readonly type: string }[]) =>
        void refused.push(`${mutations[0]!.type} ${error.message}`);
      const { items, change, stored } = await start({ user: 'reader', outbox: { onRefused } });
      await expect(change(() => void items.update('a', (draft) => void (draft.n = 2)))).rejects.toThrow();
      expect(refused).toEqual([expect.stringMatching(/^update 403/)]);
      expect(items.get('a')?.n).toBe(1);
      await until(() => stored.size === 0);
    });

    it('drops a value that another record has, also as a part of several mutations, and goes on', async () => {
      await world.client.bucket('b').collections.put('c', { indexes: [{ fields: ['name'], unique: true }] });
      await fill(world, [{ id: 'a', n: 1, name: 'taken' }] as never);
      const refused: unknown[] = [];
      const onRefused = (error: Error, mutations: readonly unknown[]) =>
        void refused.push([(error as CofferError).errno, mutations.length]);
      const { items, change, stored } = await start({ outbox: { onRefused } });
      await expect(change(() => void items.insert({ id: 'b', n: 2, name: 'taken' }))).rejects.toThrow('409');
      const both = change(() => {
        items.insert({ id: 'c', n: 3, name: 'free' });
        items.insert({ id: 'd', n: 4, name: 'taken' });
      });
      await expect(both).rejects.toThrow('same name');
      expect(refused).toEqual([
        [122, 1],
        [122, 2],
      ]);
      await change(() => void items.insert({ id: 'e', n: 5, name: 'free' }));
      await until(() => stored.size === 0);
      expect([...items.keys()].toSorted()).toEqual(['a', 'e']);
    });

    it('drops what exceeds a quota that others have used up meanwhile, and sends what needs no room', async () => {
      await fill(world, [{ id: 'a', n: 1 }]);
      const refused: unknown[] = [];
      const onRefused = ({ status }: Error & { status?: number }, [mutation]: readonly { readonly key: unknown }[]) =>
        void refused.push([status, mutation!.key]);
      const device = await start({ outbox: { onRefused } });
      const { items, change, stored } = device;
      device.goOffline();
      const created = change(() => void items.insert({ id: 'mine', n: 1 }));
      const changed = change(() => void items.update('a', (draft) => void (draft.n = 2)));
      await until(() => stored.size === 2);
      await fill(world, [{ id: 'b' }, { id: 'c' }, { id: 'd' }, { id: 'e' }]);
      device.goOnline();
      await expect(created).rejects.toThrow('507');
      await changed;
      expect(refused).toEqual([[507, 'mine']]);
      await until(() => String([...items.keys()].toSorted()) === 'a,b,c,d,e' && items.get('a')?.n === 2);
    });

    it('drops the edits of a user whose access was revoked meanwhile, with the rows', async () => {
      const access = world.client.bucket('b').collections.permissions('c');
      await access.set({ write: ['system.Authenticated'] });
      await fill(world, [{ id: 'a', n: 1 }]);
      const refused: unknown[] = [];
      const onRefused = ({ status }: Error & { status?: number }, [mutation]: readonly { readonly key: unknown }[]) =>
        void refused.push([status, mutation!.key]);
      const device = await start({ user: 'guest', outbox: { onRefused } });
      const { items, change, stored } = device;
      device.goOffline();
      const edits = [
        change(() => void items.update('a', (draft) => void (draft.n = 2))),
        change(() => void items.insert({ id: 'mine', n: 1 })),
      ];
      await until(() => stored.size === 2);
      await access.set({ write: [] });
      device.goOnline();
      const outcomes = await Promise.allSettled(edits);
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      expect(refused).toEqual([
        [403, 'a'],
        [403, 'mine'],
      ]);
      await until(() => items.size === 0 && items.utils.status() === 'refused');
      expect((await world.records.list().all()).data).toMatchObject([{ id: 'a', n: 1 }]);
    });

    it('resolves conflicts by the strategy of the collection', async () => {
      await fill(world, [{ id: 'a', n: 1, name: 'x' }] as never);
      const device = await start({ config: { onConflict: 'server' } });
      const { items, change, stored } = device;
      device.goOffline();
      const edits = [2, 3].map((n) => change(() => void items.update('a', (draft) => void (draft.n = n))));
      await until(() => stored.size === 2);
      await world.records.patch('a', { n: 100 });
      device.goOnline();
      await Promise.all(edits);
      expect(await world.records.get('a')).toMatchObject({ n: 100, name: 'x' });
      await until(() => items.get('a')?.n === 100);
    });

    it('takes its own earlier mutations for no conflict', async () => {
      await fill(world, [{ id: 'a', n: 1, name: 'x' }] as never);
      const device = await start({ config: { onConflict: 'fail' } });
      const { items, change, stored } = device;
      device.goOffline();
      const edits = [2, 3, 4].map((n) => change(() => void items.update('a', (draft) => void (draft.n = n))));
      edits.push(change(() => void items.update('a', (draft) => void (draft.name = 'y'))));
      await until(() => stored.size === 4);
      device.goOnline();
      await Promise.all(edits);
      expect(await world.records.get('a')).toMatchObject({ n: 4, name: 'y' });
    });
  },
);

describe('the mutation function', () => {
  it('never mistakes numbers in messages for a final refusal', async () => {
    // The outbox drops mutations whose error mentions 400, 401, 403 or 422.
    const persist = vi.fn(async () => {
      throw new Error('fetch failed: 403 bytes, port 4001, at 1795422400123');
    });
    const run = cofferMutationFn({ NonRetriableError });
    const failed = run({ transaction: { mutations: [{ collection: { utils: { persist } } }] as never } });
    await expect(failed).rejects.toThrow(/^[^\d]*$/);
    await expect(failed).rejects.not.toBeInstanceOf(NonRetriableError);
  });

  it('sends no request of a collection before the time that the service has named', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const refusal = new CofferError('http', 'maintenance', { status: 503, errno: 201, retryAfterMs: 120_000 });
    const persist = vi.fn<() => Promise<void>>().mockRejectedValueOnce(refusal).mockResolvedValue();
    const run = cofferMutationFn({ NonRetriableError });
    const [busy, other] = [{ utils: { persist } }, { utils: { persist: vi.fn(async () => undefined) } }];
    const send = (collection: object) => run({ transaction: { mutations: [{ collection }] as never } });
    await expect(send(busy)).rejects.toMatchObject({ cause: refusal });
    vi.advanceTimersByTime(119_000);
    await expect(send(busy)).rejects.toMatchObject({ cause: refusal });
    await send(other);
    expect(persist).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1000);
    await send(busy);
    expect(persist).toHaveBeenCalledTimes(2);
  });
});
