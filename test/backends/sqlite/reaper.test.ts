import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Reaper } from '../../../src/backends/sqlite/reaper.ts';
import { WriterQueue } from '../../../src/backends/sqlite/writer-queue.ts';
import { openConnection, openTestDatabase, records, type TestDatabase } from './temporary.ts';

const other = { kind: 'record', parent: '/buckets/other/collections/c' };
const tables = ['objects', 'tombstones', 'entries', 'doomed_lists', 'doomed_folders'];

async function fill(test: TestDatabase, objects: number): Promise<void> {
  await test.unit(async (storage, permission) => {
    for (let n = 0; n < objects; n++) {
      await storage.create(records, `id${n}`, '{}');
      if (n % 2 === 0) await storage.delete(records, `id${n}`);
      await permission.addPrincipalToAce(`${records.parent}/records/id${n}`, 'write', 'zoe');
    }
    await storage.create(other, 'kept', '{}');
    await permission.addPrincipalToAce(`${other.parent}/records/kept`, 'write', 'zoe');
  });
}

function deleteBucket(test: TestDatabase): Promise<void> {
  return test.unit(async (storage, permission) => {
    await storage.deleteChildren('/buckets/b');
    await permission.deletePermissionsBelow('/buckets/b');
  });
}

/** Returns the number of rows of each table. */
function rowCounts(path: string): Readonly<Record<string, number>> {
  const connection = openConnection(path);
  return Object.fromEntries(
    tables.map((table) => [table, connection.get<[number]>(`SELECT count(*) FROM ${table}`)![0]]),
  );
}

const onlyKept = { objects: 1, tombstones: 0, entries: 1, doomed_lists: 0, doomed_folders: 0 };

describe('the reaper', () => {
  it('deletes pending deletions, and nothing else', async () => {
    const test = await openTestDatabase({ isReaped: false });
    await fill(test, 1300);
    await deleteBucket(test);
    expect(rowCounts(test.path)).toEqual({
      objects: 651,
      tombstones: 650,
      entries: 1301,
      doomed_lists: 1,
      doomed_folders: 1,
    });
    await test.database.reapAll();
    expect(rowCounts(test.path)).toEqual(onlyKept);
    expect((await test.storage.reader.get(other, 'kept'))?.id).toBe('kept');
    const accessible = await test.permission.reader.getAccessibleObjects(['zoe']);
    expect([...accessible.keys()]).toEqual([`${other.parent}/records/kept`]);
  });

  it('keeps objects that were written again below the deleted parent', async () => {
    const test = await openTestDatabase();
    await fill(test, 10);
    await deleteBucket(test);
    await test.unit(async (storage, permission) => {
      await storage.create(records, 'id1', '{"again":true}');
      await permission.addPrincipalToAce(`${records.parent}/records/id1`, 'read', 'tom');
    });
    await test.database.reapAll();
    expect((await test.storage.reader.get(records, 'id1'))?.text).toBe('{"again":true}');
    expect(await test.permission.reader.getObjectPermissions(`${records.parent}/records/id1`)).toEqual({
      read: ['tom'],
    });
    expect(await test.storage.reader.countAll(records, { filters: [] })).toBe(1);
  });

  it('continues after a restart', async () => {
    const test = await openTestDatabase({ isReaped: false });
    await fill(test, 700);
    await deleteBucket(test);
    await test.database.close();
    expect(rowCounts(test.path).doomed_lists).toBe(1);
    const again = await openTestDatabase({ path: test.path });
    await again.database.reapAll();
    expect(rowCounts(test.path)).toEqual(onlyKept);
  });

  it('runs by itself while the database is open', async () => {
    const test = await openTestDatabase();
    await fill(test, 700);
    await deleteBucket(test);
    await expect.poll(() => rowCounts(test.path), { timeout: 10_000 }).toEqual(onlyKept);
  });

  it('adds nothing to the log during a checkpoint, because writers wait for the added pages', async () => {
    const test = await openTestDatabase({ isReaped: false });
    await fill(test, 20);
    await deleteBucket(test);
    await test.database.close();
    const queue = new WriterQueue(openConnection(test.path));
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const chunk = new Reaper(queue, { ended }).reapChunk();
    await nextTurn();
    expect(rowCounts(test.path).objects).toBe(11);
    end();
    // These few go in one chunk, including the list and the folder themselves.
    expect(await chunk).toBe(false);
    expect(rowCounts(test.path)).toEqual(onlyKept);
    await queue.close();
  });

  it('deletes folders while a long list is being deleted', async () => {
    const test = await openTestDatabase({ isReaped: false });
    await fill(test, 4);
    await test.unit(async (storage) => {
      for (let n = 0; n < 1000; n++) await storage.create(records, `more${n}`, '{}');
    });
    await deleteBucket(test);
    await test.database.close();
    const queue = new WriterQueue(openConnection(test.path));
    expect(await new Reaper(queue, { ended: Promise.resolve() }).reapChunk()).toBe(true);
    expect(rowCounts(test.path)).toMatchObject({ doomed_lists: 1, doomed_folders: 0, entries: 1 });
    await queue.close();
  });

  it('deletes many small lists and folders in each chunk, and neither waits for the other', async () => {
    const test = await openTestDatabase({ isReaped: false });
    await test.unit(async (storage, permission) => {
      for (let n = 0; n < 100; n++) {
        const parent = `/buckets/b/collections/c${n}`;
        for (const id of ['a', 'b']) {
          await storage.create({ kind: 'record', parent }, id, '{}');
          await permission.addPrincipalToAce(`${parent}/records/${id}`, 'write', 'zoe');
        }
        await storage.delete({ kind: 'record', parent }, 'a');
      }
    });
    await deleteBucket(test);
    await test.database.close();
    const queue = new WriterQueue(openConnection(test.path));
    const reaper = new Reaper(queue, { ended: Promise.resolve() });
    expect(rowCounts(test.path)).toMatchObject({ doomed_lists: 100, doomed_folders: 100 });
    await reaper.reapChunk();
    await reaper.reapChunk();
    const rest = rowCounts(test.path);
    expect(rest.doomed_lists).toBeLessThan(95);
    expect(rest.doomed_folders).toBeLessThan(95);
    while (await reaper.reapChunk());
    expect(rowCounts(test.path)).toEqual({ ...onlyKept, objects: 0, entries: 0 });
    await queue.close();
  });

  it('has nothing to do when the cascade was rolled back', async () => {
    const test = await openTestDatabase();
    await fill(test, 4);
    const transaction = await test.database.begin();
    await test.storage.writer(transaction).deleteChildren('/buckets/b');
    await test.permission.writer(transaction).deletePermissionsBelow('/buckets/b');
    await transaction.rollback();
    await test.database.reapAll();
    expect(rowCounts(test.path)).toEqual({ objects: 3, tombstones: 2, entries: 5, doomed_lists: 0, doomed_folders: 0 });
  });

  it('does not delay the cascade, which costs the same for few objects and for many', async () => {
    const test = await openTestDatabase();
    await fill(test, 2000);
    const connection = openConnection(test.path);
    const changesOf = async (): Promise<number> => {
      const before = connection.get<[number]>('SELECT seq FROM sqlite_sequence WHERE name = ?', 'lists')![0];
      await deleteBucket(test);
      return connection.get<[number]>('SELECT seq FROM sqlite_sequence WHERE name = ?', 'lists')![0] - before;
    };
    // One list with contents, one new number; no object is touched.
    expect(await changesOf()).toBe(1);
    expect(rowCounts(test.path).objects).toBe(1001);
    expect(await changesOf()).toBe(0);
  });
});
