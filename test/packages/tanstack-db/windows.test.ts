// Ordered queries with a limit: the rows are those that the whole list would give, and no more than needed is read.
import { and, BTreeIndex, createLiveQueryCollection, eq, gt, gte, ilike, lower, lt } from '@tanstack/db';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { bigintText, isoDate } from '../../../packages/tanstack-db/src/index.ts';
import { inExtent } from '../../support/extent.ts';
import { backendNamed, fill, startWorld, until, type Items, type World } from './support.ts';

type Refs = Record<string, any>;

const texts = [
  'b',
  'a',
  'B',
  'é',
  'Z',
  '',
  'ab',
  '\u{1F600}x',
  '\uE000x',
  '\uFFFDx',
  'a\u{10000}',
  'a\uFF5E',
  'zz',
  '_',
  '10',
];

/** 60 records. `n` and `at` have ties; `rare` is missing in most, `mixed` has numbers and booleans. */
const records = Array.from({ length: 60 }, (_, index) => ({
  id: `r${String((index * 37) % 60).padStart(2, '0')}`,
  n: Math.floor(index / 3) - 5,
  text: texts[index % texts.length],
  at: new Date(Date.UTC(2020, 0, 1 + (index % 20))).toISOString(),
  ...(index % 6 === 0 ? { rare: index } : index % 6 === 1 ? { rare: null } : {}),
  mixed: index % 7 === 0 ? index % 2 === 0 : index - 20,
  big: String(10n ** 20n + BigInt(index * 7919)),
  nested: index % 4 === 0 ? null : { a: index % 10 },
  group: index % 2 === 0 ? 'even' : 'odd',
}));

interface Case {
  readonly title: string;
  readonly field: (row: Refs) => any;
  readonly where?: (row: Refs) => any;
  readonly sort?: object;
}

const cases: readonly Case[] = [
  { title: 'numbers with ties', field: ({ n }) => n },
  { title: 'numbers of some rows', field: ({ n }) => n, where: ({ group }) => eq(group, 'odd') },
  { title: 'numbers in a range', field: ({ n }) => n, where: ({ n }) => and(gt(n, -3), lt(n, 9)) },
  {
    title: 'numbers with a condition that only the client knows',
    field: ({ n }) => n,
    where: ({ text }) => eq(lower(text), 'b'),
  },
  { title: 'numbers with a condition that finds too much', field: ({ n }) => n, where: ({ text }) => ilike(text, '_') },
  { title: 'nulls first', field: ({ rare }) => rare, sort: { nulls: 'first' } },
  { title: 'nulls last', field: ({ rare }) => rare, sort: { nulls: 'last' } },
  { title: 'nulls last in a range', field: ({ rare }) => rare, sort: { nulls: 'last' }, where: ({ n }) => gte(n, 0) },
  { title: 'numbers and booleans', field: ({ mixed }) => mixed },
  { title: 'texts by unit', field: ({ text }) => text, sort: { stringSort: 'lexical' } },
  { title: 'texts of a locale', field: ({ text }) => text, sort: { stringSort: 'locale', locale: 'de' } },
  { title: 'texts by default', field: ({ text }) => text },
  { title: 'dates', field: ({ at }) => at },
  { title: 'big integers', field: ({ big }) => big },
  { title: 'nested numbers', field: ({ nested }) => nested.a },
  { title: 'ids by unit', field: ({ id }) => id, sort: { stringSort: 'lexical' } },
  { title: 'ids by default', field: ({ id }) => id },
  { title: 'timestamps', field: (row) => row['last_modified'] },
];

const windows = [
  { offset: 0, limit: 1 },
  { offset: 0, limit: 5 },
  { offset: 3, limit: 4 },
  { offset: 20, limit: 10 },
  { offset: 55, limit: 10 },
  { offset: 100, limit: 5 },
];

// TanStack DB recommends an index for each of these queries.
beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => undefined));

const backends = inExtent(['sqlite'], ['memory', 'sqlite', 'postgresql']);

describe.each(backends)('windows on %s', (backend) => {
  let world: World;
  let everything: Items;
  const fields = { at: isoDate, big: bigintText } as never;
  beforeAll(async () => {
    world = await startWorld(backendNamed(backend));
    await fill(world, records);
    everything = world.items({ fields });
    await everything.preload();
  });
  afterAll(() => world.close());

  const query = (
    items: Items,
    { field, where, sort }: Case,
    direction: 'asc' | 'desc',
    window: { offset: number; limit: number },
  ) =>
    createLiveQueryCollection((q) => {
      let built: any = q.from({ item: items });
      if (where !== undefined) built = built.where(({ item }: { item: Refs }) => where(item));
      return built
        .orderBy(({ item }: { item: Refs }) => field(item), { direction, ...sort })
        .orderBy(({ item }: { item: Refs }) => item['id'], { stringSort: 'lexical' })
        .limit(window.limit)
        .offset(window.offset);
    });
  const idsOf = (rows: readonly unknown[]): readonly string[] => rows.map((row) => (row as { id: string }).id);

  const selected = backend === 'memory' ? cases : cases.filter((_, index) => index % 3 === 0);
  describe.each(
    selected.flatMap((one) => (['asc', 'desc'] as const).map((direction) => [one.title, direction, one] as const)),
  )('%s, %s', (_, direction, one) => {
    // With and without an index, TanStack DB pages in different ways.
    it.each([
      ['with an index', { autoIndex: 'eager', defaultIndexType: BTreeIndex } as const],
      ['without an index', {}],
    ])('%s', async (__, indexed) => {
      for (const window of windows) {
        const items = world.items({ fields, syncMode: 'on-demand', ...indexed });
        const expected = query(everything, one, direction, window);
        const found = query(items, one, direction, window);
        await Promise.all([expected.preload(), found.preload()]);
        expect(idsOf(found.toArray)).toEqual(idsOf(expected.toArray));
        await Promise.all([expected.cleanup(), found.cleanup()]);
        await items.cleanup();
      }
    });
  });

  it('moves the window forwards and backwards', async () => {
    const one = cases[0]!;
    const items = world.items({ fields, syncMode: 'on-demand', autoIndex: 'eager', defaultIndexType: BTreeIndex });
    const found = query(items, one, 'asc', { offset: 0, limit: 5 });
    await found.preload();
    for (const window of [...windows, { offset: 10, limit: 20 }, { offset: 0, limit: 3 }]) {
      await found.utils.setWindow(window);
      const expected = query(everything, one, 'asc', window);
      await expected.preload();
      expect(idsOf(found.toArray)).toEqual(idsOf(expected.toArray));
      await expected.cleanup();
    }
    await found.cleanup();
  });

  it('reads no more than the window and its ties', async () => {
    const items = world.items({ fields, syncMode: 'on-demand', autoIndex: 'eager', defaultIndexType: BTreeIndex });
    const found = query(items, cases[0]!, 'asc', { offset: 0, limit: 5 });
    await found.preload();
    expect(items.size).toBeLessThan(10);
    await found.cleanup();
  });

  it('fills the window again when one of its rows is deleted or moves', async () => {
    const items = world.items({ fields, syncMode: 'on-demand', autoIndex: 'eager', defaultIndexType: BTreeIndex });
    const window = { offset: 0, limit: 4 };
    const found = query(items, cases[0]!, 'asc', window);
    await found.preload();
    const first = idsOf(found.toArray)[0]!;
    const before = (await world.records.get(first)) as unknown as { n: number };
    await world.records.delete(first);
    await until(() => found.toArray.length === 4 && !idsOf(found.toArray).includes(first));
    const second = idsOf(found.toArray)[0]!;
    await world.records.patch(second, { n: 1000 });
    await until(() => found.toArray.length === 4 && !idsOf(found.toArray).includes(second));
    // As they were, for the other tests.
    await world.records.patch(second, { n: before.n });
    await world.records.put(
      first,
      records.find(({ id }) => id === first)!,
    );
    await until(() => idsOf(found.toArray).includes(first) && idsOf(found.toArray).includes(second));
    await found.cleanup();
    await until(() => (everything.get(second) as Refs | undefined)?.['n'] === before.n && everything.has(first));
  });
});
