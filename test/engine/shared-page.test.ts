// The scan of a list for a caller who may see some of its objects: when it gives up, and what it returns.
import { expect, test, vi } from 'vitest';
import { createMemoryDatabase } from '../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../src/backends/memory/storage.ts';
import { storedParent, storedUri } from '../../src/core/objects/uris.ts';
import { toPrincipal } from '../../src/core/permissions/principals.ts';
import type { PageQuery } from '../../src/core/query/ast.ts';
import { lastModifiedField } from '../../src/core/query/fields.ts';
import { StoredObject } from '../../src/core/objects/stored.ts';
import type { Reader, Stores } from '../../src/engine/unit-of-work.ts';
import { manyShared, readSharedPage } from '../../src/engine/shared-page.ts';
import { createTestClock } from '../../src/testing/index.ts';
import { inUnit } from '../../src/testing/contract/unit-of-work.ts';

const list = { kind: 'record', parent: storedParent('/p') };
const shared = { list, uri: '/p/records', permissions: ['read'], principals: new Set([toPrincipal('bob')]) };
const newestFirst: PageQuery = {
  filters: [],
  sort: [{ field: lastModifiedField, direction: 'descending' }],
  limit: 10,
};

async function fill(isShared: (n: number) => boolean): Promise<Stores> {
  const database = createMemoryDatabase({ clock: createTestClock(10_000) });
  const stores = { storage: createMemoryStorage(database), permission: createMemoryPermission(database) };
  const entries = Array.from({ length: 1000 }, (_, n) => new StoredObject(`r${n}`, n, '{}'));
  await inUnit(database, async (transaction) => {
    await stores.storage.writer(transaction).restore(list, { clock: 1000, entries });
    const ids = entries.filter((_, n) => isShared(n)).map(({ id }) => id);
    const aces = ids.map((id) => ({
      objectId: storedUri(`/p/records/${id}`),
      permissions: { read: [toPrincipal('bob')] },
    }));
    await stores.permission.writer(transaction).addToAces(aces);
  });
  return stores;
}

function readerOf({ storage, permission }: Stores): Reader {
  return { storage: storage.reader, permission: permission.reader };
}

test('a scan finds scattered objects, and stops when it would read too much', async () => {
  const reader = readerOf(await fill((n) => n % 90 === 0));
  const page = await readSharedPage(reader, shared, newestFirst, 2000);
  expect(page?.entries.map(({ lastModified }) => lastModified)).toEqual([
    990, 900, 810, 720, 630, 540, 450, 360, 270, 180,
  ]);
  expect([page?.more, page?.timestamp]).toEqual([true, 1000]);
  const old = readerOf(await fill((n) => n < 5));
  expect(await readSharedPage(old, shared, newestFirst, 500)).toBeUndefined();
  expect((await readSharedPage(old, shared, newestFirst, 2000))?.entries).toHaveLength(5);
});

test('a scan stops when the list is written meanwhile', async () => {
  const stores = await fill((n) => n % 3 === 0);
  const reader = readerOf(stores);
  const { permission } = reader;
  const read = permission.getObjectsPermissions.bind(permission);
  const asked = vi.spyOn(permission, 'getObjectsPermissions').mockImplementationOnce(async (ids, names) => {
    await inUnit(stores.storage.database, (unit) => stores.storage.writer(unit).update(list, 'r5', '{}'));
    return read(ids, names);
  });
  expect(await readSharedPage(reader, shared, newestFirst, 2000)).toBeUndefined();
  expect(asked).toHaveBeenCalled();
  expect((await readSharedPage(reader, shared, newestFirst, 2000))?.entries).toHaveLength(10);
});

test('few shared objects are always looked up, and the threshold grows with the list and the page', () => {
  expect(manyShared(100, 10)).toBe(1000);
  expect(manyShared(100, 1_000_000)).toBe(10_050);
  expect(manyShared(9999, 1_000_000)).toBe(100_000);
});
