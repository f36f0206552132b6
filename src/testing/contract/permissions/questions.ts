// Cases about checks and searches: which principals are allowed, and which objects they can access.
import assert from 'node:assert/strict';
import type { BoundPattern } from '../../../contracts/permission.ts';
import type { PermissionCase } from '../contract-case.ts';
import { permissionCase, type PermissionProbe } from './permission-probe.ts';

async function seedObjects(write: PermissionProbe['write']): Promise<void> {
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

/** Name, principals, entries such as `/buckets/a read`, and whether one of them allows a principal. */
type CheckRow = readonly [string, readonly string[], readonly string[], boolean];

const checks: readonly CheckRow[] = [
  ['a principal in the entry is allowed', ['zoe'], ['/buckets/a read'], true],
  // Proves S-081.
  ['a principal in another entry is not allowed', ['zoe'], ['/buckets/a write'], false],
  // Proves S-081.
  ['any of the principals is enough', ['x', 'y', 'tom'], ['/buckets/a write'], true],
  // Proves S-081.
  ['any of the entries suffices', ['zoe'], ['/x read', '/buckets/a write', '/buckets/a read'], true],
  ['an entry above or below does not count', ['g'], ['/buckets/a write', '/buckets/a/collections/c write'], false],
  ['no principal is never allowed', [], ['/buckets/a read'], false],
  ['no entry never allows', ['zoe'], [], false],
  ['unknown objects allow no principal', ['zoe'], ['/unknown read'], false],
  ['wildcards in an object id stand for themselves', ['zoe'], ['/buckets/* read', '/buckets/_ read', '% read'], false],
];

/** Name, principals, patterns such as `/buckets/* read`, whether they include children, and what is found. */
type AccessRow = readonly [string, readonly string[], readonly string[], boolean, Record<string, string[]>];

const c = '/buckets/a/collections/c';
const accesses: readonly AccessRow[] = [
  ['no pattern finds nothing', ['zoe'], [], true, {}],
  ['no principal finds nothing', [], ['* read'], true, {}],
  ['an exact id is found', ['zoe'], [`${c} read`], true, { [c]: ['read'] }],
  ['an exact id is found without children', ['zoe'], [`${c} read`], false, { [c]: ['read'] }],
  ['the objects of a list are found', ['zoe'], [`${c}/records/* read`], true, { [`${c}/records/r`]: ['read'] }],
  [
    'the objects of a list are found without children',
    ['zoe'],
    [`${c}/records/* read`],
    false,
    { [`${c}/records/r`]: ['read'] },
  ],
  [
    'several permissions are found together',
    ['zoe'],
    [`${c}/records/* read`, `${c}/records/* write`],
    true,
    { [`${c}/records/r`]: ['read', 'write'] },
  ],
  [
    'several principals are found together',
    ['g', 'tom'],
    [`${c}/records/* read`, `${c}/records/* write`],
    false,
    { [`${c}/records/r`]: ['write'], [`${c}/records/s`]: ['read'] },
  ],
  [
    'several patterns are found together',
    ['g', 'tom'],
    ['/buckets/* write', '/buckets/a/collections/* read'],
    false,
    { '/buckets/a': ['write'], [c]: ['read'] },
  ],
  ['a star without children stops at a slash', ['zoe'], ['/buckets/* read'], false, { '/buckets/a': ['read'] }],
  [
    'a star with children stands for any text',
    ['zoe'],
    ['/buckets/a* read'],
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
    ['/buckets/*/records/* read'],
    true,
    {
      [`${c}/records/r`]: ['read'],
      '/buckets/a/collections/c_/records/t': ['read'],
      '/buckets/ab/collections/c/records/u': ['read'],
    },
  ],
  ['a star in the middle without children stops at a slash', ['zoe'], ['/buckets/*/records/* read'], false, {}],
  [
    'stars in several segments are found without children',
    ['zoe'],
    ['/buckets/*/collections/c/records/* read'],
    false,
    { [`${c}/records/r`]: ['read'], '/buckets/ab/collections/c/records/u': ['read'] },
  ],
  [
    'part of a segment may be a star',
    ['zoe', 'tom'],
    ['/buckets/a/collections/*/records/* write'],
    false,
    { [`${c}/records/r`]: ['write'] },
  ],
  ['an underscore in a pattern is no wildcard', ['zoe'], ['/buckets/a/collections/_/records/* read'], true, {}],
  [
    'an underscore in a pattern stands for itself',
    ['zoe'],
    ['/buckets/a/collections/c_/records/* read'],
    false,
    { '/buckets/a/collections/c_/records/t': ['read'] },
  ],
  ['a percent sign in a pattern is no wildcard', ['zoe'], ['/buckets/% read'], true, {}],
  ['a dot and brackets in a pattern stand for themselves', ['zoe'], ['/buckets/. read', '/buckets/[a] read'], true, {}],
  ['a question mark in a pattern stands for itself', ['zoe'], ['/buckets/? read'], true, {}],
  ['a pattern without a star finds nothing deeper', ['zoe'], ['/buckets/a/collections read'], true, {}],
  ['a longer pattern does not find a shorter id', ['zoe'], [`${c}/*/x read`], true, {}],
  ['the same pattern twice is the same', ['zoe'], [`${c} read`, `${c} read`], true, { [c]: ['read'] }],
];

function patterns(...bound: readonly string[]): readonly BoundPattern[] {
  return bound.map(inTwo).map(([pattern, permission]) => ({ pattern, permission }));
}

function entriesOf(bound: readonly string[]): readonly { readonly objectId: string; readonly permission: string }[] {
  return bound.map(inTwo).map(([objectId, permission]) => ({ objectId, permission }));
}

function inTwo(text: string): readonly [string, string] {
  const [place = '', permission = ''] = text.split(' ');
  return [place, permission];
}

function plain(found: ReadonlyMap<string, ReadonlySet<string>>): Record<string, string[]> {
  return Object.fromEntries([...found].map(([objectId, names]) => [objectId, [...names].toSorted()]));
}

/** Gives `acme:kim` one principal that is in entries and others that are not, and one through `system.Authenticated`. */
async function seedMembers(write: PermissionProbe['write']): Promise<void> {
  await seedObjects(write);
  await write(async (writer) => {
    for (const group of ['/buckets/a/groups/x', 'g', '/buckets/a/groups/y']) {
      await writer.addUserPrincipal('acme:kim', group);
    }
    await writer.addUserPrincipal('acme:lee', 'h');
    await writer.addUserPrincipal('system.Authenticated', 'tom');
  });
}

const memberChecks: readonly (readonly [
  name: string,
  principals: readonly string[],
  memberOf: string,
  bound: readonly string[],
  expected: boolean,
])[] = [
  ['a principal of the user is enough', [], 'acme:kim', [`${c}/records/r write`], true],
  ['a principal besides those of the user is enough', ['zoe'], 'acme:kim', [`${c} read`], true],
  ['a principal of system.Authenticated is enough', ['unknown'], 'acme:lee', ['/buckets/a write'], true],
  ['a principal of system.Authenticated counts for users without any', [], 'acme:new', ['/buckets/a write'], true],
  ['principals of another user do not count', ['unknown'], 'acme:lee', [`${c}/records/r write`], false],
  ['a user is no principal of its own', [], 'zoe', ['/buckets/a read'], false],
  ['principals of the user grant no other permission', [], 'acme:kim', [`${c}/records/r create`], false],
  ['without entries principals of the user grant nothing', [], 'acme:kim', [], false],
];

/** Checks and searches. */
export const questionCases: readonly PermissionCase[] = [
  ...checks.map(([name, principals, bound, expected]) =>
    permissionCase(name, async ({ write, reader }) => {
      await seedObjects(write);
      const entries = entriesOf(bound);
      assert.equal(await reader.checkPermission(principals, entries), expected);
    }),
  ),
  ...memberChecks.map(([name, principals, memberOf, bound, expected]) =>
    permissionCase(`in a check with a user, ${name}`, async ({ write, reader }) => {
      await seedMembers(write);
      const entries = entriesOf(bound);
      assert.equal(await reader.checkPermission(principals, entries, memberOf), expected);
      await write(async (writer) =>
        assert.equal(await writer.checkPermission(principals, entries, memberOf), expected),
      );
    }),
  ),
  permissionCase(
    'a check with a user sees what the unit of work has done to memberships',
    async ({ write, reader }) => {
      await seedMembers(write);
      const entries = [{ objectId: `${c}/records/r`, permission: 'write' }];
      await write(async (writer) => {
        assert.equal(await writer.checkPermission([], entries, 'acme:kim'), true);
        await writer.removeUserPrincipal('acme:kim', 'g');
        assert.equal(await writer.checkPermission([], entries, 'acme:kim'), false);
        await writer.addUserPrincipal('acme:lee', 'g');
        assert.equal(await writer.checkPermission([], entries, 'acme:lee'), true);
      });
      assert.equal(await reader.checkPermission([], entries, 'acme:kim'), false);
      assert.equal(await reader.checkPermission([], entries, 'acme:lee'), true);
    },
  ),
  permissionCase('a check with a user finds principals of any length', async ({ write, reader }) => {
    const long = `/buckets/${'b'.repeat(900)}/groups/\u{1F600}`;
    const entries = [{ objectId: '/buckets/a', permission: 'read' }];
    await write(async (writer) => {
      await writer.addPrincipalToAce('/buckets/a', 'read', long);
      await writer.addUserPrincipal('acme:kim', long);
    });
    assert.equal(await reader.checkPermission([], entries, 'acme:kim'), true);
    assert.equal(await reader.checkPermission([], entries, 'acme:lee'), false);
    const bound = patterns('/buckets/a read');
    assert.equal((await reader.getAccessibleObjects([], { bound, memberOf: 'acme:kim' })).size, 1);
  }),
  permissionCase('accessible objects of a user are those of the principals too', async ({ write, reader }) => {
    await seedMembers(write);
    const bound = patterns('/buckets/* write');
    assert.deepEqual(plain(await reader.getAccessibleObjects([], { bound, memberOf: 'acme:kim' })), {
      '/buckets/a': ['write'],
      '/buckets/a/collections/d': ['write'],
      [`${c}/records/r`]: ['write'],
    });
    assert.deepEqual(
      plain(await reader.getAccessibleObjects(['g'], { memberOf: 'acme:lee' })),
      plain(await reader.getAccessibleObjects(['g', 'tom', 'h'])),
    );
  }),
  permissionCase(
    'a limit returns at least that many accessible objects, and only those of a search without it',
    async ({ write, reader }) => {
      // Several principals and patterns find most of them.
      const folder = '/buckets/a/collections/c/records';
      const entries = Array.from({ length: 40 }, (_, n) => {
        const read = n % 3 === 0 ? ['kim', 'g', 'system.Everyone'] : ['kim'];
        return { objectId: `${folder}/${n}`, permissions: { read, ...(n % 2 === 0 ? { write: ['g', 'kim'] } : {}) } };
      });
      await write((writer) => writer.addToAces(entries));
      const bound = patterns(`${folder}/* read`, `${folder}/* write`);
      const all = await reader.getAccessibleObjects(['kim', 'g', 'system.Everyone'], { bound, withChildren: false });
      for (const limit of [1, 2, 13, 39, 40, 41, 1000]) {
        const options = { bound, withChildren: false, limit };
        const found = await reader.getAccessibleObjects(['kim', 'g', 'system.Everyone', 'kim'], options);
        assert.ok(found.size >= Math.min(limit, 40), `${found.size} of ${limit}`);
        for (const id of found.keys()) assert.ok(all.has(id));
        if (limit > 40) assert.deepEqual(plain(found), plain(all));
      }
      // Objects that a pattern refuses do not count.
      const some = patterns(`${folder}/3* read`);
      assert.equal(
        (await reader.getAccessibleObjects(['kim'], { bound: some, withChildren: false, limit: 11 })).size,
        11,
      );
    },
  ),
  // Proves S-080.
  permissionCase('the principals of several entries are returned together', async ({ write, reader }) => {
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
    // Proves S-078, S-079.
    permissionCase(`accessible objects: ${name}`, async ({ write, reader }) => {
      await seedObjects(write);
      const found = await reader.getAccessibleObjects(principals, { bound: patterns(...bound), withChildren });
      assert.deepEqual(plain(found), expected);
    }),
  ),
  // Proves S-078.
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
  permissionCase('only the entries on objects of named lists are found', async ({ write, reader }) => {
    await seedObjects(write);
    const names = ['buckets', 'collections', 'records', 'groups', '', 'c', 'record', 'sdrocer'];
    for (const lists of [[], ...names.map((name) => [name]), ['buckets', 'records']]) {
      const all = Object.entries(plain(await reader.getAccessibleObjects(['g', 'tom'])));
      const expected = all.filter(([uri]) => lists.includes(uri.split('/').at(-2)!));
      assert.deepEqual(plain(await reader.getAccessibleObjects(['g', 'tom'], { lists })), Object.fromEntries(expected));
    }
    await write(async (writer) => {
      await writer.addToAces([{ objectId: `${c}/records/new`, permissions: { read: ['g'] } }]);
      assert.ok((await writer.getAccessibleObjects(['g'], { lists: ['records'] })).has(`${c}/records/new`));
      assert.ok(!(await writer.getAccessibleObjects(['g'], { lists: ['collections'] })).has(`${c}/records/new`));
    });
  }),
  permissionCase('patterns include children by default', async ({ write, reader }) => {
    await seedObjects(write);
    const bound = patterns('/buckets/* write');
    assert.deepEqual(plain(await reader.getAccessibleObjects(['g'], { bound })), {
      '/buckets/a/collections/d': ['write'],
      [`${c}/records/r`]: ['write'],
    });
  }),
  permissionCase('later writes do not change a result that was returned', async ({ write, reader }) => {
    await seedObjects(write);
    const principals = await reader.getAuthorizedPrincipals([{ objectId: '/buckets/a', permission: 'read' }]);
    const accessible = await reader.getAccessibleObjects(['tom']);
    const entries = await reader.getObjectPermissions('/buckets/a');
    await write((writer) => writer.flush());
    assert.deepEqual([...principals], ['zoe']);
    assert.equal(accessible.size, 3);
    assert.deepEqual(entries, { read: ['zoe'], write: ['tom'] });
  }),
];
