// The deletion of everything below an object: other requests run meanwhile, however many lists, folders and members there are.
import { describe, expect, it } from 'vitest';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { storedUserId, toPrincipal } from '../../../src/core/permissions/principals.ts';
import { countTurns } from '../../support/turns.ts';
import { openTestDatabase } from './temporary.ts';

const bucket = storedUri('/buckets/b');
const collections = 1200;
const members = 4000;

const collection = (n: number): ReturnType<typeof storedUri> => storedUri(`${bucket}/collections/c${n}`);

describe('the deletion below a bucket on SQLite', () => {
  it('empties lists in steps, and only those below', async () => {
    const { storage, unit } = await openTestDatabase({ isReaped: false });
    const parents = [bucket, ...Array.from({ length: collections }, (_, n) => collection(n))];
    const others = ['/buckets/b-2', '/buckets/b0', '/buckets/a'].map((uri) => storedUri(uri));
    await unit(async (writer) => {
      for (const parent of [...parents, ...others]) {
        for (const kind of ['history', 'record']) await writer.create({ kind, parent }, 'o', '{}');
      }
    });
    const { turns } = await unit((writer) => countTurns(writer.deleteChildren(bucket)));
    expect(turns).toBeGreaterThan(20);
    expect((await storage.reader.listParents('record')).toSorted()).toEqual(others.toSorted());
    expect((await storage.reader.listParents('history')).toSorted()).toEqual(others.toSorted());
  });

  it('detaches folders in steps, and only those below', async () => {
    const { permission, unit } = await openTestDatabase({ isReaped: false });
    const user = toPrincipal('user:1');
    const kept = storedUri('/buckets/b-2/collections/c');
    await unit(async (_, writer) => {
      await writer.addPrincipalToAce(kept, 'read', user);
      for (let n = 0; n < collections; n++) {
        await writer.addPrincipalToAce(storedUri(`${collection(n)}/records/r`), 'read', user);
      }
    });
    const { turns } = await unit((_, writer) => countTurns(writer.deletePermissionsBelow(bucket)));
    expect(turns).toBeGreaterThan(2);
    expect([...(await permission.reader.getAccessibleObjects([user])).keys()]).toEqual([kept]);
  });

  it('ends memberships and entries in steps, and no others', async () => {
    const { permission, unit } = await openTestDatabase({ isReaped: false });
    const [group, other] = [toPrincipal('/buckets/b/groups/g'), toPrincipal('/buckets/c/groups/g')];
    const users = Array.from({ length: members }, (_, n) => toPrincipal(`user:${n}`));
    const admit = (): Promise<void> =>
      unit(async (_, writer) => {
        for (const user of users) {
          await writer.addUserPrincipal(user, group);
          await writer.addUserPrincipal(user, other);
        }
      });
    const left = async (): Promise<ReadonlySet<string>> =>
      new Set((await permission.reader.memberships(undefined, members)).found.flatMap(({ principals }) => principals));
    await admit();
    expect(
      (await unit((_, writer) => countTurns(writer.removePrincipalsBelow('/buckets/b/groups/')))).turns,
    ).toBeGreaterThan(3);
    expect(await left()).toEqual(new Set([other]));
    await admit();
    expect((await unit((_, writer) => countTurns(writer.removePrincipal(group)))).turns).toBeGreaterThan(3);
    expect(await left()).toEqual(new Set([other]));
    await unit((_, writer) => writer.addToAces([{ objectId: bucket, permissions: { read: [group, other] } }]));
    const objects = Array.from({ length: members }, (_, n) => ({
      objectId: storedUri(`${bucket}/collections/c${n}`),
      permissions: { read: [group] },
    }));
    await unit((_, writer) => writer.addToAces(objects));
    expect((await unit((_, writer) => countTurns(writer.removePrincipalFromAces(group)))).turns).toBeGreaterThan(3);
    expect(await permission.reader.getAccessibleObjects([group])).toEqual(new Map());
    expect((await permission.reader.getObjectPermissions(bucket))['read']).toEqual([other]);
  });

  it('leaves reads of the groups of a user, which run in steps too', async () => {
    const { permission, unit } = await openTestDatabase({ isReaped: false });
    const groups = Array.from({ length: 3 * members }, (_, n) => toPrincipal(`/buckets/b/groups/g${n}`));
    await unit(async (_, writer) => {
      for (const group of groups) await writer.addUserPrincipal(toPrincipal('user:1'), group);
    });
    const read = async (): Promise<void> => {
      expect(await permission.reader.getUserPrincipals(storedUserId('user:1'))).toEqual(new Set(groups));
    };
    expect((await countTurns(read())).turns).toBeGreaterThan(5);
  });
});
