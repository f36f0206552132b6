// Cases about the object above a list that a unit writes to. A unit that changes this object and touches the list comes
// completely before a writer, which sees the change, or completely after it. Declared indexes depend on this.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TransactionConflict } from '../../../contracts/errors.ts';
import type { TransactionCase, TransactionContext } from '../contract-case.ts';
import { pageQuery, records } from '../storage/storage-probe.ts';
import { inUnitOf, type Writers } from '../unit-of-work.ts';
import type { ListKey, StorageWriter } from '../plain-contracts.ts';
import { writeConditionally } from './conditional-writes.ts';

const collections: ListKey = { kind: 'collection', parent: '/buckets/food' };
const [before, after] = ['{"declares":0}', '{"declares":1}'];
const maxAttempts = 20;

/** Creates the object above, and a first record if the list is to exist. */
async function seed(context: TransactionContext, listExists: boolean): Promise<number> {
  // The first page may need a connection of its own, which units that wait for a list do not leave.
  await idsIn({ storage: context.storage.reader });
  return inUnitOf(context, async ({ storage }) => {
    if (listExists) await storage.create(records, 'first', after);
    return (await storage.create(collections, 'fruits', before)).lastModified;
  });
}

/** Runs a unit of work, and again after conflicts. */
async function retried<T>(context: TransactionContext, work: (writers: Writers) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inUnitOf(context, work);
    } catch (error) {
      if (!(error instanceof TransactionConflict) || attempt === maxAttempts) throw error;
    }
  }
}

/** Stores in a record what the object above declares, as writers store keys. */
async function write({ storage }: Writers, id: string): Promise<void> {
  const [above] = await Promise.all([storage.lockShared(collections, 'fruits', records), storage.lock(records, id)]);
  await storage.update(records, id, above!.text);
}

/** Changes the object above, and returns the ids of the records that were stored before. */
async function declare(storage: StorageWriter): Promise<ReadonlySet<string>> {
  await storage.update(collections, 'fruits', after);
  await storage.touch(records);
  return new Set(await idsIn({ storage }));
}

async function idsIn({ storage }: { readonly storage: Pick<StorageWriter, 'listAll'> }): Promise<readonly string[]> {
  const { entries } = await storage.listAll(records, pageQuery({}));
  return entries.map(({ id }) => id);
}

/** Waits until what other units have sent by now was done, as far as it waits for no lock. */
async function settle({ database, storage }: TransactionContext): Promise<void> {
  // Readers of a database in this process may wait for the unit that is open.
  for (let n = 0; n < 10; n++) await (database.isRemote ? storage.reader.get(collections, 'fruits') : nextTurn());
}

/** Requires that each record which the declaration has not found was written as it declares. */
async function requireOrder({ storage }: TransactionContext, found: ReadonlySet<string>, count: number): Promise<void> {
  const ids = await idsIn({ storage: storage.reader });
  assert.equal(ids.length, count);
  for (const id of ids) {
    if (!found.has(id)) assert.equal((await storage.reader.get(records, id))?.text, after, id);
  }
}

type Body = (
  context: TransactionContext,
  seeded: { readonly count: number; readonly version: number },
) => Promise<void>;

/** Returns the case for a list that exists, and for one that does not. */
function casesOf(name: string, body: Body): readonly TransactionCase[] {
  return [true, false].map((listExists) => ({
    name: `${name}, in ${listExists ? 'a list with objects' : 'a new list'}`,
    run: async (context) => body(context, { version: await seed(context, listExists), count: listExists ? 1 : 0 }),
  }));
}

/** Changes the object above while others wait for the list, and commits. */
async function declareMeanwhile(context: TransactionContext, others: () => Promise<unknown>): Promise<unknown> {
  const transaction = await context.database.begin();
  const found = await declare(context.storage.writer(transaction));
  const waiting = others();
  try {
    await settle(context);
  } finally {
    await transaction.commit();
  }
  const results = await waiting;
  await requireOrder(context, found, (await idsIn({ storage: context.storage.reader })).length);
  return results;
}

/** The promise of `lockShared` with a list below, and of conditional writes with the version of the object above. */
export const objectAboveCases: readonly TransactionCase[] = [
  ...casesOf('a writer that waits for the list sees what was changed above it', async (context, { count }) => {
    await declareMeanwhile(context, () => retried(context, (writers) => write(writers, 'x')));
    assert.equal((await context.storage.reader.get(records, 'x'))?.text, after);
    assert.equal((await idsIn({ storage: context.storage.reader })).length, count + 1);
  }),
  ...casesOf('several writers that wait for the list see what was changed above it', async (context) => {
    const ids = Array.from({ length: 2 }, (_, n) => `x${n}`);
    await declareMeanwhile(context, () =>
      Promise.all(ids.map((id) => retried(context, (writers) => write(writers, id)))),
    );
    for (const id of ids) assert.equal((await context.storage.reader.get(records, id))?.text, after);
  }),
  ...casesOf('a change above a list finds what an earlier writer stores', async (context, { count }) => {
    let declaring: Promise<ReadonlySet<string>> | undefined;
    await retried(context, async ({ storage }) => {
      const above = await storage.lockShared(collections, 'fruits', records);
      declaring ??= retried(context, (writers) => declare(writers.storage));
      await settle(context);
      await storage.lock(records, 'x');
      await storage.update(records, 'x', above!.text);
    });
    await requireOrder(context, await declaring!, count + 1);
  }),
  ...casesOf('each of many writers comes before or after a change above the list', async (context, { count }) => {
    const writing: Promise<void>[] = [];
    let declaring: Promise<ReadonlySet<string>> | undefined;
    for (let n = 0; n < 16; n++) {
      writing.push(retried(context, (writers) => write(writers, `x${n}`)));
      if (n === 4) declaring = retried(context, ({ storage }) => declare(storage));
      await nextTurn();
    }
    const [found] = await Promise.all([declaring!, ...writing]);
    await requireOrder(context, found, count + writing.length);
  }),
  ...casesOf('a conditional write with the version of the object above waits for the list', async (context, seeded) => {
    const holder = { list: collections, id: 'fruits', lastModified: seeded.version };
    const writes = [false, true].map((isFresh, n) => {
      const place = { list: records, id: `x${n}`, uri: undefined, entries: {} };
      return { ...place, holder, expected: undefined, text: before, isFresh };
    });
    const writing = (): Promise<unknown> =>
      Promise.all(writes.map((each) => writeConditionally(context, each).catch(nothingAfterConflict)));
    assert.deepEqual(await declareMeanwhile(context, writing), [undefined, undefined]);
    assert.equal((await idsIn({ storage: context.storage.reader })).length, seeded.count);
  }),
];

function nothingAfterConflict(error: unknown): undefined {
  if (!(error instanceof TransactionConflict)) throw error;
}
