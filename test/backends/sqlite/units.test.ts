// Rows and results that a unit of work caches are always valid.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseField } from '../../../src/core/query/fields.ts';
import { openTestDatabase, records } from './temporary.ts';
import { anyWrite, fill, kindsOfWrites, lists, observe, type Write } from './writes.ts';
import type { ListKey } from '../../../src/testing/contract/plain-contracts.ts';

const collection = { list: { kind: 'collection', parent: '/buckets/b' }, id: 'c' };
const uri = '/buckets/b/collections/c';
const bound = [
  { objectId: uri, permission: 'write' },
  { objectId: '/buckets/b', permission: 'write' },
];

describe('an object with a shared lock', () => {
  it('is returned from the cache until the same unit changes it, with any calls awaited or not', async () => {
    const { unit } = await openTestDatabase();
    const { list, id } = collection;
    await unit((storage) => storage.create(list, id, '{"n":1}'));
    await unit(async (storage) => {
      const textOf = async (): Promise<string | undefined> => (await storage.get(list, id))?.text;
      expect((await storage.lockShared(list, id))?.text).toBe('{"n":1}');
      await storage.create(records, 'a', '{}');
      expect(await textOf()).toBe('{"n":1}');
      const [held] = await Promise.all([storage.lockShared(list, id), storage.update(list, id, '{"n":2}')]);
      expect([held?.text, await textOf()]).toEqual(['{"n":1}', '{"n":2}']);
      await Promise.all([storage.lockShared(list, id), storage.delete(list, id)]);
      expect(await textOf()).toBeUndefined();
      await Promise.all([storage.lockShared(list, id), storage.create(list, id, '{"n":3}')]);
      expect(await textOf()).toBe('{"n":3}');
      await storage.lockShared(list, id);
      await storage.deleteChildren('/buckets/b');
      expect(await textOf()).toBeUndefined();
      await storage.lockShared(list, id);
      await storage.restore(list, { clock: 5000, entries: [await storage.create(list, 'other', '{}')], gone: [id] });
      await storage.create(list, id, '{"n":4}');
      await storage.lockShared(list, id);
      await storage.deleteAll(list, {
        filters: [],
        sort: [{ field: parseField('id'), direction: 'ascending' }],
        limit: 10,
      });
      expect(await textOf()).toBeUndefined();
      await storage.create(list, id, '{"n":5}');
      await storage.lockShared(list, id);
      await storage.trimObjects(list, { filters: [] }, 0);
      expect(await textOf()).toBeUndefined();
      await storage.lockShared(list, id);
      await storage.createAll(list, [{ id, text: '{"n":6}' }]);
      expect(await textOf()).toBe('{"n":6}');
      await storage.flush();
      expect(await textOf()).toBeUndefined();
    });
  });
});

describe('a large object that a unit has read', () => {
  it('is locked as it was, until the same unit changes it, with any calls awaited or not', async () => {
    const { unit } = await openTestDatabase();
    const textOf = (n: number): string => `{"n":${n},"text":"${'x'.repeat(100_000)}"}`;
    await unit((storage) => storage.create(records, 'a', textOf(1)));
    await unit(async (storage) => {
      const locked = async (): Promise<string | undefined> => (await storage.lock(records, 'a')).object?.text;
      const read = (): Promise<unknown> => storage.get(records, 'a');
      await read();
      expect(await locked()).toBe(textOf(1));
      await storage.update(records, 'a', textOf(2));
      expect(await locked()).toBe(textOf(2));
      await Promise.all([read(), storage.update(records, 'a', textOf(3))]);
      expect(await locked()).toBe(textOf(3));
      await Promise.all([read(), storage.delete(records, 'a')]);
      expect(await storage.lock(records, 'a')).toMatchObject({ object: undefined, tombstone: { id: 'a' } });
      await storage.create(records, 'a', textOf(4));
      await read();
      const { timestamp } = await storage.lock(records, 'a');
      expect(timestamp).toBe(await storage.resourceTimestamp(records));
      await storage.create(records, 'b', '{}');
      const later = await storage.lock(records, 'a');
      expect([later.timestamp, later.object?.text]).toEqual([await storage.resourceTimestamp(records), textOf(4)]);
      await read();
      await storage.trimObjects(records, { filters: [] }, 0);
      expect(await locked()).toBeUndefined();
      await storage.create(records, 'a', textOf(5));
      await read();
      await storage.flush();
      expect(await locked()).toBeUndefined();
    });
  });
});

describe('a permission check', () => {
  it('runs again when the same unit has changed what it depends on, with any calls awaited or not', async () => {
    const { unit } = await openTestDatabase();
    await unit(async (_, permission) => {
      const ask = (): Promise<boolean> => permission.checkPermission(['alice'], bound, 'bob');
      expect(await ask()).toBe(false);
      const changes: readonly [() => Promise<void>, boolean][] = [
        [() => permission.replaceObjectPermissions(`${uri}/records/a`, { write: ['alice'] }), false],
        [() => permission.replaceObjectPermissions(uri, { write: ['alice'] }), true],
        [() => permission.replaceObjectPermissions(uri, { write: [] }), false],
        [() => permission.addPrincipalToAce('/buckets/b', 'write', 'alice'), true],
        [() => permission.removePrincipalFromAce('/buckets/b', 'write', 'alice'), false],
        [() => permission.addToAces([{ objectId: uri, permissions: { write: ['alice'] } }]), true],
        [() => permission.removePrincipalFromAces('alice'), false],
        [() => permission.addToAces([{ objectId: uri, permissions: { write: ['friends'] } }]), false],
        [() => permission.addUserPrincipal('bob', 'friends'), true],
        [() => permission.removeUserPrincipal('bob', 'friends'), false],
        [() => permission.addUserPrincipal('bob', 'friends'), true],
        [() => permission.removePrincipal('friends'), false],
        [() => permission.addUserPrincipal('bob', 'friends'), true],
        [() => permission.removePrincipalsBelow('fri'), false],
        [() => permission.addUserPrincipal('bob', 'friends'), true],
        [() => permission.deleteObjectPermissions([uri]), false],
        [() => permission.addToAces([{ objectId: uri, permissions: { write: ['alice'] } }]), true],
        [() => permission.deletePermissionsBelow('/buckets/b'), false],
        [() => permission.addToAces([{ objectId: uri, permissions: { write: ['alice'] } }]), true],
        [() => permission.flush(), false],
      ];
      for (const [index, [change, granted]] of changes.entries()) {
        await Promise.all([ask(), change()]);
        expect([index, await ask()]).toEqual([index, granted]);
      }
    });
  });
});

function createIn(list: ListKey, id: string): Write {
  return async (storage, permission) => {
    await storage.lock(list);
    await storage.create(list, id, '{}', undefined, { isFresh: true });
    await permission.addToAces([{ objectId: `${list.parent}/records/${id}`, permissions: { write: ['alice'] } }]);
  };
}

describe('several writes in one unit of work', () => {
  it('have the same effect as in a unit of work each, with any other write between two creates', async () => {
    const [together, apart] = [await openTestDatabase(), await openTestDatabase()];
    for (const kind of kindsOfWrites) {
      for (const [n, between] of fc.sample(kind, 6).entries()) {
        const writes = [createIn(lists[n % 2]!, 'one'), between, createIn(lists[n % 2]!, 'two')];
        for (const database of [together, apart]) await fill(database);
        await together.unit(async (storage, permission) => {
          for (const write of writes) await write(storage, permission).catch(() => undefined);
        });
        for (const write of writes) await apart.unit(write).catch(() => undefined);
        expect(await observe(together)).toEqual(await observe(apart));
      }
    }
  });

  it('have the same effect as in a unit of work each', async () => {
    const [together, apart] = [await openTestDatabase(), await openTestDatabase()];
    await fc.assert(
      fc.asyncProperty(fc.array(anyWrite, { maxLength: 8 }), async (writes) => {
        for (const database of [together, apart]) await fill(database);
        await together.unit(async (storage, permission) => {
          // Impossible writes, such as one with a timestamp that is taken, change nothing.
          for (const write of writes) await write(storage, permission).catch(() => undefined);
        });
        for (const write of writes) await apart.unit(write).catch(() => undefined);
        expect(await observe(together)).toEqual(await observe(apart));
      }),
      { numRuns: 60 },
    );
  });
});
