// Failures of SQLite in work between requests: long reads, and the reaper.
import { expect, test } from 'vitest';
import { BackendUnavailable } from '../../../src/contracts/errors.ts';
import { failures, SqliteFaults } from '../../support/sqlite-faults.ts';
import { openConnection, openTestDatabase, records } from './temporary.ts';

const kinds = Object.values(failures).filter(({ code }) => code !== failures.busy.code);

test('the reaper retries after a failure in any of its statements, and deletes everything', async () => {
  const faults = SqliteFaults.install();
  const { database, path, unit } = await openTestDatabase();
  for (const failure of kinds) {
    for (let n = 1, sql: string | undefined = ''; sql !== undefined; n++) {
      await unit(async (storage) => {
        await storage.create(records, 'x', '{}');
        await storage.deleteChildren('/buckets/b');
      });
      faults.arm(n, failure);
      const outcome = await database.reapAll().catch((error: unknown) => error);
      sql = faults.disarm();
      if (sql !== undefined && outcome !== undefined) expect([n, outcome]).toEqual([n, expect.any(BackendUnavailable)]);
    }
    await database.reapAll();
    expect(openConnection(path).get('SELECT count(*) FROM objects')).toEqual([0]);
  }
});

test('a failure in any statement of a long read fails only that read, and later ones see all writes', async () => {
  const faults = SqliteFaults.install();
  const { database, storage, unit } = await openTestDatabase();
  const access = database.committed('storage');
  const readLong = (): Promise<number> =>
    access.read(function* (connection) {
      connection.get('SELECT 1');
      yield;
      return connection.all('SELECT id FROM objects').length;
    });
  let written = 0;
  for (const failure of kinds) {
    for (let n = 1, sql: string | undefined = ''; sql !== undefined; n++) {
      await unit((writer) => writer.create(records, `r${written}`, '{}'));
      written++;
      faults.arm(n, failure);
      // More than may run at the same time.
      const outcomes = await Promise.allSettled(Array.from({ length: 5 }, readLong));
      sql = faults.disarm();
      const failed = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason as unknown);
      expect(failed).toEqual(failed.map(() => expect.any(BackendUnavailable)));
      expect(await readLong()).toBe(written);
      expect((await storage.reader.get(records, `r${written - 1}`))?.id).toBe(`r${written - 1}`);
    }
  }
});
