// Work on all records of a snapshot and all entries of its history: other requests run meanwhile, however small they are.
import { expect, it } from 'vitest';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { StoredObject } from '../../../src/core/objects/stored.ts';
import { ChangeLog } from '../../../src/plugins/history/change-log.ts';
import { readSnapshot } from '../../../src/plugins/history/snapshot.ts';
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

it.each([
  ['records', 2 * count],
  ['history entries', count],
])('is read from many %s in steps', async (_, at) => {
  const database = createMemoryDatabase({ clock: createTestClock() });
  const storage = createMemoryStorage(database);
  const ids = Array.from({ length: count }, (__, n) => `r${n}`);
  await inUnit(database, async (unit) => {
    const writer = storage.writer(unit);
    const written = ids.map((id, n) => new StoredObject(id, count + n + 1, '{}'));
    const logged = ids.map((id, n) => new StoredObject(`h${n}`, n + 1, entryOf(id, n + 1)));
    await writer.restore(records, { clock: 2 * count, entries: written });
    await writer.restore(history, { clock: count, entries: logged });
  });
  const { reader } = storage;
  const source = { storage: reader, requireRoom: undefined };
  const { result = [], turns } = await countTurns(
    readSnapshot(
      {
        ...source,
        records,
        exists: true,
        changes: new ChangeLog({ ...source, history, collectionId: 'c' }, []),
        extent: 'all',
        maxBytes: 1e9,
        reserve: () => {},
      },
      at,
    ),
  );
  const shown = JSON.parse(`[${result.join('')}]`) as readonly { readonly id: string }[];
  expect(shown.map(({ id }) => id)).toEqual(ids.toReversed());
  expect(Math.max(...result.map((piece) => piece.length))).toBeLessThan(100_000);
  expect(turns).toBeGreaterThan(20);
});
