// Units of work of two processes, of which one changes the object above a list, and the other writes to the list.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { StorageWriter } from '../../../src/contracts/storage.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import type { ListKey } from '../../../src/core/objects/stored.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import { cloneDatabase, openPostgres } from '../../support/postgresql.ts';

const collections: ListKey = { kind: 'collection', parent: storedParent('/buckets/b') };
const [before, after] = ['{"declares":0}', '{"declares":1}'];

let drop: () => Promise<void>;
let here: ReturnType<typeof openPostgres>;
let elsewhere: ReturnType<typeof openPostgres>;
let count = 0;

beforeAll(async () => {
  const database = await cloneDatabase();
  ({ drop } = database);
  [here, elsewhere] = [0, 1].map(() => openPostgres(systemClock, { url: database.url, size: 10 })) as [
    typeof here,
    typeof here,
  ];
});
afterAll(async () => {
  await here.database.close();
  await elsewhere.database.close();
  await drop();
});

async function newCollection(): Promise<{ readonly id: string; readonly list: ListKey }> {
  const id = `c${count++}`;
  await inUnit(here.database, (transaction) => here.storage.writer(transaction).create(collections, id, before));
  return { id, list: { kind: 'record', parent: storedParent(`/buckets/b/collections/${id}`) } };
}

/** Waits until statements that were sent by now were done, as far as they wait for no lock. */
async function settle(): Promise<void> {
  for (let n = 0; n < 10; n++) await here.storage.reader.resourceTimestamp(collections);
}

it('units that share a transaction see what was changed while the first of them waited', async () => {
  const { id, list } = await newCollection();
  await inUnit(here.database, (transaction) => here.storage.writer(transaction).create(list, 'first', '{}'));
  const declaring = await elsewhere.database.begin();
  const declarer = elsewhere.storage.writer(declaring);
  await declarer.update(collections, id, after);
  await declarer.touch(list);
  const writing = ['x', 'y'].map(async (name) => {
    const transaction = await here.database.begin({ mayShare: true });
    const writer: StorageWriter = here.storage.writer(transaction);
    // As a batch does, which reads the object above before it waits for the list.
    expect((await writer.get(collections, id))?.text).toBe(before);
    const [above] = await Promise.all([writer.lockShared(collections, id, list), writer.lock(list, name)]);
    await writer.update(list, name, above!.text);
    await transaction.commit();
  });
  await settle();
  await declaring.commit();
  await Promise.all(writing);
  for (const name of ['x', 'y']) expect((await here.storage.reader.get(list, name))?.text).toBe(after);
});

it('a batch that writes to a new list and another one sees what was changed above both', async () => {
  const { id, list } = await newCollection();
  const other: ListKey = { kind: 'note', parent: list.parent };
  const texts = await inUnit(here.database, async (transaction) => {
    const writer = here.storage.writer(transaction);
    const first = await writer.lockShared(collections, id, list);
    await writer.update(list, 'x', before);
    // The change touches another list, so it need not wait for this unit.
    await inUnit(elsewhere.database, async (declaring) => {
      const declarer = elsewhere.storage.writer(declaring);
      await declarer.update(collections, id, after);
      await declarer.touch(other);
    });
    return [first?.text, (await writer.lockShared(collections, id, other))?.text];
  });
  expect(texts).toEqual([before, after]);
});

it('a conditional write that creates its list sees what was changed while it waited', async () => {
  const { id, list } = await newCollection();
  const { lastModified } = (await here.storage.reader.get(collections, id))!;
  const declaring = await elsewhere.database.begin();
  const declarer = elsewhere.storage.writer(declaring);
  await declarer.update(collections, id, after);
  await declarer.touch(list);
  const holder = { list: collections, id, lastModified };
  const write = { list, holder, expected: undefined, text: before, uri: undefined, entries: {} };
  const writing = [false, true].map((isFresh) =>
    here.database.writeConditionally!({ ...write, id: `x${isFresh}`, isFresh }),
  );
  await settle();
  await declaring.commit();
  expect(await Promise.all(writing)).toEqual([undefined, undefined]);
});
