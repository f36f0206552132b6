// The permission contract as cases: memberships, access-control entries, and the questions asked of them.
import assert from 'node:assert/strict';
import type { BoundPattern, ObjectPermissions, PermissionReader, PermissionWriter } from '../contracts/permission.ts';
import type { PermissionCase, PermissionContext } from './contract-case.ts';
import { inUnit } from './unit-of-work.ts';

/** A case's hands: reads outside units of work, and writes each in one of its own. */
interface Hands {
  readonly reader: PermissionReader;
  readonly write: (work: (writer: PermissionWriter) => Promise<unknown>) => Promise<void>;
  /** Principals of a user, sorted. */
  readonly principals: (userId: string) => Promise<readonly string[]>;
  /** Entries of an object with sorted principals. */
  readonly entries: (objectId: string, permissions?: readonly string[]) => Promise<ObjectPermissions>;
}

function permissionCase(name: string, body: (hands: Hands) => Promise<void>): PermissionCase {
  return { name, run: (context) => body(createHands(context)) };
}

function createHands({ database, permission }: PermissionContext): Hands {
  const { reader } = permission;
  return {
    reader,
    async write(work) {
      await inUnit(database, (transaction) => work(permission.writer(transaction)));
    },
    async principals(userId) {
      return [...(await reader.getUserPrincipals(userId))].toSorted();
    },
    async entries(objectId, permissions) {
      return sortedEntries(await reader.getObjectPermissions(objectId, permissions));
    },
  };
}

function sortedEntries(entries: ObjectPermissions): ObjectPermissions {
  return Object.fromEntries(Object.entries(entries).map(([name, principals]) => [name, principals.toSorted()]));
}

const memberships: readonly PermissionCase[] = [
  permissionCase('an unknown user has no principals', async ({ principals }) => {
    assert.deepEqual(await principals('acme:zoe'), []);
  }),
  permissionCase('a user has the principals given', async ({ write, principals }) => {
    await write((writer) => writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/g'));
    await write((writer) => writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/h'));
    assert.deepEqual(await principals('acme:zoe'), ['/buckets/a/groups/g', '/buckets/a/groups/h']);
    assert.deepEqual(await principals('acme:tom'), []);
  }),
  permissionCase('giving a principal twice is giving it once', async ({ write, principals }) => {
    await write(async (writer) => {
      await writer.addUserPrincipal('acme:zoe', 'g');
      await writer.addUserPrincipal('acme:zoe', 'g');
    });
    await write((writer) => writer.addUserPrincipal('acme:zoe', 'g'));
    assert.deepEqual(await principals('acme:zoe'), ['g']);
    await write((writer) => writer.removeUserPrincipal('acme:zoe', 'g'));
    assert.deepEqual(await principals('acme:zoe'), []);
  }),
  permissionCase('taking a principal leaves the others', async ({ write, principals }) => {
    await write(async (writer) => {
      for (const principal of ['f', 'g', 'h']) await writer.addUserPrincipal('acme:zoe', principal);
      await writer.addUserPrincipal('acme:tom', 'g');
      await writer.removeUserPrincipal('acme:zoe', 'g');
    });
    assert.deepEqual([await principals('acme:zoe'), await principals('acme:tom')], [['f', 'h'], ['g']]);
  }),
  permissionCase('taking a principal that is absent is no error', async ({ write, principals }) => {
    await write((writer) => writer.removeUserPrincipal('acme:zoe', 'g'));
    await write((writer) => writer.addUserPrincipal('acme:zoe', 'h'));
    await write((writer) => writer.removeUserPrincipal('acme:zoe', 'g'));
    assert.deepEqual(await principals('acme:zoe'), ['h']);
  }),
  permissionCase('every user has the principals given to system.Authenticated', async ({ write, principals }) => {
    await write(async (writer) => {
      await writer.addUserPrincipal('system.Authenticated', 'all');
      await writer.addUserPrincipal('acme:zoe', 'g');
      await writer.addUserPrincipal('acme:tom', 'all');
    });
    assert.deepEqual(await principals('acme:zoe'), ['all', 'g']);
    assert.deepEqual(await principals('acme:tom'), ['all']);
    assert.deepEqual(await principals('acme:new'), ['all']);
    assert.deepEqual(await principals('system.Authenticated'), ['all']);
  }),
  permissionCase('a principal is taken from every user', async ({ write, principals }) => {
    await write(async (writer) => {
      for (const userId of ['acme:zoe', 'acme:tom', 'system.Authenticated']) await writer.addUserPrincipal(userId, 'g');
      await writer.addUserPrincipal('acme:zoe', 'g2');
      await writer.removePrincipal('g');
      await writer.removePrincipal('unknown');
    });
    assert.deepEqual([await principals('acme:zoe'), await principals('acme:tom')], [['g2'], []]);
  }),
  permissionCase('the principals below a prefix are taken from every user', async ({ write, principals }) => {
    const near = ['/buckets/axb/groups/g', '/buckets/a_b2/groups/g', '/buckets/a_b/group', '/BUCKETS/a_b/groups/g'];
    const below = ['/buckets/a_b/groups/g', '/buckets/a_b/groups/h', '/buckets/a_b/groups/'];
    await write(async (writer) => {
      for (const principal of [...near, ...below]) await writer.addUserPrincipal('acme:zoe', principal);
      await writer.addUserPrincipal('acme:tom', below[0]!);
      await writer.removePrincipalsBelow('/buckets/a_b/groups/');
    });
    assert.deepEqual(await principals('acme:zoe'), near.toSorted());
    assert.deepEqual(await principals('acme:tom'), []);
  }),
  ...['/buckets/%/groups/', '/buckets/_/groups/', '*', '.*', '/buckets/a/groups/g%'].map((prefix) =>
    permissionCase(`the prefix "${prefix}" of principals is taken literally`, async ({ write, principals }) => {
      await write((writer) => writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/g'));
      await write((writer) => writer.removePrincipalsBelow(prefix));
      assert.deepEqual(await principals('acme:zoe'), ['/buckets/a/groups/g']);
    }),
  ),
  permissionCase('taking a principal from users leaves entries alone', async ({ write, entries }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/buckets/a', 'read', '/buckets/a/groups/g');
      await writer.addUserPrincipal('acme:zoe', '/buckets/a/groups/g');
      await writer.removePrincipal('/buckets/a/groups/g');
      await writer.removePrincipalsBelow('/buckets/a/groups/');
    });
    assert.deepEqual(await entries('/buckets/a'), { read: ['/buckets/a/groups/g'] });
  }),
  permissionCase('user ids and principals are compared byte for byte', async ({ write, principals }) => {
    const odd = ['__proto__', 'constructor', 'Zoe', 'zoe', 'z_e', 'z%', 'žoé', 'a:b@c', `'"`];
    await write(async (writer) => {
      for (const id of odd) await writer.addUserPrincipal(id, `of ${id}`);
      for (const id of odd) await writer.addUserPrincipal('all', id);
      await writer.removePrincipal('z_e');
    });
    for (const id of odd) assert.deepEqual(await principals(id), [`of ${id}`]);
    assert.deepEqual(await principals('all'), odd.filter((id) => id !== 'z_e').toSorted());
  }),
];

const aces: readonly PermissionCase[] = [
  permissionCase('an unknown entry has no principals', async ({ reader, entries }) => {
    assert.deepEqual([...(await reader.getObjectPermissionPrincipals('/a', 'read'))], []);
    assert.deepEqual(await entries('/a'), {});
  }),
  permissionCase('an entry has the principals added', async ({ write, reader, entries }) => {
    await write((writer) => writer.addPrincipalToAce('/a', 'read', 'zoe'));
    await write((writer) => writer.addPrincipalToAce('/a', 'read', 'tom'));
    await write((writer) => writer.addPrincipalToAce('/a', 'write', 'ann'));
    assert.deepEqual([...(await reader.getObjectPermissionPrincipals('/a', 'read'))].toSorted(), ['tom', 'zoe']);
    assert.deepEqual(await entries('/a'), { read: ['tom', 'zoe'], write: ['ann'] });
    assert.deepEqual(await entries('/b'), {});
  }),
  permissionCase('adding a principal twice is adding it once', async ({ write, entries }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
    });
    assert.deepEqual(await entries('/a'), { read: ['zoe'] });
  }),
  permissionCase('a principal removed from an entry stays in others', async ({ write, entries }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
      await writer.addPrincipalToAce('/a', 'read', 'tom');
      await writer.addPrincipalToAce('/a', 'write', 'zoe');
      await writer.removePrincipalFromAce('/a', 'read', 'zoe');
    });
    assert.deepEqual(await entries('/a'), { read: ['tom'], write: ['zoe'] });
  }),
  permissionCase('an entry left without principals is gone', async ({ write, reader, entries }) => {
    await write((writer) => writer.addPrincipalToAce('/a', 'read', 'zoe'));
    await write((writer) => writer.removePrincipalFromAce('/a', 'read', 'zoe'));
    assert.deepEqual(await entries('/a'), {});
    assert.equal((await reader.getAccessibleObjects(['zoe'])).size, 0);
  }),
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
    assert.equal((await reader.getObjectPermissionPrincipals('/a', 'create')).size, 0);
    assert.equal(await reader.checkPermission(['zoe'], [{ objectId: '/a', permission: 'create' }]), false);
    assert.equal(
      (await reader.getAccessibleObjects(['zoe'], { bound: [{ pattern: '/a', permission: 'create' }] })).size,
      0,
    );
  }),
  permissionCase('odd names are names like any other', async ({ write, reader, entries }) => {
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
      ['replacing an entry replaces its principals', { read: ['ann'] }, { read: ['ann'], write: ['tom'] }],
      [
        'replacing an entry may keep some principals',
        { read: ['ann', 'zoe'] },
        { read: ['ann', 'zoe'], write: ['tom'] },
      ],
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
  permissionCase('the entries of an object may be limited to names that exist', async ({ write, reader, entries }) => {
    await write((writer) => writer.replaceObjectPermissions('/a', { read: ['zoe'], write: ['tom'], create: ['ann'] }));
    assert.deepEqual(await entries('/a', ['read', 'create', 'unknown']), { create: ['ann'], read: ['zoe'] });
    assert.deepEqual(await entries('/a', []), {});
    assert.deepEqual(await reader.getObjectsPermissions(['/a', '/b'], ['write']), [{ write: ['tom'] }, {}]);
  }),
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
  permissionCase('deleting the entries of many objects works', async ({ write, reader }) => {
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
  permissionCase('a flush forgets entries and memberships', async ({ write, entries, principals, reader }) => {
    await write(async (writer) => {
      await writer.addPrincipalToAce('/a', 'read', 'zoe');
      await writer.addUserPrincipal('zoe', 'g');
    });
    await write((writer) => writer.flush());
    assert.deepEqual([await entries('/a'), await principals('zoe')], [{}, []]);
    assert.equal((await reader.getAccessibleObjects(['zoe'])).size, 0);
  }),
];

async function seedObjects(write: Hands['write']): Promise<void> {
  await write(async (writer) => {
    await writer.replaceObjectPermissions('/buckets/a', { write: ['tom'], read: ['zoe'] });
    await writer.replaceObjectPermissions('/buckets/a/collections/c', {
      read: ['zoe', 'tom'],
      'record:create': ['zoe'],
    });
    await writer.replaceObjectPermissions('/buckets/a/collections/d', { write: ['g'] });
    await writer.replaceObjectPermissions('/buckets/a/collections/c/records/r', { read: ['zoe'], write: ['zoe', 'g'] });
    await writer.replaceObjectPermissions('/buckets/a/collections/c/records/s', { read: ['tom'] });
    await writer.replaceObjectPermissions('/buckets/a/collections/c_/records/t', { read: ['zoe'] });
    await writer.replaceObjectPermissions('/buckets/ab/collections/c/records/u', { read: ['zoe'] });
  });
}

type CheckRow = readonly [string, readonly string[], readonly (readonly [string, string])[], boolean];

const checks: readonly CheckRow[] = [
  ['a principal in the entry is allowed', ['zoe'], [['/buckets/a', 'read']], true],
  ['a principal in another entry is not allowed', ['zoe'], [['/buckets/a', 'write']], false],
  ['any of the principals suffices', ['x', 'y', 'tom'], [['/buckets/a', 'write']], true],
  [
    'any of the entries suffices',
    ['zoe'],
    [
      ['/x', 'read'],
      ['/buckets/a', 'write'],
      ['/buckets/a', 'read'],
    ],
    true,
  ],
  [
    'an entry above or below does not count',
    ['g'],
    [
      ['/buckets/a', 'write'],
      ['/buckets/a/collections/c', 'write'],
    ],
    false,
  ],
  ['no principal is never allowed', [], [['/buckets/a', 'read']], false],
  ['no entry never allows', ['zoe'], [], false],
  ['unknown objects allow nobody', ['zoe'], [['/unknown', 'read']], false],
  [
    'wildcards in an object id stand for themselves',
    ['zoe'],
    [
      ['/buckets/*', 'read'],
      ['/buckets/_', 'read'],
      ['%', 'read'],
    ],
    false,
  ],
];

type AccessRow = readonly [
  string,
  readonly string[],
  readonly (readonly [string, string])[],
  boolean,
  Record<string, string[]>,
];

const c = '/buckets/a/collections/c';
const accesses: readonly AccessRow[] = [
  ['no pattern finds nothing', ['zoe'], [], true, {}],
  ['no principal finds nothing', [], [['*', 'read']], true, {}],
  ['an exact id is found', ['zoe'], [[c, 'read']], true, { [c]: ['read'] }],
  ['an exact id is found without children', ['zoe'], [[c, 'read']], false, { [c]: ['read'] }],
  ['the objects of a list are found', ['zoe'], [[`${c}/records/*`, 'read']], true, { [`${c}/records/r`]: ['read'] }],
  [
    'the objects of a list are found without children',
    ['zoe'],
    [[`${c}/records/*`, 'read']],
    false,
    { [`${c}/records/r`]: ['read'] },
  ],
  [
    'several permissions are found together',
    ['zoe'],
    [
      [`${c}/records/*`, 'read'],
      [`${c}/records/*`, 'write'],
    ],
    true,
    { [`${c}/records/r`]: ['read', 'write'] },
  ],
  [
    'several principals are found together',
    ['g', 'tom'],
    [
      [`${c}/records/*`, 'read'],
      [`${c}/records/*`, 'write'],
    ],
    false,
    { [`${c}/records/r`]: ['write'], [`${c}/records/s`]: ['read'] },
  ],
  [
    'several patterns are found together',
    ['g', 'tom'],
    [
      ['/buckets/*', 'write'],
      ['/buckets/a/collections/*', 'read'],
    ],
    false,
    { '/buckets/a': ['write'], [c]: ['read'] },
  ],
  ['a star without children stops at a slash', ['zoe'], [['/buckets/*', 'read']], false, { '/buckets/a': ['read'] }],
  [
    'a star with children stands for any text',
    ['zoe'],
    [['/buckets/a*', 'read']],
    true,
    {
      '/buckets/a': ['read'],
      [c]: ['read'],
      [`${c}/records/r`]: ['read'],
      '/buckets/a/collections/c_/records/t': ['read'],
      '/buckets/ab/collections/c/records/u': ['read'],
    },
  ],
  [
    'a star in the middle stands for any text',
    ['zoe'],
    [['/buckets/*/records/*', 'read']],
    true,
    {
      [`${c}/records/r`]: ['read'],
      '/buckets/a/collections/c_/records/t': ['read'],
      '/buckets/ab/collections/c/records/u': ['read'],
    },
  ],
  ['a star in the middle without children stops at a slash', ['zoe'], [['/buckets/*/records/*', 'read']], false, {}],
  [
    'stars in several segments are found without children',
    ['zoe'],
    [['/buckets/*/collections/c/records/*', 'read']],
    false,
    { [`${c}/records/r`]: ['read'], '/buckets/ab/collections/c/records/u': ['read'] },
  ],
  [
    'part of a segment may be a star',
    ['zoe', 'tom'],
    [['/buckets/a/collections/*/records/*', 'write']],
    false,
    { [`${c}/records/r`]: ['write'] },
  ],
  ['an underscore in a pattern is no wildcard', ['zoe'], [['/buckets/a/collections/_/records/*', 'read']], true, {}],
  [
    'an underscore in a pattern stands for itself',
    ['zoe'],
    [['/buckets/a/collections/c_/records/*', 'read']],
    false,
    { '/buckets/a/collections/c_/records/t': ['read'] },
  ],
  ['a percent sign in a pattern is no wildcard', ['zoe'], [['/buckets/%', 'read']], true, {}],
  [
    'a dot and brackets in a pattern stand for themselves',
    ['zoe'],
    [
      ['/buckets/.', 'read'],
      ['/buckets/[a]', 'read'],
    ],
    true,
    {},
  ],
  ['a question mark in a pattern stands for itself', ['zoe'], [['/buckets/?', 'read']], true, {}],
  ['a pattern without a star finds nothing deeper', ['zoe'], [['/buckets/a/collections', 'read']], true, {}],
  ['a longer pattern does not find a shorter id', ['zoe'], [[`${c}/*/x`, 'read']], true, {}],
  [
    'the same pattern twice is the same',
    ['zoe'],
    [
      [c, 'read'],
      [c, 'read'],
    ],
    true,
    { [c]: ['read'] },
  ],
];

function patterns(bound: readonly (readonly [string, string])[]): readonly BoundPattern[] {
  return bound.map(([pattern, permission]) => ({ pattern, permission }));
}

function plain(found: ReadonlyMap<string, ReadonlySet<string>>): Record<string, string[]> {
  return Object.fromEntries([...found].map(([objectId, names]) => [objectId, [...names].toSorted()]));
}

const questions: readonly PermissionCase[] = [
  ...checks.map(([name, principals, bound, expected]) =>
    permissionCase(name, async ({ write, reader }) => {
      await seedObjects(write);
      const entries = bound.map(([objectId, permission]) => ({ objectId, permission }));
      assert.equal(await reader.checkPermission(principals, entries), expected);
    }),
  ),
  permissionCase('the principals of several entries come together', async ({ write, reader }) => {
    await seedObjects(write);
    const found = await reader.getAuthorizedPrincipals([
      { objectId: '/buckets/a', permission: 'write' },
      { objectId: c, permission: 'read' },
      { objectId: `${c}/records/r`, permission: 'write' },
      { objectId: '/unknown', permission: 'write' },
    ]);
    assert.deepEqual([...found].toSorted(), ['g', 'tom', 'zoe']);
    assert.equal((await reader.getAuthorizedPrincipals([])).size, 0);
  }),
  ...accesses.map(([name, principals, bound, withChildren, expected]) =>
    permissionCase(`accessible objects: ${name}`, async ({ write, reader }) => {
      await seedObjects(write);
      const found = await reader.getAccessibleObjects(principals, { bound: patterns(bound), withChildren });
      assert.deepEqual(plain(found), expected);
    }),
  ),
  permissionCase('without patterns every entry of the principals is found', async ({ write, reader }) => {
    await seedObjects(write);
    assert.deepEqual(plain(await reader.getAccessibleObjects(['g', 'tom'])), {
      '/buckets/a': ['write'],
      [c]: ['read'],
      '/buckets/a/collections/d': ['write'],
      [`${c}/records/r`]: ['write'],
      [`${c}/records/s`]: ['read'],
    });
    assert.deepEqual(plain(await reader.getAccessibleObjects(['zoe'], { withChildren: false }))[c], [
      'read',
      'record:create',
    ]);
    assert.deepEqual(plain(await reader.getAccessibleObjects([])), {});
  }),
  permissionCase('patterns include children unless told otherwise', async ({ write, reader }) => {
    await seedObjects(write);
    const bound = patterns([['/buckets/*', 'write']]);
    assert.deepEqual(plain(await reader.getAccessibleObjects(['g'], { bound })), {
      '/buckets/a/collections/d': ['write'],
      [`${c}/records/r`]: ['write'],
    });
  }),
  permissionCase('what a reader gave away does not change with later writes', async ({ write, reader }) => {
    await seedObjects(write);
    const principals = await reader.getObjectPermissionPrincipals('/buckets/a', 'read');
    const accessible = await reader.getAccessibleObjects(['tom']);
    const entries = await reader.getObjectPermissions('/buckets/a');
    await write((writer) => writer.flush());
    assert.deepEqual([...principals], ['zoe']);
    assert.equal(accessible.size, 3);
    assert.deepEqual(entries, { read: ['zoe'], write: ['tom'] });
  }),
];

/** Each case wants an empty store of its own. */
export const permissionCases: readonly PermissionCase[] = [
  ...memberships,
  ...aces,
  ...replacements,
  ...deletions,
  ...questions,
];
