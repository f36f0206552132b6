// Cases about calls that are made without waiting for the ones before: they take effect in their order, across storage and
// permissions, so that an engine can send together what belongs together.
import assert from 'node:assert/strict';
import type { TransactionCase, TransactionContext } from './contract-case.ts';
import { records } from './storage-probe.ts';
import { inUnit, inUnitOf } from './unit-of-work.ts';

const uri = `${records.parent}/records/r`;

/** Adds a principal to the entries of a record, from what they are under the lock of its list. */
async function addReader(context: TransactionContext, principal: string): Promise<void> {
  await inUnitOf(context, async ({ storage, permission }) => {
    const [{ object }, entries] = await Promise.all([storage.lock(records, 'r'), permission.getObjectPermissions(uri)]);
    assert.ok(object, 'the record is there');
    await storage.update(records, 'r', '{}');
    await permission.replaceObjectPermissions(uri, { read: [...(entries['read'] ?? []), principal] });
  });
}

/** Cases about the order of calls. */
export const callOrderCases: readonly TransactionCase[] = [
  {
    name: 'entries asked for right behind the lock of a list are those that stand under it',
    async run(context) {
      await inUnitOf(context, ({ storage }) => storage.create(records, 'r', '{}'));
      const principals = Array.from({ length: 12 }, (_, n) => `acme:${n}`);
      await Promise.all(principals.map((principal) => addReader(context, principal)));
      const { read = [] } = await context.permission.reader.getObjectPermissions(uri);
      assert.deepEqual(read.toSorted(), principals.toSorted());
    },
  },
  {
    name: 'a check sees what the unit has changed since the same was asked',
    async run({ database, permission }) {
      await inUnit(database, async (transaction) => {
        const writer = permission.writer(transaction);
        const principals = ['acme:zoe'];
        const bound = [
          { objectId: '/buckets/food', permission: 'read' },
          { objectId: uri, permission: 'read' },
        ];
        const check = (): Promise<boolean> => writer.checkPermission(principals, bound);
        assert.equal(await check(), false);
        await writer.addPrincipalToAce(uri, 'read', 'acme:zoe');
        assert.equal(await check(), true);
        await writer.replaceObjectPermissions(uri, { read: ['acme:bob'] });
        assert.equal(await check(), false);
        await writer.replaceObjectPermissions(uri, { read: ['acme:zoe'] });
        assert.equal(await check(), true);
        await writer.removePrincipalFromAces('acme:zoe');
        assert.equal(await check(), false);
        await writer.addPrincipalToAce('/buckets/food', 'read', 'acme:zoe');
        assert.equal(await check(), true);
        await writer.deleteObjectPermissions(['/buckets/food']);
        assert.equal(await check(), false);
        await writer.addPrincipalToAce(uri, 'read', 'acme:zoe');
        assert.equal(await check(), true);
        await writer.deletePermissionsBelow('/buckets/food');
        assert.equal(await check(), false);
      });
    },
  },
  {
    name: 'an object held before is gone once the unit has deleted it, or what it lies in',
    async run({ database, storage }) {
      const list = { kind: 'collection', parent: '/buckets/food' };
      await inUnit(database, async (transaction) => {
        const writer = storage.writer(transaction);
        await writer.create(list, 'fruits', '{"a":1}');
        await writer.create(list, 'nuts', '{}');
      });
      await inUnit(database, async (transaction) => {
        const writer = storage.writer(transaction);
        assert.equal((await writer.hold(list, 'fruits'))?.text, '{"a":1}');
        await writer.update(list, 'fruits', '{"a":2}');
        assert.equal((await writer.hold(list, 'fruits'))?.text, '{"a":2}');
        assert.equal((await writer.get(list, 'fruits'))?.text, '{"a":2}');
        assert.ok(await writer.hold(list, 'nuts'));
        await writer.delete(list, 'fruits');
        assert.equal(await writer.get(list, 'fruits'), undefined);
        assert.equal(await writer.hold(list, 'fruits'), undefined);
        await writer.deleteChildren('/buckets/food');
        assert.equal(await writer.get(list, 'nuts'), undefined);
        assert.equal(await writer.hold(list, 'nuts'), undefined);
      });
    },
  },
];
