// The mode `on-demand`: subsets are read when queries need them, once, and forgotten when none does.
import { basic, Coffer } from '@coffer/client';
import { BTreeIndex, count, createLiveQueryCollection, eq, gt, gte, inArray, like, lt, or } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inExtent } from '../../support/extent.ts';
import { backendNamed, fill, startWorld, until, type Item, type Items, type World } from './support.ts';

let world: World;
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined));
afterEach(() => world.close());

const records = Array.from({ length: 40 }, (_, n) => ({
  id: `r${String(n).padStart(2, '0')}`,
  n,
  name: n % 2 ? 'odd' : 'even',
}));

/** Conditions of the lists that were read, without probes for the timestamp of the list. */
const reads = (): unknown[] =>
  world.requests
    .filter(({ method, url }) => method === 'GET' && !url.searchParams.has('_live') && !url.searchParams.has('_fields'))
    .filter(({ url }) => url.pathname.endsWith('/records'))
    .map(({ url }) => JSON.parse(url.searchParams.get('_filter') ?? 'null') as unknown);

const query = (items: Items, where: (item: any) => any) =>
  createLiveQueryCollection((q) => q.from({ item: items }).where(({ item }) => where(item)));
const names = (rows: Iterable<unknown>): string[] => [...rows].map((row) => (row as Item).id).sort();

describe.each(inExtent(['sqlite'], ['memory', 'sqlite', 'postgresql']))('subsets on %s', (backend) => {
  beforeEach(async () => {
    world = await startWorld(backendNamed(backend));
    await fill(world, records);
  });

  it('reads nothing before a query needs it', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    await until(() => items.status === 'ready');
    expect(items.size).toBe(0);
    expect(reads()).toEqual([]);
  });

  it('reads what a query needs', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => lt(n, 5));
    await found.preload();
    expect(names(found.toArray)).toEqual(['r00', 'r01', 'r02', 'r03', 'r04']);
    expect(items.size).toBe(5);
    expect(reads()).toHaveLength(1);
  });

  it('reads nothing for a query that finds nothing', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => eq(n, null));
    await found.preload();
    expect(found.size).toBe(0);
    expect(reads()).toEqual([]);
  });

  it('follows changes into, inside and out of a subset', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => gte(n, 38));
    await found.preload();
    expect(names(found.toArray)).toEqual(['r38', 'r39']);
    await world.records.patch('r00', { n: 100 });
    await until(() => found.size === 3);
    await world.records.patch('r00', { n: 101 });
    await until(() => (found.get('r00') as Item | undefined)?.n === 101);
    await world.records.patch('r38', { n: 0 });
    await until(() => !found.has('r38'));
    await world.records.put('new', { n: 50 });
    await until(() => found.has('new'));
    await world.records.delete('r39');
    await until(() => !found.has('r39'));
    expect(names(found.toArray)).toEqual(['new', 'r00']);
  });

  it('reads a subset once for several queries, also at the same time', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const queries = [0, 1, 2].map(() => query(items, ({ name }) => eq(name, 'odd')));
    await Promise.all(queries.map((found) => found.preload()));
    expect(queries.map(({ size }) => size)).toEqual([20, 20, 20]);
    const later = query(items, ({ name }) => eq(name, 'odd'));
    await later.preload();
    expect(later.size).toBe(20);
    expect(reads()).toHaveLength(1);
  });

  it('reads nothing for a part of a subset', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    await query(items, ({ name }) => eq(name, 'odd')).preload();
    const part = createLiveQueryCollection((q) =>
      q
        .from({ item: items })
        .where(({ item }) => eq(item.name, 'odd'))
        .where(({ item }) => lt(item.n, 10)),
    );
    await part.preload();
    expect(part.size).toBe(5);
    expect(reads()).toHaveLength(1);
  });

  it('reads nothing when everything is there', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const all = createLiveQueryCollection((q) => q.from({ item: items }));
    await all.preload();
    const part = query(items, ({ n }) => gt(n, 30));
    await part.preload();
    expect([all.size, part.size]).toEqual([40, 9]);
    expect(reads()).toHaveLength(1);
  });

  it('follows the part of a subset that another query had already loaded', async () => {
    const items = world.items({ syncMode: 'on-demand', keepSubsetMs: 0 });
    const all = createLiveQueryCollection((q) => q.from({ item: items }));
    await all.preload();
    const part = query(items, ({ n }) => gt(n, 30));
    await part.preload();
    await all.cleanup();
    await world.records.put('new', { n: 1 });
    await world.records.put('newer', { n: 50 });
    await until(() => part.has('newer'));
    const again = createLiveQueryCollection((q) => q.from({ item: items }));
    await again.preload();
    expect(again.has('new')).toBe(true);
    expect(again.size).toBe(42);
  });

  it('forgets rows that no query needs any more', async () => {
    const items = world.items({ syncMode: 'on-demand', keepSubsetMs: 0 });
    const few = query(items, ({ n }) => lt(n, 5));
    const more = query(items, ({ n }) => lt(n, 10));
    await Promise.all([few.preload(), more.preload()]);
    expect(items.size).toBe(10);
    await more.cleanup();
    await until(() => items.size === 5);
    expect(few.size).toBe(5);
    await few.cleanup();
    await until(() => items.size === 0);
    const again = query(items, ({ n }) => lt(n, 5));
    await again.preload();
    expect(again.size).toBe(5);
  });

  it('keeps rows for a while, and needs no request when a query comes back', async () => {
    const items = world.items({ syncMode: 'on-demand', keepSubsetMs: 60_000 });
    const first = query(items, ({ n }) => lt(n, 5));
    await first.preload();
    await first.cleanup();
    await world.records.patch('r00', { n: 3.5 });
    const again = query(items, ({ n }) => lt(n, 5));
    await again.preload();
    await until(() => (again.get('r00') as Item | undefined)?.n === 3.5);
    expect(reads()).toHaveLength(1);
  });

  it('ignores changes of rows that no query needs', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => lt(n, 2));
    await found.preload();
    await world.records.put('other', { n: 500 });
    await world.records.put('mine', { n: 1.5 });
    await until(() => found.has('mine'));
    expect(items.has('other')).toBe(false);
  });

  it('keeps rows that it has written, whether a query needs them or not', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    await until(() => items.status === 'ready');
    await items.insert({ id: 'mine', n: 500 }).when('settled');
    expect(items.get('mine')).toMatchObject({ n: 500, last_modified: expect.any(Number) });
    await items.update('mine', (draft) => void (draft.n = 501)).when('settled');
    expect(items.get('mine')?.n).toBe(501);
    await items.delete('mine').when('settled');
    expect(items.has('mine')).toBe(false);
  });

  it('updates and deletes rows of a subset', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => lt(n, 3));
    await found.preload();
    await items.update('r00', (draft) => void (draft.name = 'changed')).when('settled');
    expect((found.get('r00') as unknown as Item).name).toBe('changed');
    await items.delete('r01').when('settled');
    expect(names(found.toArray)).toEqual(['r00', 'r02']);
  });

  it('joins with requests for the rows of the other side only', async () => {
    const items = world.items({ syncMode: 'on-demand', autoIndex: 'eager', defaultIndexType: BTreeIndex });
    await world.client.bucket('b').collections.put('notes', {});
    const notes = world.client.bucket('b').collection<{ item: string; text: string }>('notes');
    for (const n of [1, 2, 3]) await notes.put(`n${n}`, { item: `r0${n}`, text: `note ${n}` });
    const others = world.items({
      list: notes,
      syncMode: 'on-demand',
      autoIndex: 'eager',
      defaultIndexType: BTreeIndex,
    });
    const joined = createLiveQueryCollection((q) =>
      q
        .from({ note: others })
        .join({ item: items }, ({ note, item }: any) => eq(note.item, item.id), 'left')
        .select(({ note, item }: any) => ({ id: note.id, n: item?.n })),
    );
    await joined.preload();
    await until(() => [...joined.values()].every((row: any) => typeof row.n === 'number'));
    expect(new Set([...joined.values()].map((row: any) => row.n as number))).toEqual(new Set([1, 2, 3]));
    expect(items.size).toBeLessThan(10);
  });

  it('counts', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const counted = createLiveQueryCollection((q) =>
      q
        .from({ item: items })
        .groupBy(({ item }) => item.name)
        .select(({ item }) => ({ name: item.name, count: count(item.id) })),
    );
    await counted.preload();
    expect(new Map([...counted.values()].map(({ name, count: total }: any) => [name, total]))).toEqual(
      new Map([
        ['even', 20],
        ['odd', 20],
      ]),
    );
  });

  it('divides lists of values that are too long for an address', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const ids = [...records.map(({ id }) => id), ...Array.from({ length: 900 }, (_, n) => `none-${n}`)];
    const found = query(items, ({ id }) => inArray(id, ids));
    await found.preload();
    expect(found.size).toBe(40);
    expect(reads().length).toBeGreaterThan(1);
    for (const { url } of world.requests) expect(url.search.length).toBeLessThan(8000);
  });

  it('asks for more where a condition is too large for the service', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ name }) =>
      (or as any)(...Array.from({ length: 300 }, (_, n) => like(name, `%${n}dd%`))),
    );
    await found.preload();
    expect(found.size).toBe(0);
    expect(reads()).toEqual([null]);
  });

  it('asks for more where the service refuses a condition', async () => {
    await world.close();
    world = await startWorld(backendNamed(backend), { max_selector_conditions: '2' });
    await fill(world, records);
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => or(eq(n, 1), eq(n, 2), eq(n, 3), eq(n, 4)));
    await found.preload();
    expect(found.size).toBe(4);
  });

  it('reads all pages of a subset', async () => {
    await world.close();
    world = await startWorld(backendNamed(backend), { paginate_by: '7' });
    await fill(world, records);
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => gte(n, 3));
    await found.preload();
    expect(found.size).toBe(37);
  });

  it('loses no change that happens while a subset is read', async () => {
    const items = world.items({ syncMode: 'on-demand', pageSize: 5 });
    const found = query(items, ({ n }) => gte(n, 0));
    const loaded = found.preload();
    const changed = Promise.all([
      world.records.delete('r05'),
      world.records.patch('r10', { n: 1000 }),
      world.records.put('new', { n: 7 }),
      world.records.patch('r20', { n: -5 }),
    ]);
    await Promise.all([loaded, changed]);
    await until(
      () =>
        !found.has('r05') &&
        !found.has('r20') &&
        found.has('new') &&
        (found.get('r10') as Item | undefined)?.n === 1000,
    );
    expect(found.size).toBe(39);
  });

  it('keeps states that are newer than a page that arrives late', async () => {
    let [reach, release] = [(): void => undefined, (): void => undefined];
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!new URL(input instanceof Request ? input.url : input).searchParams.has('_filter')) return response;
      const [body, { status, headers }] = [await response.arrayBuffer(), response];
      reach();
      await released;
      return new Response(body, { status, headers });
    };
    const client = new Coffer(world.service.origin, { auth: basic('owner', 'secret of owner'), fetch: slow });
    const items = world.items({ syncMode: 'on-demand', client });
    const found = query(items, ({ n }) => lt(n, 5));
    const loaded = found.preload();
    await reached;
    await world.records.patch('r00', { n: 0.5 });
    const { last_modified: deleted } = await world.records.delete('r01');
    expect(await items.utils.awaitTimestamp(deleted, 30_000)).toBe(true);
    release();
    await loaded;
    expect(names(found.toArray)).toEqual(['r00', 'r02', 'r03', 'r04']);
    expect((found.get('r00') as Item | undefined)?.n).toBe(0.5);
  });

  it('applies the filter of the collection to all subsets', async () => {
    const items = world.items({ syncMode: 'on-demand', filter: { name: 'odd' } });
    const found = query(items, ({ n }) => lt(n, 6));
    await found.preload();
    expect(names(found.toArray)).toEqual(['r01', 'r03', 'r05']);
    await world.records.patch('r00', { name: 'odd' });
    await until(() => found.has('r00'));
    await world.records.patch('r01', { name: 'even' });
    await until(() => !found.has('r01'));
  });

  it('reads subsets again on request', async () => {
    const items = world.items({ syncMode: 'on-demand' });
    const found = query(items, ({ n }) => lt(n, 5));
    await found.preload();
    await items.utils.refetch();
    await until(() => found.size === 5 && items.size === 5);
    await world.records.put('new', { n: 1 });
    await until(() => found.size === 6);
  });

  it('fails queries when the user may not read the list', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const items = world.items({ syncMode: 'on-demand', client: world.clientOf('stranger') });
    const found = query(items, ({ n }) => lt(n, 5));
    await expect(found.preload()).rejects.toThrow();
    await expect(items.preload()).rejects.toMatchObject({ status: 403 });
    expect(items.utils.status()).toBe('refused');
    expect(items.utils.lastError()).toMatchObject({ status: 403 });
  });
});

describe('subsets without live updates', () => {
  it('polls where the service has none', async () => {
    world = await startWorld(backendNamed('memory'), { live_max_streams: '0' });
    await fill(world, records);
    const items = world.items({ syncMode: 'on-demand', pollMs: 20 });
    const found = query(items, ({ n }) => lt(n, 5));
    await found.preload();
    expect(found.size).toBe(5);
    await world.records.put('new', { n: 1 });
    await until(() => found.has('new'));
    await world.records.delete('r00');
    await until(() => !found.has('r00'));
    await items.insert({ id: 'mine', n: 2 }).when('settled');
    expect(found.has('mine')).toBe(true);
  });
});
