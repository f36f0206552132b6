// The mode `progressive`: queries have their rows at once, and everything follows. And several tabs.
import { basic, Coffer } from '@coffer/client';
import { createLiveQueryCollection, gt, lt } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fill, startWorld, until, type Item, type Items, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  world = await startWorld();
  await fill(
    world,
    Array.from({ length: 40 }, (_, n) => ({ id: `r${n}`, n })),
  );
});
afterEach(() => world.close());

const query = (items: Items, where: (item: any) => any) =>
  createLiveQueryCollection((q) => q.from({ item: items }).where(({ item }) => where(item)));

/** A promise that the test resolves: until then, the complete copy is held back. */
function barrier() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('progressive collections', () => {
  it('load what a query needs before everything is there', async () => {
    const { open, opened } = barrier();
    const items = world.items({ syncMode: 'progressive', beforeReady: () => opened });
    const few = query(items, ({ n }) => lt(n, 5));
    void few.preload();
    await until(() => few.size === 5);
    expect(items.size).toBe(5);
    expect(items.status).toBe('loading');
    open();
    await items.preload();
    expect(items.size).toBe(40);
    expect(few.size).toBe(5);
  });

  it('need no requests once everything is there', async () => {
    const items = world.items({ syncMode: 'progressive' });
    await items.preload();
    world.requests.length = 0;
    const some = query(items, ({ n }) => gt(n, 20));
    await some.preload();
    expect(some.size).toBe(19);
    expect(world.requests).toEqual([]);
  });

  it('take changes that happen between the two', async () => {
    const { open, opened } = barrier();
    const items = world.items({ syncMode: 'progressive', beforeReady: () => opened });
    const few = query(items, ({ n }) => lt(n, 5));
    void few.preload();
    await until(() => few.size === 5);
    await world.records.delete('r0');
    await world.records.patch('r1', { n: 1.5 });
    await world.records.put('new', { n: 2 });
    open();
    await items.preload();
    await until(() => !few.has('r0') && (few.get('r1') as Item | undefined)?.n === 1.5 && few.has('new'));
    expect(items.size).toBe(40);
  });

  it('keep what a query has read later than the complete copy', async () => {
    const { open, opened } = barrier();
    let isHeld = false;
    const items = world.items({
      syncMode: 'progressive',
      beforeReady: () => {
        isHeld = true;
        return opened;
      },
    });
    await until(() => isHeld);
    await world.records.put('new', { n: 2 });
    const few = query(items, ({ n }) => lt(n, 5));
    void few.preload();
    await until(() => few.has('new'));
    const sizes: number[] = [];
    few.subscribeChanges(() => void sizes.push(few.size));
    open();
    await items.preload();
    const { last_modified: later } = await world.records.put('later', { n: 3 });
    await items.utils.awaitTimestamp(later, 60_000);
    expect([items.size, few.size]).toEqual([42, 7]);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(6);
  });

  it('take no page that was read before the complete copy and arrives after it', async () => {
    const { open, opened } = barrier();
    const deleted = barrier();
    let isRead = false;
    const slow: typeof fetch = async (input, init) => {
      const { href } = new URL(input instanceof Request ? input.url : input);
      if (href.includes('/live')) await deleted.opened;
      const response = await fetch(input, init);
      if (!href.includes('_filter')) return response;
      const text = await response.text();
      isRead = true;
      await opened;
      return new Response(text, response);
    };
    const client = new Coffer(world.service.origin, { auth: basic('owner', 'secret of owner'), fetch: slow });
    const items = world.items({ syncMode: 'progressive', client });
    const few = query(items, ({ n }) => lt(n, 5));
    const loaded = few.preload();
    await until(() => isRead);
    await world.records.delete('r0');
    deleted.open();
    await items.preload();
    open();
    await loaded;
    expect([items.size, few.size, items.has('r0')]).toEqual([39, 4, false]);
  });

  it('publish no moment without rows when everything arrives', async () => {
    const { open, opened } = barrier();
    const items = world.items({ syncMode: 'progressive', beforeReady: () => opened });
    const few = query(items, ({ n }) => lt(n, 5));
    void few.preload();
    await until(() => few.size === 5);
    const sizes: number[] = [];
    few.subscribeChanges(() => void sizes.push(few.size));
    open();
    await items.preload();
    await world.records.put('new', { n: 2 });
    await until(() => few.has('new'));
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(5);
  });

  it('write before everything is there', async () => {
    const { open, opened } = barrier();
    const items = world.items({ syncMode: 'progressive', beforeReady: () => opened, confirmTimeoutMs: 50 });
    const few = query(items, ({ n }) => lt(n, 5));
    void few.preload();
    await until(() => few.size === 5);
    await items.insert({ id: 'mine', n: 1 }).when('settled');
    await items.update('r1', (draft) => void (draft.n = 1.5)).when('settled');
    expect(few.has('mine')).toBe(true);
    open();
    await items.preload();
    await until(() => items.size === 41);
    expect(items.get('r1')?.n).toBe(1.5);
    expect(few.has('mine')).toBe(true);
  });
});

describe('several tabs', () => {
  it('see each others mutations', async () => {
    const tabs = ['eager', 'on-demand', 'progressive'].map((syncMode) =>
      world.items({ syncMode: syncMode as 'eager', client: world.clientOf('owner') }),
    );
    const queries = tabs.map((items) => query(items, ({ n }) => lt(n, 3)));
    await Promise.all(queries.map((each) => each.preload()));
    await Promise.all(tabs.map((items, n) => items.insert({ id: `tab${n}`, n: 1 }).when('settled')));
    await tabs[0]!.delete('r0').when('settled');
    await until(() => queries.every((each) => each.size === 5 && !each.has('r0')));
    await Promise.all(
      tabs.map((items, n) => items.update('r1', (draft) => void (draft.tags = [String(n)])).when('settled')),
    );
    const last = (await world.records.get('r1')) as unknown as Item;
    await until(() =>
      queries.every((each) => (each.get('r1') as Item | undefined)?.last_modified === last.last_modified),
    );
  });

  it('share one connection for the collections of a client', async () => {
    await world.client.bucket('b').collections.put('d', {});
    const [one, two] = [world.items(), world.items({ list: world.client.bucket('b').collection('d') })];
    await Promise.all([one.preload(), two.preload()]);
    const streams = world.requests.filter(({ url }) => url.pathname.endsWith('/live'));
    expect(streams.length).toBeLessThanOrEqual(2);
    await world.client.bucket('b').collection('d').put('x', {});
    await until(() => two.has('x'));
  });
});
