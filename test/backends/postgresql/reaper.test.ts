// One step of the reaper on PostgreSQL, which must keep up with constant deletions of collections.
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { ConnectionPool } from '../../../src/backends/postgresql/connection-pool.ts';
import { reapChunk } from '../../../src/backends/postgresql/reaper.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { StoredObject } from '../../../src/core/objects/stored.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal } from '../../../src/core/permissions/principals.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { runSql } from '../../support/postgresql-setup.ts';
import { cloneDatabase, openPostgres } from '../../support/postgresql.ts';

let url: string;
let pool: ConnectionPool;

beforeEach(async () => {
  const { url: own, drop } = await cloneDatabase();
  url = own;
  pool = new ConnectionPool({ url }).share();
  return async () => {
    await pool.leave();
    await drop();
  };
});

/** Creates lists with records and permission entries, all of which are pending deletions. */
async function detach(...sizes: readonly number[]): Promise<void> {
  const { database, storage, permission } = openPostgres(systemClock, { url });
  onTestFinished(() => database.close());
  await inUnit(database, async (transaction) => {
    for (const [n, size] of sizes.entries()) {
      const parent = `/buckets/b/collections/c${n}`;
      const entries = Array.from({ length: size }, (_, each) => new StoredObject(`r${each}`, 1000 + each, '{}'));
      await storage
        .writer(transaction)
        .restore({ kind: 'record', parent: storedParent(parent) }, { clock: 1000 + size, entries });
      await permission
        .writer(transaction)
        .addPrincipalToAce(storedUri(`${parent}/records/r0`), 'write', toPrincipal('zoe'));
    }
  });
  // As a cascade does it, but without waking the reaper.
  await runSql(url, 'INSERT INTO coffer_doomed_lists (parent, list) SELECT DISTINCT parent, list FROM coffer_objects');
  await runSql(
    url,
    'INSERT INTO coffer_doomed_folders (parent, folder) SELECT DISTINCT parent, folder FROM coffer_entries',
  );
}

/** Returns the numbers of objects, entries, lists and folders that are left. */
async function countLeft(): Promise<readonly number[]> {
  const tables = ['objects', 'entries', 'doomed_lists', 'doomed_folders'];
  const counts = tables.map((table) => `(SELECT count(*) FROM coffer_${table})`);
  return (await runSql(url, `SELECT ${counts.join(', ')}`))[0]!.map(Number);
}

test('One step deletes many small lists and folders completely.', async () => {
  await detach(...Array.from({ length: 40 }, () => 5));
  expect(await countLeft()).toEqual([200, 40, 40, 40]);
  expect(await reapChunk(pool)).toBe(false);
  expect(await countLeft()).toEqual([0, 0, 0, 0]);
});

test('Folders do not wait until all lists are deleted, and a step ends after some thousand rows.', async () => {
  await detach(12_000, 1, 1);
  expect(await reapChunk(pool)).toBe(true);
  const [objects, , , folders] = await countLeft();
  expect(objects).toBeGreaterThan(6000);
  expect(folders).toBeLessThan(3);
  while (await reapChunk(pool));
  expect(await countLeft()).toEqual([0, 0, 0, 0]);
});

test('yields to a request that deletes the same entries, and continues later.', async () => {
  await detach(20, 20);
  const { database } = openPostgres(systemClock, { url });
  onTestFinished(() => database.close());
  const transaction = await database.begin();
  await database.within(transaction, 'permission').run({ text: 'DELETE FROM coffer_entries' }, []);
  const before = await countLeft();
  expect(await reapChunk(pool)).toBe(true);
  expect(await countLeft()).toEqual(before);
  await transaction.rollback();
  while (await reapChunk(pool));
  expect(await countLeft()).toEqual([0, 0, 0, 0]);
});
