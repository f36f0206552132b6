// Cases about shared locks on an object during writes below it. A deletion of the object or of a parent happens before or
// after these writes, never between them.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TransactionCase, TransactionContext } from '../contract-case.ts';
import { records } from '../storage/storage-probe.ts';
import { inUnit } from '../unit-of-work.ts';
import type { ListKey } from '../plain-contracts.ts';

const buckets: ListKey = { kind: 'bucket', parent: '' };
const collections: ListKey = { kind: 'collection', parent: '/buckets/food' };
const bucketUri = '/buckets/food';

type Units = Promise<unknown>[];

async function seed({ database, storage }: TransactionContext): Promise<void> {
  await inUnit(database, async (transaction) => {
    const writer = storage.writer(transaction);
    await writer.create(buckets, 'food', '{}');
    await writer.create(collections, 'fruits', '{}');
  });
}

/** Writes a record with an entry, as the service does, unless its collection is absent. */
async function writeRecord(
  { database, storage, permission }: TransactionContext,
  id: string,
  below?: ListKey,
): Promise<void> {
  await inUnit(database, async (transaction) => {
    const writer = storage.writer(transaction);
    if ((await writer.lockShared(collections, 'fruits', below)) === undefined) return;
    await nextTurn();
    await writer.lock(records, id);
    await writer.update(records, id, '{}');
    await permission.writer(transaction).addPrincipalToAce(`${records.parent}/records/${id}`, 'write', 'acme:zoe');
  });
}

async function deleteWithChildren(context: TransactionContext, list: ListKey, id: string, uri: string): Promise<void> {
  await inUnit(context.database, async (transaction) => {
    const storage = context.storage.writer(transaction);
    const permission = context.permission.writer(transaction);
    await storage.lock(list, id);
    await storage.delete(list, id);
    await nextTurn();
    await permission.deleteObjectPermissions([uri]);
    await storage.deleteChildren(uri);
    await permission.deletePermissionsBelow(uri);
  });
}

async function requireNothingBelow({ storage, permission }: TransactionContext): Promise<void> {
  assert.equal(await storage.reader.get(collections, 'fruits'), undefined);
  assert.equal(await storage.reader.countAll(records, { filters: [] }), 0);
  assert.equal((await permission.reader.getAccessibleObjects(['acme:zoe'])).size, 0);
}

/** Runs many writers, and one deletion in their midst. */
async function race(context: TransactionContext, remove: () => Promise<void>, below?: ListKey): Promise<void> {
  await seed(context);
  const units: Units = [];
  for (let n = 0; n < 16; n++) {
    units.push(writeRecord(context, `r${n}`, below));
    if (n === 4) units.push(remove());
    await nextTurn();
  }
  await Promise.all(units);
  await requireNothingBelow(context);
}

/** The promise of `lockShared`. */
export const sharedLockCases: readonly TransactionCase[] = [
  {
    name: 'a shared lock reads the object',
    async run(context) {
      await seed(context);
      await inUnit(context.database, async (transaction) => {
        const writer = context.storage.writer(transaction);
        assert.equal((await writer.lockShared(collections, 'fruits'))!.text, '{}');
        await writer.update(collections, 'fruits', '{"n":1}');
        assert.equal((await writer.lockShared(collections, 'fruits'))!.text, '{"n":1}');
        await writer.delete(collections, 'fruits');
        assert.equal(await writer.lockShared(collections, 'fruits'), undefined);
        assert.equal(await writer.lockShared(records, 'none'), undefined);
      });
    },
  },
  {
    name: 'objects written below an object are deleted with it when it is deleted at the same time',
    run: (context) =>
      race(context, () => deleteWithChildren(context, collections, 'fruits', `${bucketUri}/collections/fruits`)),
  },
  {
    name: 'objects written below an object are deleted with it when its parent is deleted at the same time',
    run: (context) => race(context, () => deleteWithChildren(context, buckets, 'food', bucketUri)),
  },
  {
    name: 'objects written to the list that a shared lock names are deleted when the parent is deleted at the same time',
    run: (context) =>
      race(
        context,
        () => deleteWithChildren(context, collections, 'fruits', `${bucketUri}/collections/fruits`),
        records,
      ),
  },
  {
    name: 'objects written to the list that a shared lock names are deleted when a parent above is deleted',
    run: (context) => race(context, () => deleteWithChildren(context, buckets, 'food', bucketUri), records),
  },
  {
    name: 'the list that a shared lock names may exist or not',
    async run(context) {
      await seed(context);
      for (const id of ['a', 'b']) {
        await Promise.all([writeRecord(context, `${id}1`, records), writeRecord(context, `${id}2`, records)]);
      }
      await inUnit(context.database, async (transaction) => {
        const writer = context.storage.writer(transaction);
        await writer.lock(records);
        assert.equal((await writer.lockShared(collections, 'fruits', records))!.text, '{}');
        assert.equal(
          await writer.lockShared(collections, 'nuts', { ...records, parent: '/buckets/food/collections/nuts' }),
          undefined,
        );
      });
      assert.equal(await context.storage.reader.countAll(records, { filters: [] }), 4);
    },
  },
  {
    name: 'several units may have shared locks on an object, and others may change it',
    async run(context) {
      await seed(context);
      await Promise.all([
        writeRecord(context, 'a'),
        inUnit(context.database, (transaction) =>
          context.storage.writer(transaction).update(collections, 'fruits', '{"n":1}'),
        ),
        writeRecord(context, 'b'),
      ]);
      assert.equal((await context.storage.reader.get(collections, 'fruits'))!.text, '{"n":1}');
      assert.equal(await context.storage.reader.countAll(records, { filters: [] }), 2);
    },
  },
];
