// Cases about permission entries: adding, removing and replacing principals, and deleting whole objects or subtrees.
import assert from 'node:assert/strict';
import { TransactionConflict } from '../../../contracts/errors.ts';
import type { PermissionCase } from '../contract-case.ts';
import { permissionCase } from './permission-probe.ts';
import type { ObjectPermissions } from '../plain-contracts.ts';

/** Too long for an index. */
const long = `github:${'x'.repeat(3000)}`;

const aces: readonly PermissionCase[] = [
  permissionCase('an unknown entry has no principals', async ({ reader, entries }) => {
    assert.deepEqual([...(await reader.getAuthorizedPrincipals([{ objectId: '/a', permission: 'read' }]))], []);
    assert.deepEqual(await entries('/a'), {});
  }),
  // Proves S-075, S-077.
  permissionCase('an entry has the principals added', async ({ write, reader, entries }) => {
    await write((writer) => writer.addPrincipalToAce('/a', 'read', 'zoe'));
    await write((writer) => writer.addPrincipalToAce('/a', 'read', 'tom'));
    await write((writer) => writer.addPrincipalToAce('/a', 'write', 'ann'));
    const found = await reader.getAuthorizedPrincipals([{ objectId: '/a', permission: 'read' }]);
    assert.deepEqual([...found].toSorted(), ['tom', 'zoe']);
    assert.deepEqual(await entries('/a'), { read: ['tom', 'zoe'], write: ['ann'] });
    assert.deepEqual(await entries('/b'), {});
  }),
  // Proves S-075.
  permissionCase('adding a principal twice is adding it once', async ({ write, entries }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
    });
    assert.deepEqual(await entries('/a'), { read: ['zoe'] });
  }),
  permissionCase('principals are added to entries of several objects at once', async ({ write, entries, reader }) => {
    const many = Array.from({ length: 2500 }, (_, n) => ({ objectId: `/many/${n}`, permissions: { read: ['ann'] } }));
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a/b', 'read', 'zoe');
      await writer.addToAces([
        { objectId: '/a/b', permissions: { read: ['zoe', 'tom'], write: ['ann'], none: [] } },
        { objectId: '/a/c', permissions: {} },
        { objectId: '/a/d', permissions: { read: ['tom'] } },
        { objectId: '/e', permissions: { read: ['tom'] } },
        { objectId: '/e', permissions: { read: ['ann'] } },
      ]);
      await writer.addToAces([]);
      await writer.addToAces(many);
    });
    assert.deepEqual(await entries('/a/b'), { read: ['tom', 'zoe'], write: ['ann'] });
    assert.deepEqual(await entries('/a/c'), {});
    assert.deepEqual(await entries('/a/d'), { read: ['tom'] });
    assert.deepEqual(await entries('/e'), { read: ['ann', 'tom'] });
    const bound = [{ pattern: '/many/*', permission: 'read' }];
    assert.equal((await reader.getAccessibleObjects(['ann'], { bound })).size, 2500);
  }),
  permissionCase(
    'long entries are read whole, also together with short ones and in units of work',
    async ({ write, reader }) => {
      const principals = Array.from({ length: 10_000 }, (_, n) => `user:${n}`);
      await write(async (writer) => {
        await writer.addToAces([
          { objectId: '/a/long', permissions: { read: principals, write: ['ann'] } },
          { objectId: '/a/short', permissions: { read: ['zoe'] } },
        ]);
      });
      const expected = { read: principals.toSorted(), write: ['ann'] };
      const sorted = (permissions: ObjectPermissions): unknown => ({
        ...permissions,
        read: permissions['read']?.toSorted(),
      });
      const [few, many, none] = await reader.getObjectsPermissions(['/a/short', '/a/long', '/a/none']);
      assert.deepEqual([few, sorted(many!), none], [{ read: ['zoe'] }, expected, {}]);
      assert.deepEqual(sorted(await reader.getObjectPermissions('/a/long')), expected);
      await write(async (writer) => {
        assert.deepEqual(sorted(await writer.getObjectPermissions('/a/long')), expected);
        await writer.replaceObjectPermissions('/a/long', { read: ['tom'] });
      });
      assert.deepEqual(await reader.getObjectPermissions('/a/long'), { read: ['tom'], write: ['ann'] });
    },
  ),
  permissionCase('principals are added to entries that are declared as new', async ({ write, entries }) => {
    const many = Array.from({ length: 2500 }, (_, n) => ({ objectId: `/many/${n}`, permissions: { read: ['ann'] } }));
    await write(async (writer) => {
      await writer.addToAces(many, { isFresh: true });
      await writer.addToAces([{ objectId: '/a/b', permissions: { read: ['zoe', long], write: ['ann'] } }], {
        isFresh: true,
      });
      await writer.addPrincipalToAce('/a/b', 'read', 'zoe');
      await writer.addPrincipalToAce('/a/b', 'read', 'tom');
      await writer.replaceObjectPermissions('/a/b', { write: ['tom'] });
    });
    assert.deepEqual(await entries('/many/2400'), { read: ['ann'] });
    assert.deepEqual(await entries('/a/b'), { read: [long, 'tom', 'zoe'].toSorted(), write: ['tom'] });
  }),
  permissionCase('entries that are wrongly declared as new lose nothing', async ({ write, entries }) => {
    await write((writer) => writer.addPrincipalToAce('/a', 'read', 'zoe'));
    const added = [
      { objectId: '/b', permissions: { read: ['zoe'] } },
      { objectId: '/a', permissions: { read: ['zoe', 'tom'] } },
    ];
    try {
      await write((writer) => writer.addToAces(added, { isFresh: true }));
    } catch (error) {
      if (!(error instanceof TransactionConflict)) throw error;
      assert.deepEqual([await entries('/a'), await entries('/b')], [{ read: ['zoe'] }, {}]);
    }
    await write((writer) => writer.addToAces(added));
    assert.deepEqual(await entries('/a'), { read: ['tom', 'zoe'] });
    assert.deepEqual(await entries('/b'), { read: ['zoe'] });
  }),
  // Proves S-076.
  permissionCase('a principal removed from an entry stays in others', async ({ write, entries }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
      await writer.addPrincipalToAce('/a', 'read', 'tom');
      await writer.addPrincipalToAce('/a', 'write', 'zoe');
      await writer.removePrincipalFromAce('/a', 'read', 'zoe');
    });
    assert.deepEqual(await entries('/a'), { read: ['tom'], write: ['zoe'] });
  }),
  permissionCase('an entry without principals is absent', async ({ write, reader, entries }) => {
    await write((writer) => writer.addPrincipalToAce('/a', 'read', 'zoe'));
    await write((writer) => writer.removePrincipalFromAce('/a', 'read', 'zoe'));
    assert.deepEqual(await entries('/a'), {});
    assert.equal((await reader.getAccessibleObjects(['zoe'])).size, 0);
  }),
  // Proves S-076.
  permissionCase('removing a principal that is absent is no error', async ({ write, entries }) => {
    await write(async (writer) => {
      await writer.removePrincipalFromAce('/a', 'read', 'zoe');
      await writer.addPrincipalToAce('/a', 'read', 'tom');
      await writer.removePrincipalFromAce('/a', 'read', 'zoe');
      await writer.removePrincipalFromAce('/a', 'write', 'tom');
    });
    assert.deepEqual(await entries('/a'), { read: ['tom'] });
  }),
  permissionCase('a principal is removed from the entries of all objects', async ({ write, reader, entries }) => {
    await write(async (writer) => {
      for (const objectId of ['/a', '/a/b', '/c']) {
        for (const permission of ['read', 'write']) await writer.addPrincipalToAce(objectId, permission, 'zoe');
        await writer.addPrincipalToAce(objectId, 'read', 'zoe2');
      }
      await writer.addUserPrincipal('zoe', 'g');
      await writer.removePrincipalFromAces('zoe');
      await writer.removePrincipalFromAces('unknown');
    });
    for (const objectId of ['/a', '/a/b', '/c']) assert.deepEqual(await entries(objectId), { read: ['zoe2'] });
    assert.deepEqual([...(await reader.getUserPrincipals('zoe'))], ['g']);
  }),
  permissionCase('permission names are matched whole', async ({ write, reader }) => {
    await write((writer) => writer.addPrincipalToAce('/a', 'record:create', 'zoe'));
    assert.equal((await reader.getAuthorizedPrincipals([{ objectId: '/a', permission: 'create' }])).size, 0);
    assert.equal(await reader.checkPermission(['zoe'], [{ objectId: '/a', permission: 'create' }]), false);
    assert.equal(
      (await reader.getAccessibleObjects(['zoe'], { bound: [{ pattern: '/a', permission: 'create' }] })).size,
      0,
    );
  }),
  // Proves S-068.
  permissionCase('odd names work like any other', async ({ write, reader, entries }) => {
    const names = ['__proto__', 'constructor', 'a%', 'a_', 'ž'];
    await write(async (writer) => {
      for (const name of names) await writer.addPrincipalToAce(name, name, name);
    });
    for (const name of names) {
      assert.deepEqual(await entries(name), Object.fromEntries([[name, [name]]]));
      assert.deepEqual([...(await reader.getAccessibleObjects([name]))], [[name, new Set([name])]]);
    }
  }),
];

const replacements: readonly PermissionCase[] = [
  ...(
    [
      // Proves S-083.
      ['replacing an entry replaces its principals', { read: ['ann'] }, { read: ['ann'], write: ['tom'] }],
      [
        'replacing an entry may keep some principals',
        { read: ['ann', 'zoe'] },
        { read: ['ann', 'zoe'], write: ['tom'] },
      ],
      // Proves S-083.
      ['replacing an entry by none deletes it', { read: [] }, { write: ['tom'] }],
      [
        'replacing with new names adds them',
        { create: ['zoe'] },
        { create: ['zoe'], read: ['tom', 'zoe'], write: ['tom'] },
      ],
      ['replacing nothing changes nothing', {}, { read: ['tom', 'zoe'], write: ['tom'] }],
      ['replacing all entries by none leaves nothing', { read: [], write: [] }, {}],
      ['replacing an absent entry by none adds nothing', { create: [] }, { read: ['tom', 'zoe'], write: ['tom'] }],
      ['replacing takes a principal named twice once', { read: ['ann', 'ann'] }, { read: ['ann'], write: ['tom'] }],
    ] as readonly (readonly [string, ObjectPermissions, ObjectPermissions])[]
  ).map(([name, permissions, expected]) =>
    permissionCase(name, async ({ write, entries, reader }) => {
      await write(async (writer) => {
        await writer.replaceObjectPermissions('/a', { read: ['zoe', 'tom'], write: ['tom'] });
        await writer.replaceObjectPermissions('/b', { read: ['zoe'] });
      });
      await write((writer) => writer.replaceObjectPermissions('/a', permissions));
      assert.deepEqual(await entries('/a'), expected);
      assert.deepEqual(await entries('/b'), { read: ['zoe'] });
      for (const principal of ['zoe', 'tom', 'ann']) {
        const names = Object.keys(expected).filter((permission) => expected[permission]!.includes(principal));
        const found = (await reader.getAccessibleObjects([principal])).get('/a');
        assert.deepEqual([...(found ?? [])].toSorted(), names.toSorted());
      }
    }),
  ),
  permissionCase('the entries of several objects come in the order of the ids', async ({ write, reader }) => {
    await write(async (writer) => {
      await writer.replaceObjectPermissions('/a', { read: ['zoe'] });
      await writer.replaceObjectPermissions('/b', { write: ['tom'] });
    });
    assert.deepEqual(await reader.getObjectsPermissions(['/b', '/unknown', '/a', '/b']), [
      { write: ['tom'] },
      {},
      { read: ['zoe'] },
      { write: ['tom'] },
    ]);
    assert.deepEqual(await reader.getObjectsPermissions([]), []);
  }),
  // Proves S-082.
  permissionCase('the entries of an object may be limited to names that exist', async ({ write, reader }) => {
    await write((writer) => writer.replaceObjectPermissions('/a', { read: ['zoe'], write: ['tom'], create: ['ann'] }));
    const [named] = await reader.getObjectsPermissions(['/a'], ['read', 'create', 'unknown']);
    assert.deepEqual(named, { create: ['ann'], read: ['zoe'] });
    assert.deepEqual(await reader.getObjectsPermissions(['/a'], []), [{}]);
    assert.deepEqual(await reader.getObjectsPermissions(['/a', '/b'], ['write']), [{ write: ['tom'] }, {}]);
  }),
  // Proves S-084.
  permissionCase('deleting entries leaves those of other objects', async ({ write, entries }) => {
    const objectIds = ['/buckets/a', '/buckets/a/collections/c', '/buckets/a_', '/buckets/ab', '/buckets/%'];
    await write(async (writer) => {
      for (const objectId of objectIds) await writer.addPrincipalToAce(objectId, 'read', 'zoe');
      await writer.deleteObjectPermissions(['/buckets/a_', '/unknown', '/buckets/%']);
      await writer.deleteObjectPermissions([]);
    });
    for (const objectId of objectIds) {
      const kept = !['/buckets/a_', '/buckets/%'].includes(objectId);
      assert.deepEqual(await entries(objectId), kept ? { read: ['zoe'] } : {}, objectId);
    }
  }),
  permissionCase('accessible objects reserve memory before very many are read', async ({ write, reader }) => {
    const many = Array.from({ length: 5000 }, (_, n) => {
      return { objectId: `/buckets/a/collections/c/records/r${n}`, permissions: { read: ['zoe'] } };
    });
    await write((writer) => writer.addToAces([...many, { objectId: '/buckets/a', permissions: { read: ['kim'] } }]));
    const refusal = new Error('no room');
    const reserved: number[] = [];
    const requireRoom = (objects: number): void => {
      reserved.push(objects);
      throw refusal;
    };
    const bound = [{ pattern: '/buckets/a/collections/c/records/*', permission: 'read' }];
    await assert.rejects(reader.getAccessibleObjects(['zoe'], { requireRoom }), refusal);
    const options = { bound, withChildren: false, requireRoom };
    await assert.rejects(reader.getAccessibleObjects(['zoe'], options), refusal);
    assert.ok(reserved.every((objects) => objects >= 5000));
    await assert.rejects(reader.getAccessibleObjects(['zoe'], { lists: ['records'], requireRoom }), refusal);
    assert.equal((await reader.getAccessibleObjects(['kim'], { requireRoom })).size, 1);
    assert.equal((await reader.getAccessibleObjects(['kim', 'zoe'], { lists: ['buckets'], requireRoom })).size, 1);
    assert.equal(reserved.length, 3);
  }),
  permissionCase('the entries of many objects are deleted at once', async ({ write, reader }) => {
    const objectIds = Array.from({ length: 3000 }, (_, n) => `/buckets/a/collections/c/records/r${n}`);
    await write(async (writer) => {
      for (const objectId of objectIds) await writer.addPrincipalToAce(objectId, 'read', 'zoe');
    });
    assert.equal((await reader.getAccessibleObjects(['zoe'])).size, 3000);
    assert.equal((await reader.getObjectsPermissions(objectIds)).length, 3000);
    await write((writer) => writer.deleteObjectPermissions(objectIds.slice(1)));
    assert.equal((await reader.getAccessibleObjects(['zoe'])).size, 1);
  }),
];

const subtree: readonly (readonly [string, boolean])[] = [
  ['/buckets/a_b/collections/c', true],
  ['/buckets/a_b/collections/c/records/r', true],
  ['/buckets/a_b/groups/g', true],
  ['/buckets/a_b', false],
  ['/buckets/a_b2', false],
  ['/buckets/a_b2/collections/c', false],
  ['/buckets/a_b-c/collections/c', false],
  ['/buckets/a_b0', false],
  ['/buckets/axb/collections/c', false],
  ['/buckets/A_B/collections/c', false],
  ['/buckets/%/collections/c', false],
  ['/v1/buckets/a_b/collections/c', false],
];

const deletions: readonly PermissionCase[] = [
  ...subtree.map(([objectId, deleted]) =>
    // Proves S-084.
    permissionCase(
      `deleting entries below /buckets/a_b ${deleted ? 'deletes' : 'spares'} those of ${objectId}`,
      async ({ write, entries, reader }) => {
        await write(async (writer) => {
          await writer.replaceObjectPermissions(objectId, { read: ['zoe', 'tom'], write: ['tom'] });
          await writer.deletePermissionsBelow('/buckets/a_b');
        });
        assert.deepEqual(await entries(objectId), deleted ? {} : { read: ['tom', 'zoe'], write: ['tom'] });
        assert.equal((await reader.getAccessibleObjects(['zoe'])).has(objectId), !deleted);
        const bound = [{ objectId, permission: 'read' }];
        assert.equal(await reader.checkPermission(['tom'], bound), !deleted);
      },
    ),
  ),
  permissionCase('deleted entries may be written again', async ({ write, entries }) => {
    await write((writer) => writer.addPrincipalToAce('/buckets/a/collections/c', 'read', 'zoe'));
    await write(async (writer) => {
      await writer.deletePermissionsBelow('/buckets/a');
      await writer.addPrincipalToAce('/buckets/a/collections/c', 'read', 'tom');
    });
    assert.deepEqual(await entries('/buckets/a/collections/c'), { read: ['tom'] });
  }),
  ...['%', '_', '*', '/buckets/_', '/buckets/%', '/buckets/*'].map((uri) =>
    permissionCase(
      `deleting entries below "${uri}" takes its wildcards for ordinary text`,
      async ({ write, entries }) => {
        await write((writer) => writer.addPrincipalToAce('/buckets/a/collections/c', 'read', 'zoe'));
        await write((writer) => writer.deletePermissionsBelow(uri));
        assert.deepEqual(await entries('/buckets/a/collections/c'), { read: ['zoe'] });
      },
    ),
  ),
  // Proves S-070.
  permissionCase('a flush deletes entries and memberships', async ({ write, entries, principals, reader }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
      await writer.addUserPrincipal('zoe', 'g');
    });
    await write((writer) => writer.flush());
    assert.deepEqual([await entries('/a'), await principals('zoe')], [{}, []]);
    assert.equal((await reader.getAccessibleObjects(['zoe'])).size, 0);
  }),
];

/** Writing and deleting entries. */
export const entryCases: readonly PermissionCase[] = [...aces, ...replacements, ...deletions];
