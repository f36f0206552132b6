// Objects with random ids are inserted without a lookup. When an id is taken nevertheless, the unit of work fails with a
// conflict and is retried with another id. Nothing is overwritten.
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { TransactionConflict } from '../../../src/contracts/errors.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { migrateDatabase } from '../../support/postgresql-setup.ts';
import { createDatabase, openPostgres } from '../../support/postgresql.ts';

const list = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };
let url: string;

beforeAll(async () => {
  url = await createDatabase();
  await migrateDatabase(url);
});

test('A random id that is taken is a conflict, and the existing object stays.', async () => {
  const { database, storage } = openPostgres(systemClock, { url });
  onTestFinished(() => database.close());
  const create = (id: string, text: string): Promise<unknown> =>
    inUnit(database, (transaction) => storage.writer(transaction).create(list, id, text, undefined, { isFresh: true }));
  await create('one', '{"n":1}');
  await expect(create('one', '{"n":2}')).rejects.toBeInstanceOf(TransactionConflict);
  await create('two', '{}');
  expect((await storage.reader.get(list, 'one'))?.text).toBe('{"n":1}');
  expect(await storage.reader.countAll(list, { filters: [] })).toBe(2);
});
