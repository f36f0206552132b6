// Copies between all backends: each of them as source and as target, of whatever a store can hold.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { copyBetween } from '../../../src/transfer/copy/copy.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { StoredObject } from '../../../src/core/objects/stored.ts';
import { dumpStores } from './dump.ts';
import { backends, empty, EveryStore, type Backend } from './every-store.ts';
import { fillLongList, restore } from './long-list.ts';
import { fill, randomStores, sample } from './random-store.ts';
import { inExtent } from '../../support/extent.ts';

let every: EveryStore;

function storesOf(backend: Backend): OpenStores {
  return every.of(backend);
}

beforeAll(async () => {
  every = await EveryStore.open();
}, 120_000);

afterAll(() => every.close());

test('a copy through every backend and back is equal to the original', { timeout: 120_000 }, async () => {
  const everywhere: readonly Backend[] = [
    'memory',
    'redis',
    'postgresql',
    'redis-cluster',
    'sqlite',
    'redis',
    'memory',
  ];
  const way = everywhere.filter((name) => backends.includes(name));
  await fc.assert(
    fc.asyncProperty(randomStores, async (contents) => {
      const first = storesOf('memory');
      await empty(first);
      await fill(first, contents);
      const expected = await dumpStores(first);
      let digests: unknown;
      for (const [step, name] of way.slice(1).entries()) {
        const { isEqual, parts } = await copyBetween(storesOf(way[step]!), storesOf(name), { mode: 'empty' });
        expect(isEqual).toBe(true);
        digests ??= parts.map(({ source }) => source);
        expect(parts.map(({ target }) => target)).toEqual(digests);
        expect(await dumpStores(storesOf(name))).toEqual(expected);
      }
    }),
    { numRuns: inExtent(3, 8) },
  );
});

const pairs: readonly (readonly [Backend, Backend])[] = [
  ['memory', 'sqlite'],
  ['sqlite', 'postgresql'],
  ['postgresql', 'redis'],
  ['redis', 'redis-cluster'],
  ['redis-cluster', 'memory'],
];

describe.each(pairs.filter((pair) => pair.every((name) => backends.includes(name))))('from %s to %s', (from, to) => {
  test('any earlier copy is made equal to the source', { timeout: 60_000 }, async () => {
    const [source, target] = [storesOf(from), storesOf(to)];
    await empty(source);
    await fill(source, sample(1));
    await copyBetween(source, target, { mode: 'empty' });
    await fill(source, sample(2));
    await inUnit(source.storage.database, async (transaction) => {
      const writer = source.storage.writer(transaction);
      for (const { list: key, entries } of sample(1).lists.slice(0, 4)) {
        for (const { id } of entries.slice(0, 3)) await writer.delete(key, id, { keepTombstone: id.length % 2 === 0 });
      }
      await writer.purgeDeleted({ kind: 'record' });
      await writer.deleteChildren(storedUri('/a'));
      const permissions = source.permission.writer(transaction);
      for (const [objectId] of sample(1).permissions.slice(0, 5))
        await permissions.deleteObjectPermissions([storedUri(objectId)]);
      await permissions.addPrincipalToAce(storedUri('/new'), 'read', toPrincipal('zoe'));
      for (const [user, [principal]] of sample(1).memberships.slice(0, 3)) {
        await permissions.removeUserPrincipal(toPrincipal(user), toPrincipal(principal!));
      }
    });
    expect((await copyBetween(source, target, { mode: 'verify' })).isEqual).toBe(false);
    expect((await copyBetween(source, target, { mode: 'resume' })).isEqual).toBe(true);
    expect(await dumpStores(target)).toEqual(await dumpStores(source));
    expect(await copyBetween(source, target, { mode: 'resume' })).toMatchObject({ isEqual: true, written: 0 });
  });

  test('timestamps that moved between objects are the same as in the source', async () => {
    const [source, target] = [storesOf(from), storesOf(to)];
    const dead = { id: 'd', lastModified: 6, deleted: true } as const;
    for (const each of [source, target]) await empty(each);
    const [a, b, c, x] = ['a', 'b', 'c', 'x'] as const;
    const at = (id: string, time: number): StoredObject => new StoredObject(id, time, `{"t":${time}}`);
    await restore(target, 9, [at(a, 1), at(b, 2), at(c, 3), at(x, 4), dead]);
    // One goes back in time, one forward, two change places, one is gone, a deletion is undone.
    await restore(source, 9, [at(c, 1), at(a, 2), at(b, 8), at('d', 3)]);
    expect((await copyBetween(source, target, { mode: 'resume' })).isEqual).toBe(true);
    expect(await dumpStores(target)).toEqual(await dumpStores(source));
  });

  test('a list of many entries arrives in portions, permissions and members too', { timeout: 60_000 }, async () => {
    const [source, target] = [storesOf(from), storesOf(to)];
    await empty(source);
    await fillLongList(source, 2300);
    const progress: number[] = [];
    const result = await copyBetween(source, target, {
      mode: 'empty',
      onProgress(phase, done, total) {
        if (phase !== 'objects') return;
        expect(total).toBe(2300);
        progress.push(done);
      },
    });
    expect(result).toMatchObject({ isEqual: true, written: 2300 });
    expect(progress.length).toBeGreaterThan(3);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBe(2300);
    expect(await dumpStores(target)).toEqual(await dumpStores(source));
  });
});
