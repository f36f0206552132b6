// Work on all records of a snapshot and all entries of its history: other requests run meanwhile, however small they are.
import { expect, it } from 'vitest';
import { createMemoryDatabase, type MemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import type { StorageReader } from '../../../src/contracts/storage.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { StoredObject } from '../../../src/core/objects/stored.ts';
import { ChangeLog } from '../../../src/plugins/history/change-log.ts';
import { readSnapshot, type SnapshotExtent, type SnapshotSource } from '../../../src/plugins/history/snapshot.ts';
import { createTestClock } from '../../../src/testing/index.ts';
import { countTurns } from '../../support/turns.ts';

const count = 5000;
const records = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
const history = { kind: 'history', parent: storedParent('/buckets/b') };

/** The text of the history entry for a record that was written at a time. */
function entryOf(id: string, lastModified: number): string {
  const target = { data: { id, last_modified: lastModified } };
  return JSON.stringify({ resource_name: 'record', action: 'update', collection_id: 'c', record_id: id, target });
}

/** Stores records with a history entry each; the timestamps of the records end at twice their number. */
async function fill(
  firstLogged: number,
): Promise<{ readonly database: MemoryDatabase; readonly ids: readonly string[] }> {
  const database = createMemoryDatabase({ clock: createTestClock() });
  const storage = createMemoryStorage(database);
  const ids = Array.from({ length: count }, (_, n) => `r${n}`);
  await inUnit(database, async (unit) => {
    const writer = storage.writer(unit);
    const written = ids.map((id, n) => new StoredObject(id, count + n + 1, '{}'));
    const logged = ids.map((id, n) => new StoredObject(`h${n}`, n + 1, entryOf(id, firstLogged + n)));
    await writer.restore(records, { clock: 2 * count, entries: written });
    await writer.restore(history, { clock: count, entries: logged });
  });
  return { database, ids };
}

function sourceOf(storage: StorageReader): SnapshotSource {
  const changes = new ChangeLog({ storage, requireRoom: undefined, history, collectionId: 'c' }, []);
  const limits = { maxBytes: 1e9, reserve: (): void => {}, requireRoom: undefined };
  return { storage, records, exists: true, changes, ...limits };
}

interface Shown {
  readonly id: string;
  readonly last_modified: number;
}

function shownBy(pieces: readonly string[] = []): readonly Shown[] {
  return JSON.parse(`[${pieces.join('')}]`) as readonly Shown[];
}

it.each([
  ['records', 2 * count],
  ['history entries', count],
])('is read from many %s in steps', async (_, at) => {
  const { database, ids } = await fill(1);
  const { result = [], turns } = await countTurns(readSnapshot(sourceOf(createMemoryStorage(database).reader), at));
  expect(shownBy(result).map(({ id }) => id)).toEqual(ids.toReversed());
  expect(Math.max(...result.map((piece) => piece.length))).toBeLessThan(100_000);
  expect(turns).toBeGreaterThan(20);
});

it.each([
  { at: 2 * count, firstLogged: count + 1, oldest: 0 },
  { at: 2 * count + 50, firstLogged: count + 1, oldest: 0 },
  { at: 9 * count, firstLogged: count + 1, oldest: 0 },
  // The newer half has changed since. The history has it as it was.
  { at: count + count / 2, firstLogged: 1, oldest: count / 2 },
])(
  'of the time $at has all records as they were before any of them changed while they were read',
  async ({ at, firstLogged, oldest }) => {
    const { database, ids } = await fill(firstLogged);
    const storage = createMemoryStorage(database);
    // The newest records are read first. After each page, the oldest one and one that was read change.
    let changes = 0;
    const change = (): Promise<void> =>
      inUnit(database, async (unit) => {
        const writer = storage.writer(unit);
        for (const n of [oldest + changes, count - 1 - changes]) {
          changes++;
          const lastModified = 2 * count + changes;
          const logged = new StoredObject(`later${changes}`, count + changes, entryOf(ids[n]!, lastModified));
          const entries = [new StoredObject(ids[n]!, lastModified, '{"later":true}')];
          await writer.restore(records, { clock: lastModified, entries });
          await writer.restore(history, { clock: count + changes, entries: [logged] });
        }
      });
    const reader = Object.create(storage.reader) as StorageReader;
    reader.listAll = async (list, ...more) => {
      const page = await storage.reader.listAll(list, ...more);
      if (list.kind === 'record') await change();
      return page;
    };
    const shown = shownBy(await readSnapshot(sourceOf(reader), at));
    expect(changes).toBeGreaterThan(5);
    const times = ids.map((id, n): readonly [string, number] => [id, (n < oldest || oldest === 0 ? count : 0) + n + 1]);
    expect(shown).toHaveLength(count);
    expect(new Map(shown.map((each) => [each.id, each.last_modified]))).toEqual(new Map(times));
  },
);

it('has nothing from before a deletion that only the history knows, unless the caller sees everything', async () => {
  const database = createMemoryDatabase({ clock: createTestClock() });
  const storage = createMemoryStorage(database);
  const collectionEntry = (action: string, lastModified: number): string => {
    const target = { data: { id: 'c', last_modified: lastModified } };
    return JSON.stringify({ resource_name: 'collection', action, collection_id: 'c', target });
  };
  const logged = [entryOf('r', 10), collectionEntry('delete', 20), collectionEntry('create', 21), entryOf('r', 30)];
  await inUnit(database, async (unit) => {
    const writer = storage.writer(unit);
    // Imported lists have no horizon.
    await writer.restore(records, { clock: 30, entries: [new StoredObject('r', 30, '{}')] });
    const entries = logged.map((text, n) => new StoredObject(`h${n}`, n + 1, text));
    await writer.restore(history, { clock: logged.length, entries });
  });
  const idsAt = async (at: number, extent?: SnapshotExtent): Promise<readonly number[]> =>
    shownBy(await readSnapshot({ ...sourceOf(storage.reader), extent }, at)).map(({ last_modified }) => last_modified);
  expect(await idsAt(15)).toEqual([10]);
  expect(await idsAt(15, { after: 0, isCreationRequired: false })).toEqual([]);
  expect(await idsAt(30, { after: 0, isCreationRequired: false })).toEqual([30]);
});
