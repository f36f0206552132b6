// The outbox of `@tanstack/offline-transactions`: mutations survive restarts, and are sent when there is a connection.
import { NonRetriableError, startOfflineExecutor, type StorageAdapter } from '@tanstack/offline-transactions';
import type { CofferError } from '@coffer/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cofferMutationFn, type OfflineOptions } from '../../../packages/tanstack-db/src/index.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { fill, startWorld, until, type Items, type World } from './support.ts';

let world: World;
let stored: Map<string, string>;
const proxies: TcpProxy[] = [];
const executors: { dispose(): void }[] = [];
beforeEach(async () => {
  for (const name of ['warn', 'error'] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
  world = await startWorld();
  stored = new Map();
});
afterEach(async () => {
  for (const executor of executors.splice(0)) executor.dispose();
  await world.close();
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
});

/** Storage that outlives an executor. */
const storage = (): StorageAdapter => ({
  get: async (key) => stored.get(key) ?? null,
  set: async (key, value) => void stored.set(key, value),
  delete: async (key) => void stored.delete(key),
  keys: async () => [...stored.keys()],
  clear: async () => stored.clear(),
});

/** Whether the browser believes that it is online, under control of the test. */
class Connectivity {
  isOn = true;
  readonly #listeners = new Set<() => void>();
  isOnline = (): boolean => this.isOn;
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  notifyOnline = (): void => this.#listeners.forEach((listener) => listener());
  dispose = (): void => this.#listeners.clear();
  go(online: boolean): void {
    this.isOn = online;
    if (online) this.notifyOnline();
  }
}

const leader = {
  requestLeadership: async () => true,
  releaseLeadership: () => undefined,
  isLeader: () => true,
  onLeadershipChange: () => () => undefined,
};

function start(items: Items, connectivity: Connectivity, options: Partial<OfflineOptions> = {}) {
  const executor = startOfflineExecutor({
    collections: { items: items as never },
    mutationFns: { coffer: cofferMutationFn({ NonRetriableError, ...options }) } as never,
    storage: storage(),
    onlineDetector: connectivity,
    leaderElection: leader,
    jitter: false,
  });
  executors.push(executor);
  const change = (mutate: () => void) => {
    const transaction = executor.createOfflineTransaction({ mutationFnName: 'coffer', autoCommit: false });
    transaction.mutate(mutate);
    const done = transaction.commit();
    done.catch(() => undefined);
    return done;
  };
  return { executor, change };
}

async function throughProxy(user = 'owner') {
  const proxy = await TcpProxy.to(Number(new URL(world.service.origin).port));
  proxies.push(proxy);
  return { proxy, client: world.clientOf(user, `http://127.0.0.1:${proxy.port}`) };
}

describe('the outbox', () => {
  it('sends mutations at once when there is a connection', async () => {
    const items = world.items();
    await items.preload();
    const { executor, change } = start(items, new Connectivity());
    await executor.waitForInit();
    await change(() => {
      items.insert({ id: 'a', n: 1 });
      items.insert({ id: 'b', n: 2 });
    });
    expect(await world.records.get('a')).toMatchObject({ n: 1 });
    expect(items.get('b')).toMatchObject({ n: 2, last_modified: expect.any(Number) });
  });

  it('keeps mutations without a connection, and sends them in their order later', async () => {
    const { proxy, client } = await throughProxy();
    const items = world.items({ client });
    await items.preload();
    const connectivity = new Connectivity();
    const { executor, change } = start(items, connectivity);
    await executor.waitForInit();
    connectivity.go(false);
    proxy.refuse();
    const all = [
      change(() => void items.insert({ id: 'a', n: 1 })),
      change(() => void items.update('a', (draft) => void (draft.n = 2))),
      change(() => void items.insert({ id: 'b', n: 1 })),
      change(() => void items.delete('b')),
    ];
    await until(() => stored.size === 4);
    expect(items.get('a')?.n).toBe(2);
    expect(items.has('b')).toBe(false);
    proxy.mend();
    items.utils.retry();
    connectivity.go(true);
    await Promise.all(all);
    expect(await world.records.get('a')).toMatchObject({ n: 2 });
    await expect(world.records.get('b')).rejects.toMatchObject({ status: 404 });
    expect(stored.size).toBe(0);
    expect(items.get('a')?.n).toBe(2);
  });

  it('survives a restart of the application', async () => {
    await fill(world, [{ id: 'x', n: 1, name: 'old' }] as never);
    const { proxy, client } = await throughProxy();
    const before = world.items({ id: 'same', client });
    await before.preload();
    const offline = new Connectivity();
    const first = start(before, offline);
    await first.executor.waitForInit();
    offline.go(false);
    proxy.refuse();
    void first.change(() => void before.insert({ id: 'a', n: 1 }));
    void first.change(() => void before.update('x', (draft) => void (draft.n = 2)));
    await until(() => stored.size === 2);
    first.executor.dispose();
    await before.cleanup();
    // Another client changes the same record meanwhile.
    await world.records.patch('x', { name: 'new' });

    const after = world.items({ id: 'same' });
    const second = start(after, new Connectivity());
    await second.executor.waitForInit();
    await until(() => stored.size === 0);
    expect(await world.records.get('a')).toMatchObject({ n: 1 });
    expect(await world.records.get('x')).toMatchObject({ n: 2, name: 'new' });
    await until(() => after.get('x')?.n === 2 && after.get('x')?.name === 'new');
  });

  it('repeats a creation whose response was lost without creating twice', async () => {
    const { proxy, client } = await throughProxy();
    const items = world.items({ client, onConflict: 'fail' });
    await items.preload();
    const { executor, change } = start(items, new Connectivity());
    await executor.waitForInit();
    const cut = proxy.cutInsteadOf('201 Created');
    const done = change(() => void items.insert({ id: 'a', n: 1 }));
    await cut;
    proxy.mend();
    await done;
    expect(await world.records.get('a')).toMatchObject({ n: 1 });
  });

  it('drops what the service refuses for good, and goes on', async () => {
    await world.client
      .bucket('b')
      .collections.permissions('c')
      .set({ read: ['system.Everyone'] });
    const mine = world.client.bucket('b').collection<{ n: number }>('c');
    await mine.put('a', { n: 1 });
    const items = world.items({ client: world.clientOf('reader') });
    await items.preload();
    const refused: string[] = [];
    const { executor, change } = start(items, new Connectivity(), {
      onRefused: (error, mutations) => void refused.push(`${mutations[0]!.type} ${error.message}`),
    });
    await executor.waitForInit();
    await expect(change(() => void items.update('a', (draft) => void (draft.n = 2)))).rejects.toThrow();
    expect(refused).toEqual([expect.stringMatching(/^update 403/)]);
    expect(items.get('a')?.n).toBe(1);
    await until(() => stored.size === 0);
  });

  it('drops a value that another record has, also as a part of several mutations, and goes on', async () => {
    await world.client.bucket('b').collections.put('c', { indexes: [{ fields: ['name'], unique: true }] });
    await fill(world, [{ id: 'a', n: 1, name: 'taken' }] as never);
    const items = world.items();
    await items.preload();
    const refused: unknown[] = [];
    const { executor, change } = start(items, new Connectivity(), {
      onRefused: (error, mutations) => void refused.push([(error as CofferError).errno, mutations.length]),
    });
    await executor.waitForInit();
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

  it('resolves conflicts by the strategy of the collection', async () => {
    await fill(world, [{ id: 'a', n: 1, name: 'x' }] as never);
    const { proxy, client } = await throughProxy();
    const items = world.items({ client, onConflict: 'server' });
    await items.preload();
    const connectivity = new Connectivity();
    const { executor, change } = start(items, connectivity);
    await executor.waitForInit();
    connectivity.go(false);
    proxy.refuse();
    const edits = [
      change(() => void items.update('a', (draft) => void (draft.n = 2))),
      change(() => void items.update('a', (draft) => void (draft.n = 3))),
    ];
    await until(() => stored.size === 2);
    await world.records.patch('a', { n: 100 });
    proxy.mend();
    items.utils.retry();
    connectivity.go(true);
    await Promise.all(edits);
    expect(await world.records.get('a')).toMatchObject({ n: 100, name: 'x' });
    await until(() => items.get('a')?.n === 100);
  });

  it('takes its own earlier mutations for no conflict', async () => {
    await fill(world, [{ id: 'a', n: 1, name: 'x' }] as never);
    const { proxy, client } = await throughProxy();
    const items = world.items({ client, onConflict: 'fail' });
    await items.preload();
    const connectivity = new Connectivity();
    const { executor, change } = start(items, connectivity);
    await executor.waitForInit();
    connectivity.go(false);
    proxy.refuse();
    const edits = [2, 3, 4].map((n) => change(() => void items.update('a', (draft) => void (draft.n = n))));
    edits.push(change(() => void items.update('a', (draft) => void (draft.name = 'y'))));
    await until(() => stored.size === 4);
    proxy.mend();
    items.utils.retry();
    connectivity.go(true);
    await Promise.all(edits);
    expect(await world.records.get('a')).toMatchObject({ n: 4, name: 'y' });
  });

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
});
