// Cases about pages that end early because their texts are long.
import assert from 'node:assert/strict';
import type { PageQuery } from '../../../core/query/ast.ts';
import { positionOf } from '../../../core/query/sort.ts';
import type { StorageCase } from '../contract-case.ts';
import { pageQuery, sortKeys, storageCase, type StorageProbe } from './storage-probe.ts';

/** Lengths of texts: some that backends read with their rows, and some that they read separately. */
const lengths = [3000, 40, 20_000, 1200, 7000, 9000, 90_000, 10, 5000, 12_000];
const oldestFirst = sortKeys('last_modified');
const names = lengths.map((_, index) => `r${index}`);

async function seedLong(probe: StorageProbe, letter = 'x'): Promise<void> {
  await probe.seed(Object.fromEntries(lengths.map((length, n) => [names[n]!, { n, text: letter.repeat(length) }])));
}

/** Returns the ids of each page of the query in order. Verifies why a page ended early. */
async function readPages(probe: StorageProbe, query: Partial<PageQuery> & { maxBytes: number }): Promise<string[][]> {
  const sort = query.sort ?? oldestFirst;
  const pages: string[][] = [];
  let after: PageQuery['after'];
  for (;;) {
    const page = await probe.page({ limit: 100, ...query, sort, after });
    pages.push(page.entries.map(({ id }) => id));
    const bytes = page.entries.reduce((sum, entry) => sum + ('text' in entry ? Buffer.byteLength(entry.text) : 0), 0);
    assert.ok(page.entries.length === 1 || bytes <= query.maxBytes, `${bytes} bytes on a page`);
    if (!page.more) return pages;
    after = positionOf(page.entries.at(-1)!, sort);
  }
}

export const pageBytesCases: readonly StorageCase[] = [
  storageCase('a page ends before its texts exceed the limit, and every entry is on one page', async (probe) => {
    await seedLong(probe);
    for (const maxBytes of [1, 4000, 30_000, 100_000]) {
      const pages = await readPages(probe, { maxBytes });
      assert.deepEqual(pages.flat(), names);
      if (maxBytes === 1) assert.equal(pages.length, names.length);
    }
    assert.deepEqual(await readPages(probe, { maxBytes: 1_000_000 }), [names]);
  }),
  storageCase('pages in any order, of filters and of ids end at the limit too', async (probe) => {
    await seedLong(probe);
    const even = names.filter((_, n) => n % 2 === 0);
    for (const maxBytes of [1, 4000, 30_000, 100_000]) {
      assert.deepEqual((await readPages(probe, { maxBytes, sort: sortKeys('id') })).flat(), names);
      assert.deepEqual((await readPages(probe, { maxBytes, sort: sortKeys('-n,id') })).flat(), names.toReversed());
      assert.deepEqual((await readPages(probe, { maxBytes, ids: even })).flat(), even);
      assert.deepEqual((await readPages(probe, { maxBytes, limit: 3 })).flat(), names);
      const filtered = await readPages(probe, {
        maxBytes,
        filters: [{ field: { name: 'n', path: ['n'] }, operator: 'min', value: 4 }],
      });
      assert.deepEqual(filtered.flat(), names.slice(4));
    }
  }),
  storageCase('pages have every entry when their texts are longer than one reply of a server', async (probe) => {
    const millions = [0.2, 0.9, 1.5, 0.1, 4, 3, 0.3];
    const ids = millions.map((_, index) => `r${index}`);
    for (const [n, length] of millions.entries()) await probe.create(ids[n]!, { n, text: 'x'.repeat(length * 1e6) });
    for (const maxBytes of [2e6, 50e6]) {
      assert.deepEqual((await readPages(probe, { maxBytes })).flat(), ids);
      assert.deepEqual(
        (await readPages(probe, { maxBytes, sort: sortKeys('-last_modified') })).flat(),
        ids.toReversed(),
      );
      assert.deepEqual((await readPages(probe, { maxBytes, ids: ids.slice(1, 5) })).flat(), ids.slice(1, 5));
      assert.deepEqual((await readPages(probe, { maxBytes, sort: sortKeys('-n') })).flat(), ids.toReversed());
    }
    const left = await probe.unit(async (writer) => {
      await writer.delete(probe.list, 'r2');
      const { entries } = await writer.listAll(probe.list, pageQuery({ ids, sort: oldestFirst, maxBytes: 50e6 }));
      return entries.map(({ id }) => id);
    });
    assert.deepEqual(left, ids.toSpliced(2, 1));
  }),
  storageCase('tombstones do not count towards the limit', async (probe) => {
    await seedLong(probe);
    await probe.unit((writer) => writer.delete(probe.list, 'r6'));
    const [page] = await readPages(probe, { maxBytes: 60_000, includeDeleted: true });
    assert.deepEqual(page, [...names.filter((name) => name !== 'r6'), 'r6']);
  }),
  storageCase('pages of many entries end at the limits of entries and of bytes', async (probe) => {
    const many = Array.from({ length: 1200 }, (_, n) => `m${String(n).padStart(4, '0')}`);
    await probe.seed(Object.fromEntries(many.map((id, n) => [id, { n }])));
    for (const sort of [oldestFirst, sortKeys('id')]) {
      for (const limit of [1100, 1199, 1200, 1201]) {
        const { entries, more } = await probe.page({ limit, sort });
        assert.deepEqual([entries.map(({ id }) => id), more], [many.slice(0, limit), limit < many.length]);
      }
      for (const maxBytes of [4000, 1_000_000]) {
        assert.deepEqual((await readPages(probe, { limit: 1100, maxBytes, sort })).flat(), many);
      }
    }
    const none = await probe.page({ limit: 1100, ids: ['other'] });
    assert.deepEqual([none.entries, none.more], [[], false]);
  }),
  storageCase('the limit counts bytes and not characters', async (probe) => {
    await seedLong(probe, '语');
    const pages = await readPages(probe, { maxBytes: 30_000 });
    assert.deepEqual(pages[0], ['r0', 'r1']);
    assert.deepEqual(pages.flat(), names);
  }),
  storageCase('a deletion of a page ends at the limit', async (probe) => {
    await seedLong(probe);
    const first = await probe.deleteAll({ sort: oldestFirst, maxBytes: 24_000 });
    assert.deepEqual([first.deletions.map(({ old }) => old.id), first.more], [['r0', 'r1', 'r2'], true]);
    assert.deepEqual(await probe.count(), names.length - 3);
  }),
  storageCase('a unit of work sees its own writes on pages that end at the limit', async (probe) => {
    await seedLong(probe);
    await probe.unit(async (writer) => {
      await writer.update(probe.list, 'r0', `{"n":0,"text":"${'y'.repeat(6000)}"}`);
      const { entries, more } = await writer.listAll(probe.list, {
        filters: [],
        sort: oldestFirst,
        limit: 100,
        maxBytes: 24_000,
      });
      assert.deepEqual([entries.map(({ id }) => id), more], [['r1', 'r2', 'r3'], true]);
    });
  }),
];
