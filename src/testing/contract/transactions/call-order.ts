// Cases about calls that are not awaited: they take effect in their order, across storage and permissions. So a backend can
// send several calls together.
import assert from 'node:assert/strict';
import type { TransactionCase, TransactionContext } from '../contract-case.ts';
import { isTombstone } from '../../../core/objects/stored.ts';
import { pageQuery, records } from '../storage/storage-probe.ts';
import { inUnit, inUnitOf, type Writers } from '../unit-of-work.ts';
import type { ListKey } from '../plain-contracts.ts';

const uri = `${records.parent}/records/r`;

/** Adds a principal to the entries of a record, based on the entries under the lock of its list. */
async function addReader(context: TransactionContext, principal: string): Promise<void> {
  await inUnitOf(context, async ({ storage, permission }) => {
    const [{ object }, entries] = await Promise.all([storage.lock(records, 'r'), permission.getObjectPermissions(uri)]);
    assert.ok(object, 'the record is there');
    await storage.update(records, 'r', '{}');
    await permission.replaceObjectPermissions(uri, { read: [...(entries['read'] ?? []), principal] });
  });
}

type Write = (writers: Writers) => Promise<unknown>;

/** Writes to single objects below a bucket, each of which undoes or builds on an earlier one. */
interface Side {
  readonly bucket: string;
  readonly list: ListKey;
  readonly writes: readonly Write[];
}

function writesTo(bucket: string): Side {
  const list = { kind: 'record', parent: `${bucket}/collections/c` };
  const [first, second] = ['r', 's'].map((id) => `${list.parent}/records/${id}`) as [string, string];
  const writes: Write[] = [
    ({ storage }) => storage.touch(list),
    ({ storage }) => storage.create(list, 'gone', '{}'),
    ({ storage }) => storage.delete(list, 'gone'),
    ({ storage }) => storage.createAll(list, [{ id: 'p', text: '{"n":1}' }]),
    ({ storage }) => storage.create(list, 'r', '{"n":1}'),
    ({ storage }) => storage.create(list, 's', '{"n":1}'),
    ({ storage }) => storage.update(list, 'r', '{"n":2}'),
    ({ storage }) => storage.delete(list, 's'),
    ({ storage }) => storage.create(list, 's', '{"n":3}'),
    ({ storage }) => storage.delete(list, 'r', { keepTombstone: false }),
    ({ storage }) => storage.update(list, 't', '{"n":4}'),
    ({ permission }) => permission.addToAces([first, second].map((objectId) => ({ objectId, permissions: many }))),
    ({ permission }) => permission.removePrincipalFromAce(first, 'read', 'acme:1'),
    ({ permission }) => permission.replaceObjectPermissions(second, { write: ['acme:2'] }),
    ({ permission }) => permission.deleteObjectPermissions([second]),
    ({ permission }) => permission.addPrincipalToAce(second, 'write', 'acme:3'),
    ({ permission }) => permission.removePrincipalFromAces('acme:0'),
    ({ permission }) => permission.addUserPrincipal('acme:zoe', `${bucket}/groups/g`),
    ({ permission }) => permission.removeUserPrincipal('acme:zoe', `${bucket}/groups/g`),
    ({ permission }) => permission.addUserPrincipal('acme:tom', `${bucket}/groups/g`),
    ({ permission }) => permission.removePrincipalsBelow(`${bucket}/groups/`),
    ({ permission }) => permission.addUserPrincipal('acme:tom', `${bucket}/groups/h`),
  ];
  return { bucket, list, writes };
}

const many = { read: ['acme:0', 'acme:1', 'acme:2'], write: ['acme:0', 'acme:1'] };

async function stateOf({ storage, permission }: TransactionContext, { bucket, list }: Side): Promise<unknown> {
  const { entries, horizon, timestamp } = await storage.reader.listAll(list, pageQuery({ includeDeleted: true }));
  const first = entries.at(-1)!.lastModified;
  const uris = ['r', 's'].map((id) => `${list.parent}/records/${id}`);
  const permissions = await permission.reader.getObjectsPermissions(uris);
  const users = await Promise.all(['acme:zoe', 'acme:tom'].map((user) => permission.reader.getUserPrincipals(user)));
  return {
    entries: entries.map((entry) => [
      entry.id,
      entry.lastModified - first,
      isTombstone(entry) ? undefined : entry.text,
    ]),
    clocks: [horizon, timestamp!].map((time) => time - first),
    permissions: permissions.map((each) => Object.entries(each).map(([name, all]) => [name, all.toSorted()])),
    groups: users.map((all) => [...all].filter((name) => name.startsWith(bucket)).map((name) => name.slice(-1))),
  };
}

/** Cases about the order of calls. */
export const callOrderCases: readonly TransactionCase[] = [
  {
    name: 'entries read after the lock of a list are those under the lock',
    async run(context) {
      await inUnitOf(context, ({ storage }) => storage.create(records, 'r', '{}'));
      const principals = Array.from({ length: 12 }, (_, n) => `acme:${n}`);
      await Promise.all(principals.map((principal) => addReader(context, principal)));
      const { read = [] } = await context.permission.reader.getObjectPermissions(uri);
      assert.deepEqual(read.toSorted(), principals.toSorted());
    },
  },
  {
    name: 'writes that are not awaited have the same effect as awaited ones',
    async run(context) {
      const [left, right] = ['left', 'right'].map((bucket) => writesTo(`/buckets/${bucket}`)) as [Side, Side];
      await inUnitOf(context, async (writers) => {
        for (const write of left.writes) await write(writers);
      });
      await inUnitOf(context, (writers) => Promise.all(right.writes.map((write) => write(writers))));
      const [one, other] = await Promise.all([left, right].map((side) => stateOf(context, side)));
      assert.deepEqual(other, one);
    },
  },
  {
    name: 'a check sees changes of the unit since the last equal check',
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
    name: 'a locked object is absent once the unit has deleted it or a parent of it',
    async run({ database, storage }) {
      const list = { kind: 'collection', parent: '/buckets/food' };
      await inUnit(database, async (transaction) => {
        const writer = storage.writer(transaction);
        await writer.create(list, 'fruits', '{"a":1}');
        await writer.create(list, 'nuts', '{}');
      });
      await inUnit(database, async (transaction) => {
        const writer = storage.writer(transaction);
        assert.equal((await writer.lockShared(list, 'fruits'))?.text, '{"a":1}');
        await writer.update(list, 'fruits', '{"a":2}');
        assert.equal((await writer.lockShared(list, 'fruits'))?.text, '{"a":2}');
        assert.equal((await writer.get(list, 'fruits'))?.text, '{"a":2}');
        assert.ok(await writer.lockShared(list, 'nuts'));
        await writer.delete(list, 'fruits');
        assert.equal(await writer.get(list, 'fruits'), undefined);
        assert.equal(await writer.lockShared(list, 'fruits'), undefined);
        await writer.deleteChildren('/buckets/food');
        assert.equal(await writer.get(list, 'nuts'), undefined);
        assert.equal(await writer.lockShared(list, 'nuts'), undefined);
      });
    },
  },
];
