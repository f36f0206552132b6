// Work on many objects or principals in memory: the event loop turns meanwhile.
import { describe, expect, it } from 'vitest';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryPermission } from '../../../src/backends/memory/permission.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { storedUserId, toPrincipal } from '../../../src/core/permissions/principals.ts';
import { createTestClock } from '../../../src/testing/index.ts';
import { countTurns } from '../../support/turns.ts';

const collection = storedUri('/buckets/b/collections/c');
const uris = Array.from({ length: 10_000 }, (_, n) => storedUri(`${collection}/records/r${n}`));
const reader = toPrincipal('user:1');

describe('a memory database', () => {
  it('ends the memberships in many groups in steps, and a rollback restores them', async () => {
    const database = createMemoryDatabase({ clock: createTestClock() });
    const permission = createMemoryPermission(database);
    const user = storedUserId('user:0');
    const other = toPrincipal('/buckets/c/groups/g');
    const groups = Array.from({ length: 10 }, (_, n) => toPrincipal(`/buckets/b/groups/g${n}`));
    const unit = await database.begin();
    await permission.writer(unit).addUserPrincipal(toPrincipal(user), other);
    for (const group of groups) {
      for (let n = 0; n < 1000; n++) await permission.writer(unit).addUserPrincipal(toPrincipal(`user:${n}`), group);
    }
    await unit.commit();

    for (const end of ['rollback', 'commit'] as const) {
      const deletion = await database.begin();
      const writer = permission.writer(deletion);
      expect((await countTurns(writer.removePrincipalsBelow('/buckets/b/groups/'))).turns).toBeGreaterThan(5);
      expect(await writer.getUserPrincipals(user)).toEqual(new Set([other]));
      await deletion[end]();
      expect((await permission.reader.getUserPrincipals(user)).size).toBe(end === 'rollback' ? 11 : 1);
    }
  });

  it('changes and finds many entries in steps; what is found is one state', async () => {
    const database = createMemoryDatabase({ clock: createTestClock() });
    const permission = createMemoryPermission(database);
    const unit = await database.begin();
    const entries = uris.map((objectId) => ({ objectId, permissions: { read: [reader], write: [reader] } }));
    expect((await countTurns(permission.writer(unit).addToAces(entries))).turns).toBeGreaterThan(10);
    await unit.commit();

    const find = (): ReturnType<typeof permission.reader.getAccessibleObjects> =>
      permission.reader.getAccessibleObjects([reader], {
        bound: [{ pattern: `${collection}/records/*`, permission: 'write' }],
      });
    const finding = find();
    const deletion = await database.begin();
    const writer = permission.writer(deletion);
    await writer.removePrincipalFromAce(uris.at(-1)!, 'write', reader);
    expect((await countTurns(writer.deleteObjectPermissions(uris.slice(0, -1)))).turns).toBeGreaterThan(10);
    await deletion.commit();
    expect((await finding).size).toBe(uris.length);
    expect((await find()).size).toBe(0);
    expect(await permission.reader.getAccessibleObjects([reader])).toEqual(new Map([[uris.at(-1), new Set(['read'])]]));
  });

  it('creates many objects in steps', async () => {
    const database = createMemoryDatabase({ clock: createTestClock() });
    const storage = createMemoryStorage(database);
    const unit = await database.begin();
    const list = { kind: 'record', parent: collection };
    const objects = uris.map((_, n) => ({ id: `r${n}`, text: '{}' }));
    const { result, turns } = await countTurns(storage.writer(unit).createAll(list, objects));
    await unit.commit();
    expect(turns).toBeGreaterThan(10);
    expect(new Set(result.map(({ lastModified }) => lastModified)).size).toBe(uris.length);
    expect(await storage.reader.countAll(list, { filters: [] })).toBe(uris.length);
  });
});
