// The cache of small lists returns what the database has, whichever process writes.
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoredObject, type ListKey } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { PageQuery, Selection } from '../../src/core/query/ast.ts';
import { lastModifiedField, parseField } from '../../src/core/query/fields.ts';
import { SmallList } from '../../src/core/query/small-list.ts';
import { newestFirst } from '../../src/core/query/sort.ts';
import { createTestClock } from '../../src/testing/index.ts';
import { inUnitOf } from '../../src/testing/contract/unit-of-work.ts';
import { anyHistory } from '../contract/history.ts';
import { advanceClock, requireSame, runReads, runStep } from '../contract/run-history.ts';
import { Comparisons } from '../support/comparisons.ts';
import { openRedis, type Opened } from '../support/all-backends.ts';
import { cloneDatabase, openPostgres } from '../support/postgresql.ts';
import { openTestServer } from '../support/redis.ts';
import { sized } from '../support/extent.ts';

const start = 1000;
const clock = createTestClock(start);
const histories = sized('COFFER_SMALL_LISTS', 15, 60);
const list: ListKey = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const query: PageQuery = {
  filters: [{ field: parseField('n'), operator: 'min', value: 0 }],
  sort: [{ field: parseField('n'), direction: 'ascending' }, ...newestFirst],
  limit: 10,
};

/** An empty database, which each call opens again. */
interface Place {
  /** @param cacheBytes size of the cache; default: that of the backend */
  readonly open: (cacheBytes?: number) => Promise<Opened> | Opened;
  readonly drop: () => Promise<void>;
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  async postgresql() {
    const { url, drop } = await cloneDatabase();
    return { open: (cacheBytes) => openPostgres(clock, { url }, cacheBytes), drop };
  },
  async redis() {
    const server = await openTestServer();
    const prefix = `small-lists-${process.pid}:`;
    return { open: (cacheBytes) => openRedis(server.url, { clock, prefix, cacheBytes }), drop: () => server.close() };
  },
};

describe.each(Object.entries(places))('the cache of small lists on %s', (_name, createPlace) => {
  let place: Place;
  /** Two processes with a cache, and one without. */
  let all: readonly [Opened, Opened, Opened];
  beforeAll(async () => {
    place = await createPlace();
    all = [await place.open(), await place.open(), await place.open(0)];
  });
  afterAll(async () => {
    for (const opened of all) await opened.database.close();
    await place.drop();
  });

  const clear = (): Promise<void> =>
    inUnitOf(all[2], async ({ storage, permission }) => {
      await storage.flush();
      await permission.flush();
    });
  const texts = async ({ storage: { reader } }: Opened): Promise<readonly string[]> => {
    const { entries } = await reader.listAll(list, query);
    expect(await reader.countAll(list, { filters: query.filters })).toBe(entries.length);
    return entries.map((entry) => (entry instanceof StoredObject ? `${entry.id} ${entry.text}` : entry.id));
  };
  beforeEach(clear);

  it('agrees with the database after any writes of any process', { timeout: 300_000 }, async () => {
    const comparisons = new Comparisons();
    const anySteps = anyHistory(start).chain((steps) =>
      fc.tuple(...steps.map((step) => fc.tuple(fc.constant(step), fc.constantFrom(0, 1)))),
    );
    await fc.assert(
      fc.asyncProperty(anySteps, async (steps) => {
        clock.set(start);
        await clear();
        for (const [step, writer] of steps) {
          advanceClock(clock, step);
          await runStep(all[writer], step);
          // The second read of a version fills the cache, and the third one uses it.
          for (let read = 0; read < 3; read++) {
            const readers = all.map(({ storage, permission }) => ({
              storage: storage.reader,
              permission: permission.reader,
            }));
            requireSame(await Promise.all(readers.map((each) => runReads(each, step))), comparisons);
          }
        }
      }),
      { numRuns: histories },
    );
    comparisons.print('Cache of small lists');
  });

  it('serves the queries of a version from the second one on', async () => {
    const [one, other] = all;
    const served = vi.spyOn(SmallList.prototype, 'selectPage');
    const calls: number[] = [];
    for (const n of [1, 2]) {
      await inUnitOf(other, ({ storage }) => storage.update(list, 'a', `{"n":${n}}`));
      for (let read = 0; read < 3; read++) {
        const { entries } = await one.storage.reader.listAll(list, query);
        expect(entries).toMatchObject([{ text: `{"n":${n}}` }]);
        calls.push(served.mock.calls.length);
      }
    }
    expect(calls).toEqual([0, 1, 2, 2, 3, 4]);
  });

  it('reads no objects for numbers on which attributes have no influence', async () => {
    const [one, other] = all;
    await inUnitOf(other, ({ storage }) => storage.update(list, 'a', '{"n":1}'));
    const counted = vi.spyOn(SmallList.prototype, 'count');
    const { reader } = one.storage;
    const since: Selection = { filters: [{ field: lastModifiedField, operator: 'gt', value: 0 }] };
    for (const selection of [{ filters: [] }, since, { filters: query.filters }]) {
      for (let read = 0; read < 3; read++) expect(await reader.countAll(list, selection)).toBe(1);
    }
    expect(counted).toHaveBeenCalledTimes(2);
  });

  it('sees objects replaced at the same timestamp, in the same number', async () => {
    const [one, other] = all;
    for (const n of [1, 2, 3]) {
      await inUnitOf(other, ({ storage }) =>
        storage.restore(list, { clock: 5000, entries: [new StoredObject('a', 4000, `{"n":${n}}`)] }),
      );
      for (let read = 0; read < 3; read++) expect(await texts(one)).toEqual([`a {"n":${n}}`]);
    }
  });

  it('sees a list that was deleted and written anew at the same time', async () => {
    const [one, other] = all;
    for (const n of [1, 2, 3]) {
      await inUnitOf(other, async ({ storage }) => {
        await storage.deleteChildren('/buckets/b');
        await storage.create(list, 'a', `{"n":${n}}`);
      });
      for (let read = 0; read < 3; read++) expect(await texts(one)).toEqual([`a {"n":${n}}`]);
    }
  });

  it('is not used by a unit of work, which sees its own writes', async () => {
    const [one] = all;
    await inUnitOf(one, ({ storage }) => storage.create(list, 'a', '{"n":1}'));
    for (let read = 0; read < 3; read++) expect(await texts(one)).toEqual(['a {"n":1}']);
    await inUnitOf(one, async ({ storage }) => {
      await storage.update(list, 'a', '{"n":2}');
      const { entries } = await storage.listAll(list, query);
      expect(entries.map((entry) => (entry as StoredObject).text)).toEqual(['{"n":2}']);
      expect(await texts(one)).toEqual(['a {"n":1}']);
    });
    expect(await texts(one)).toEqual(['a {"n":2}']);
  });

  it.each([
    ['long texts', 5, 60_000],
    ['a text too long for a row of texts', 2, 9000],
    ['many objects', 1001, 1],
    ['ids with the separator of texts', 2, 1],
  ])('reads lists with %s from the database', async (name, count, chars) => {
    const suffix = name.startsWith('ids') ? '\u001e' : '';
    await inUnitOf(all[1], async ({ storage }) => {
      for (let n = 0; n < count; n++)
        await storage.create(list, `id${n}${suffix}`, `{"n":${n},"x":"${'x'.repeat(chars)}"}`);
    });
    for (let read = 0; read < 3; read++) {
      const { entries, more } = await all[0].storage.reader.listAll(list, query);
      expect(entries.map(({ id }) => id)).toEqual(
        Array.from({ length: Math.min(count, query.limit) }, (_, n) => `id${n}${suffix}`),
      );
      expect(more).toBe(count > query.limit);
    }
  });
});
