// Copies between backends: everything arrives as it was, again and again, and nothing is lost by mistake.
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { openStores } from '../../../src/backends/open-backends.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { copyStores, type CopyOptions, type CopyResult } from '../../../src/transfer/copy/copy.ts';
import { CopyRefused, describePlace, settingsOfUrl } from '../../../src/transfer/copy/places.ts';
import { inUnit } from '../../../src/maintenance/units.ts';
import { fingerprintList } from '../../../src/maintenance/secret-fingerprints.ts';
import { stateList } from '../../../src/engine/index-states.ts';
import { StoredObject, type StoredEntry } from '../../../src/core/objects/stored.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { cloneDatabase } from '../../support/postgresql.ts';
import { dumpStores } from './dump.ts';
import { fill, randomStores, sample, type RandomStore } from './random-store.ts';
import { inExtent } from '../../support/extent.ts';

let postgresql: { readonly url: string; readonly drop: () => Promise<void> };
let folder: string;
let files = 0;

beforeAll(async () => {
  postgresql = await cloneDatabase();
  folder = mkdtempSync(join(tmpdir(), 'coffer-copy-'));
});

afterAll(async () => {
  await postgresql.drop();
  rmSync(folder, { recursive: true });
});

function newFile(): string {
  return `sqlite://${join(folder, `${files++}.sqlite3`)}`;
}

function copy(from: string, to: string, mode: CopyOptions['mode'] = 'refuse'): Promise<CopyResult> {
  return copyStores({ source: settingsOfUrl(from), target: settingsOfUrl(to), mode });
}

async function within<T>(url: string, work: (stores: OpenStores) => Promise<T>): Promise<T> {
  const stores = await openStores(settingsOfUrl(url), systemClock);
  try {
    for (const database of stores.databases) await database.initializeSchema({ dryRun: false });
    return await work(stores);
  } finally {
    await stores.close();
  }
}

async function newFileWith(store: RandomStore): Promise<string> {
  const url = newFile();
  await within(url, (stores) => fill(stores, store));
  return url;
}

function dump(url: string): Promise<unknown> {
  return within(url, dumpStores);
}

function record(id: string, lastModified: number, text = '{}'): StoredObject {
  return new StoredObject(id, lastModified, text);
}

const list = { kind: 'record', parent: storedParent('/buckets/a/collections/b') };

function restore(
  url: string,
  clock: number,
  entries: readonly StoredEntry[],
  gone: readonly string[] = [],
): Promise<void> {
  return within(url, ({ storage }) =>
    inUnit(storage.database, (transaction) => storage.writer(transaction).restore(list, { clock, entries, gone })),
  );
}

describe('a copy', () => {
  test(
    'from SQLite to PostgreSQL and back is equal to the original, with the same digests',
    { timeout: 120_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(randomStores, async (store) => {
          const first = await newFileWith(store);
          const last = newFile();
          const there = await copy(first, postgresql.url, 'empty');
          const back = await copy(postgresql.url, last);
          expect([there.isEqual, back.isEqual]).toEqual([true, true]);
          expect(back.parts.map(({ target }) => target)).toEqual(there.parts.map(({ source }) => source));
          expect(await dump(last)).toEqual(await dump(first));
        }),
        { numRuns: inExtent(5, 15) },
      );
    },
  );

  test('that is resumed moves swapped timestamps between objects', async () => {
    const [source, target] = [newFile(), newFile()];
    await restore(target, 9, [record('a', 1), record('b', 2), { id: 'c', lastModified: 3, deleted: true }]);
    await restore(source, 9, [record('c', 1), record('a', 2), { id: 'b', lastModified: 3, deleted: true }]);
    expect((await copy(source, target, 'resume')).isEqual).toBe(true);
    expect(await dump(target)).toEqual(await dump(source));
  });

  test('of large objects holds only a few of them in memory and is complete', async () => {
    const source = newFile();
    const text = `{"text":"${'x'.repeat(400_000)}"}`;
    for (let n = 0; n < 40; n++) await restore(source, 100, [record(`large-${n}`, n, text)]);
    const result = await copy(source, postgresql.url, 'empty');
    expect([result.isEqual, result.parts[0]?.target.objects]).toEqual([true, 40]);
  });

  test('copies each entry of a list longer than a page exactly once, including tombstones', async () => {
    const source = newFile();
    const entries = Array.from({ length: 2500 }, (_, n) =>
      n % 4 === 0 ? ({ id: `e${n}`, lastModified: n, deleted: true } as const) : record(`e${n}`, n, `{"n":${n}}`),
    );
    await restore(source, 2 ** 52, entries);
    const progress: number[] = [];
    const result = await copyStores({
      source: settingsOfUrl(source),
      target: settingsOfUrl(postgresql.url),
      mode: 'empty',
      onProgress: (phase, done, total) => {
        if (phase !== 'objects') return;
        expect(total).toBe(2500);
        progress.push(done);
      },
    });
    expect(result).toMatchObject({ isEqual: true, written: 2500 });
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBe(2500);
    expect(await dump(postgresql.url)).toEqual(await dump(source));
  });
});

describe('the comparison', () => {
  test.each<[string, () => readonly [number, readonly StoredEntry[]], string]>([
    ['a text', () => [9, [record('a', 1, '{"n":2}'), record('b', 2)]], 'the contents differ'],
    ['a timestamp', () => [9, [record('a', 3), record('b', 2)]], 'the contents differ'],
    ['an id', () => [9, [record('A', 1), record('b', 2)]], 'the contents differ'],
    ['a missing object', () => [9, [record('a', 1)]], 'the source has 2 objects and the target 1'],
    ['a clock', () => [8, [record('a', 1), record('b', 2)]], 'the clock is 9 in the source and 8 in the target'],
    [
      'a tombstone',
      () => [9, [record('a', 1), { id: 'b', lastModified: 2, deleted: true }]],
      'the source has 0 tombstones and the target 1',
    ],
  ])('finds %s that is different', async (_, make, message) => {
    const [source, target] = [newFile(), newFile()];
    await restore(source, 9, [record('a', 1), record('b', 2)]);
    await restore(target, ...make());
    const { isEqual, parts } = await copy(source, target, 'verify');
    expect(isEqual).toBe(false);
    expect(parts.flatMap(({ differences }) => differences).join()).toContain(message);
  });

  test('finds different permissions and memberships', async () => {
    const write = (url: string, principal: string): Promise<void> =>
      within(url, ({ permission }) =>
        inUnit(permission.database, async (transaction) => {
          await permission.writer(transaction).addPrincipalToAce(storedUri('/a'), 'read', toPrincipal(principal));
          await permission.writer(transaction).addUserPrincipal(toPrincipal('zoe'), toPrincipal(principal));
        }),
      );
    const [source, target] = [newFile(), newFile()];
    await write(source, 'x');
    await write(target, 'y');
    const { parts } = await copy(source, target, 'verify');
    expect(parts.flatMap(({ differences }) => differences)).toEqual([
      'the permissions differ',
      'the memberships differ',
    ]);
  });

  test('finds lists that exist on one side only', async () => {
    const [source, target] = [newFile(), newFile()];
    await restore(source, 9, []);
    await within(target, () => Promise.resolve());
    const message = ({ parts }: CopyResult): string => parts.flatMap(({ differences }) => differences).join();
    expect(message(await copy(source, target, 'verify'))).toContain('the target has no such list');
    expect(message(await copy(target, source, 'verify'))).toContain('the source has no such list');
  });
});

describe('a copy is refused', () => {
  async function refusal(work: Promise<unknown>): Promise<string> {
    const error: unknown = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CopyRefused);
    return error instanceof Error ? error.message : '';
  }

  test('when the target is not empty, and leaves it unchanged', async () => {
    const [source, target] = [await newFileWith(sample(3)), newFile()];
    await restore(target, 5, [record('x', 1)]);
    const before = await dump(target);
    expect(await refusal(copy(source, target))).toContain('the target is not empty');
    expect(await dump(target)).toEqual(before);
  });

  test('when a target to resume is ahead of the source, or has a list of its own', async () => {
    const [source, target] = [newFile(), newFile()];
    await restore(source, 9, [record('a', 1)]);
    await restore(target, 10, [record('a', 1)]);
    expect(await refusal(copy(source, target, 'resume'))).toContain('a list that is ahead of the source');
    const empty = newFile();
    await within(empty, () => Promise.resolve());
    expect(await refusal(copy(empty, target, 'resume'))).toContain('a list that the source does not have');
    expect(await dump(target)).toEqual([
      [[{ ...list, timestamp: 10, horizon: 0, live: 1, dead: 0 }, [['a', 1, '{}']], 1]],
      [],
      [],
    ]);
  });

  test.each(['empty', 'resume'] as const)(
    'when both ends are the same place, even under two names, and nothing is changed (%s)',
    async (mode) => {
      const url = newFile();
      await restore(url, 9, [record('a', 1)]);
      expect(await refusal(copy(url, url, mode))).toContain('the same place');
      const link = join(folder, mode);
      symlinkSync(folder, link);
      for (const [one, other] of [
        [url, url.replace(folder, link)],
        [postgresql.url, `${postgresql.url}?application_name=x`],
      ] as const) {
        await within(one, ({ storage }) =>
          inUnit(storage.database, async (transaction) => {
            const writer = storage.writer(transaction);
            await writer.flush();
            await writer.restore(list, { clock: 9, entries: [record('a', 1)] });
            await writer.create(stateList(list), list.kind, '{}');
          }),
        );
        const before = await dump(one);
        expect(await refusal(copy(one, other, mode))).toContain('the same place');
        expect(await dump(one)).toEqual(before);
        const state = await within(one, ({ storage }) => storage.reader.get(stateList(list), list.kind));
        expect(state?.text).toBe('{}');
        const own = await within(one, ({ storage }) => storage.reader.countAll(fingerprintList, { filters: [] }));
        expect(own).toBe(0);
      }
    },
  );

  test('when the source does not exist, and creates none', async () => {
    const url = newFile();
    expect(await refusal(copy(url, newFile()))).toContain('the source does not exist');
    expect(await refusal(copy(url, newFile()))).toContain('the source does not exist');
  });

  test('when the storage is in memory', async () => {
    const source = settingsOf({ storage_backend: 'memory', permission_backend: 'memory', 'multiauth.policies': '' });
    const work = copyStores({ source, target: settingsOfUrl(newFile()), mode: 'refuse' });
    expect(await refusal(work)).toContain('in memory');
  });

  test('when the target has no permission backend', async () => {
    const target = settingsOf({
      storage_backend: 'sqlite',
      storage_url: newFile(),
      permission_backend: '',
      'multiauth.policies': '',
    });
    const source = settingsOfUrl(await newFileWith(sample(4)));
    expect(await refusal(copyStores({ source, target, mode: 'refuse' }))).toContain(
      'the target has no permission backend',
    );
  });
});

test('permissions may be at another location than objects, on either side', async () => {
  const source = await newFileWith(sample(5));
  const [objects, permissions, back] = [newFile(), newFile(), newFile()];
  const apart = settingsOf({
    storage_backend: 'sqlite',
    storage_url: objects,
    permission_backend: 'sqlite',
    permission_url: permissions,
    'multiauth.policies': '',
  });
  expect((await copyStores({ source: settingsOfUrl(source), target: apart, mode: 'refuse' })).isEqual).toBe(true);
  expect((await copyStores({ source: apart, target: settingsOfUrl(back), mode: 'refuse' })).isEqual).toBe(true);
  expect(await dump(back)).toEqual(await dump(source));
});

test('locations are described without passwords', () => {
  const named = (url: string): string => describePlace({ name: 'source', settings: settingsOfUrl(url) });
  expect(named('postgresql://me:hunter2@db.example.org/store')).toBe('postgresql://me:***@db.example.org/store');
  expect(named('postgres:///store?password=hunter2&host=x')).not.toContain('hunter2');
});
