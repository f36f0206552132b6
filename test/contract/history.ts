// Random histories of contract calls: units of work with several writes, committed or rolled back, and reads after each of
// them.
import fc from 'fast-check';
import { expect } from 'vitest';
import type { BoundPattern } from '../../src/contracts/permission.ts';
import type { Page } from '../../src/contracts/storage.ts';
import type { TransactionContext } from '../../src/testing/index.ts';
import { writeConditionally } from '../../src/testing/contract/transactions/conditional-writes.ts';
import { formatAttributes } from '../../src/core/objects/stored.ts';
import type { PageQuery, Selection } from '../../src/core/query/ast.ts';
import { attributes } from '../core/query/arbitraries.ts';
import { holdsUnstorable, orHostile } from './hostile-texts.ts';
import { anyQuery, ids, keysOfText, lists, parents, timestamps } from './queries.ts';
import type {
  ExpectedObjects,
  ListKey,
  PermissionReader,
  PermissionWriter,
  StorageReader,
  StorageWriter,
} from '../../src/testing/contract/plain-contracts.ts';

/** One call of the contract, as a function of the reader or writer, with a name for the report of a failure. */
export interface Call<Target> {
  readonly name: string;
  /** Whether it may be refused, because an argument contains a text that no backend can store. */
  readonly isUnstorable: boolean;
  run(target: Target): Promise<unknown>;
}

export interface Readers {
  readonly storage: StorageReader;
  readonly permission: PermissionReader;
}

export interface Writers extends Readers {
  readonly storage: StorageWriter;
  readonly permission: PermissionWriter;
}

export type Stores = Omit<TransactionContext, 'clock'>;

export interface Step {
  /** Announced when the unit begins, which must not change any result. */
  readonly expected: readonly ExpectedObjects[];
  readonly writes: readonly Call<Writers>[];
  readonly end: 'commit' | 'rollback';
  /** Milliseconds that the clock moves before, sometimes backwards. */
  readonly advance: number;
  /** Conditional writes after that. */
  readonly alone: readonly Call<Stores>[];
  /** Reads afterwards, outside any unit of work. */
  readonly reads: readonly Call<Readers>[];
}

/** Returns a history that begins at the given time. */
export function anyHistory(start: number): fc.Arbitrary<readonly Step[]> {
  const expected = fc.record({
    list: lists,
    ids: fc.array(ids, { maxLength: 4, size: 'max' }),
    uris: fc.array(objectIds, { maxLength: 4, size: 'max' }),
  });
  const step = fc.record({
    expected: fc.array(expected, { maxLength: 3, size: 'max' }),
    writes: fc.array(anyWrite(start), { maxLength: 12, size: 'max' }),
    end: fc.constantFrom('commit', 'commit', 'commit', 'rollback'),
    advance: fc.constantFrom(0, 0, 1, 5, -3),
    alone: fc.array(anyLoneWrite(), { maxLength: 2, size: 'max' }),
    reads: fc.array(anyRead(start), { maxLength: 6, size: 'max' }),
  });
  return fc.array(step, { minLength: 1, maxLength: 10, size: 'max' });
}

const uris = orHostile(
  fc.constantFrom('/buckets/a_b', '/buckets/a_b/collections/c', '/buckets/axb', '/buckets/%', '/buckets', ''),
  '/buckets/?',
  '/buckets/a_b/collections/?',
  '?',
);
const objectIds = orHostile(
  fc.constantFrom(
    '/buckets/a_b',
    '/buckets/axb',
    '/buckets/a_b/collections/c',
    '/buckets/a_b/collections/c/records/a',
    '/buckets/a_b/collections/c/records/b',
    '/buckets/axb/collections/c/records/a',
    '/buckets/a_b2/collections/c',
  ),
  '/buckets/?',
  '/buckets/a_b/collections/?',
  '/buckets/?/collections/c/records/a',
  '/buckets/a_b/collections/c/records/?',
);
const permissions = orHostile(fc.constantFrom('read', 'write', 'record:create', '__proto__'));
const principals = orHostile(
  fc.constantFrom('zoe', 'tom', 'system.Authenticated', '/buckets/a_b/groups/g', '/buckets/axb/groups/g', 'z%'),
  '?',
  'z?',
  '/buckets/?/groups/g',
  '/buckets/a_b/groups/?',
);
const prefixes = orHostile(
  fc.constantFrom('/buckets/a_b/groups/', '/buckets/', 'z', 'z_', '%'),
  '?',
  '/buckets/?/groups/',
);
const patterns: fc.Arbitrary<readonly BoundPattern[]> = fc.array(
  fc.record({
    pattern: orHostile(
      fc.constantFrom(
        '*',
        '/buckets/*',
        '/buckets/a_b/collections/*',
        '/buckets/a_b/collections/c/records/*',
        '/buckets/a_b',
        '/*/*/*/c',
      ),
      '?',
      '/buckets/?',
      '/buckets/?/collections/*',
    ),
    permission: permissions,
  }),
  { maxLength: 3, size: 'max' },
);
const bound = fc.array(fc.record({ objectId: objectIds, permission: permissions }), { maxLength: 5, size: 'max' });
const some = fc.array(principals, { maxLength: 3, size: 'max' });
const entryLists = fc
  .uniqueArray(fc.tuple(permissions, some), { maxLength: 3, size: 'max', selector: ([name]) => name })
  .map((entries) => Object.fromEntries(entries));

/** Every call that reads. */
function anyRead(start: number): fc.Arbitrary<Call<Readers>> {
  const query = anyQuery(start);
  const names = fc.option(fc.array(permissions, { maxLength: 2, size: 'max' }), { nil: undefined });
  const member = fc.option(principals, { nil: undefined });
  const access = fc.record({ bound: patterns, withChildren: fc.boolean(), memberOf: principals }, { requiredKeys: [] });
  return weighted<Readers>(
    [12, call('listAll', fc.tuple(lists, query), ({ storage }: Readers, ...args) => listBoth(storage, ...args))],
    [12, call('listText', fc.tuple(lists, query), ({ storage }: Readers, ...args) => storage.listText(...args))],
    [3, call('countAll', fc.tuple(lists, query), ({ storage }: Readers, ...args) => countBoth(storage, ...args))],
    [2, call('get', fc.tuple(lists, ids), ({ storage }: Readers, ...args) => storage.get(...args))],
    [1, call('resourceTimestamp', fc.tuple(lists), ({ storage }: Readers, list) => storage.resourceTimestamp(list))],
    [
      1,
      call(
        'clocks',
        fc.tuple(fc.array(lists, { maxLength: 4 })),
        async ({ storage }: Readers, asked) => (await storage.clocks(asked)).clocks,
      ),
    ],
    [1, call('countKinds', fc.tuple(), async ({ storage }: Readers) => presentKinds(await storage.countKinds()))],
    [1, call('listParents', fc.tuple(), ({ storage }: Readers) => storage.listParents('record'))],
    [
      1,
      call('getUserPrincipals', fc.tuple(principals), ({ permission }: Readers, user) =>
        permission.getUserPrincipals(user),
      ),
    ],
    [
      1,
      call('getAuthorizedPrincipals', fc.tuple(bound), ({ permission }: Readers, entries) =>
        permission.getAuthorizedPrincipals(entries),
      ),
    ],
    [
      2,
      call('checkPermission', fc.tuple(some, bound, member), ({ permission }: Readers, ...args) =>
        permission.checkPermission(...args),
      ),
    ],
    [
      3,
      call('getAccessibleObjects', fc.tuple(some, access), ({ permission }: Readers, ...args) =>
        permission.getAccessibleObjects(...args),
      ),
    ],
    [
      2,
      call(
        'getObjectsPermissions',
        fc.tuple(fc.array(objectIds, { maxLength: 4, size: 'max' }), names),
        ({ permission }: Readers, ...args) => permission.getObjectsPermissions(...args),
      ),
    ],
  );
}

/** Every call that writes, and reads inside the unit of work. */
function anyWrite(start: number): fc.Arbitrary<Call<Writers>> {
  return fc.oneof(
    { weight: 4, arbitrary: anyStorageWrite(start) },
    { weight: 2, arbitrary: anyPermissionWrite() },
    { weight: 1, arbitrary: anyRead(start) },
  );
}

/** A conditional write, which expects the present state, or no object, or another state. */
function anyLoneWrite(): fc.Arbitrary<Call<Stores>> {
  const holder = fc.option(fc.record({ list: lists, id: ids }), { nil: undefined, freq: 2 });
  const text = fc.option(attributes.map(formatAttributes), { nil: undefined, freq: 4 });
  const uri = fc.option(objectIds, { nil: undefined });
  const expects = fc.constantFrom('object', 'object', 'nothing', 'another');
  // Backends may refuse a write or do nothing for it, and nothing is rolled back.
  const write = fc
    .record({ list: lists, id: ids, holder, text, uri, entries: entryLists })
    .filter(({ holder: parent, uri: object, entries }) => !holdsUnstorable([parent, object, entries]));
  const args = fc.tuple(write, expects);
  return call('writeConditionally', args, async (stores: Stores, given, expected) => {
    const object = await stores.storage.reader.get(given.list, given.id);
    const another = { lastModified: object?.lastModified ?? 1, text: '{"another":1}' };
    const objects = { object, nothing: undefined, another };
    const keys = given.text === undefined ? undefined : keysOfText(given.text);
    return writeConditionally(stores, { ...given, keys, expected: objects[expected] });
  });
}

function anyStorageWrite(start: number): fc.Arbitrary<Call<Writers>> {
  const query = anyQuery(start);
  const selection = query.map(({ filters, ids: named }): Selection => ({ filters, ids: named }));
  const time = fc.option(timestamps(start), { nil: undefined, freq: 3 });
  const written = fc.tuple(lists, ids, attributes.map(formatAttributes), time);
  const deletion = fc.record({ lastModified: time, keepTombstone: fc.boolean() }, { requiredKeys: ['lastModified'] });
  const purge = fc.oneof(
    fc.record(
      {
        kind: fc.constantFrom('record', 'group'),
        parent: orHostile(fc.constantFrom(...parents), '/buckets/?'),
        before: timestamps(start),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      { kind: fc.constant('record'), maxRetained: fc.integer({ min: 0, max: 3 }) },
      { requiredKeys: ['maxRetained'] },
    ),
  );
  const kept = fc.integer({ min: 0, max: 5 });
  return weighted<Writers>(
    [
      16,
      call('create', written, ({ storage }: Writers, list, id, text, lastModified) =>
        storage.create(list, id, text, lastModified, { keys: keysOfText(text) }),
      ),
    ],
    [
      10,
      call('update', written, ({ storage }: Writers, list, id, text, lastModified) =>
        storage.update(list, id, text, lastModified, keysOfText(text)),
      ),
    ],
    [8, call('delete', fc.tuple(lists, ids, deletion), ({ storage }: Writers, ...args) => storage.delete(...args))],
    [2, call('lock', fc.tuple(lists, ids), ({ storage }: Writers, ...args) => storage.lock(...args))],
    [1, call('touch', fc.tuple(lists), ({ storage }: Writers, list) => storage.touch(list))],
    [1, call('deleteAll', fc.tuple(lists, query), ({ storage }: Writers, ...args) => storage.deleteAll(...args))],
    [1, call('deleteChildren', fc.tuple(uris), ({ storage }: Writers, uri) => storage.deleteChildren(uri))],
    [1, call('purgeDeleted', fc.tuple(purge), ({ storage }: Writers, options) => storage.purgeDeleted(options))],
    [
      1,
      call('trimObjects', fc.tuple(lists, selection, kept), ({ storage }: Writers, ...args) =>
        storage.trimObjects(...args),
      ),
    ],
  );
}

function anyPermissionWrite(): fc.Arbitrary<Call<Writers>> {
  const membership = fc.tuple(principals, principals);
  const ace = fc.tuple(objectIds, permissions, principals);
  return weighted<Writers>(
    [8, call('addPrincipalToAce', ace, ({ permission }: Writers, ...args) => permission.addPrincipalToAce(...args))],
    [
      3,
      call(
        'addToAces',
        fc.tuple(fc.array(fc.record({ objectId: objectIds, permissions: entryLists }), { maxLength: 3, size: 'max' })),
        ({ permission }: Writers, entries) => permission.addToAces(entries),
      ),
    ],
    [
      6,
      call('replaceObjectPermissions', fc.tuple(objectIds, entryLists), ({ permission }: Writers, ...args) =>
        permission.replaceObjectPermissions(...args),
      ),
    ],
    [
      4,
      call('addUserPrincipal', membership, ({ permission }: Writers, ...args) => permission.addUserPrincipal(...args)),
    ],
    [
      1,
      call('removeUserPrincipal', membership, ({ permission }: Writers, ...args) =>
        permission.removeUserPrincipal(...args),
      ),
    ],
    [
      1,
      call('removePrincipal', fc.tuple(principals), ({ permission }: Writers, principal) =>
        permission.removePrincipal(principal),
      ),
    ],
    [
      1,
      call('removePrincipalsBelow', fc.tuple(prefixes), ({ permission }: Writers, prefix) =>
        permission.removePrincipalsBelow(prefix),
      ),
    ],
    [
      2,
      call('removePrincipalFromAce', ace, ({ permission }: Writers, ...args) =>
        permission.removePrincipalFromAce(...args),
      ),
    ],
    [
      1,
      call('removePrincipalFromAces', fc.tuple(principals), ({ permission }: Writers, principal) =>
        permission.removePrincipalFromAces(principal),
      ),
    ],
    [
      1,
      call(
        'deleteObjectPermissions',
        fc.tuple(fc.array(objectIds, { maxLength: 2 })),
        ({ permission }: Writers, objects) => permission.deleteObjectPermissions(objects),
      ),
    ],
    [
      1,
      call('deletePermissionsBelow', fc.tuple(uris), ({ permission }: Writers, uri) =>
        permission.deletePermissionsBelow(uri),
      ),
    ],
  );
}

function call<Target, Arguments extends readonly unknown[]>(
  name: string,
  args: fc.Arbitrary<Arguments>,
  run: (target: Target, ...args: Arguments) => Promise<unknown>,
): fc.Arbitrary<Call<Target>> {
  return args.map((given) => ({
    name: `${name} ${fc.stringify(given)}`,
    isUnstorable: holdsUnstorable(given),
    run: (target) => run(target, ...given),
  }));
}

function weighted<Target>(
  ...rows: readonly (readonly [number, fc.Arbitrary<Call<Target>>])[]
): fc.Arbitrary<Call<Target>> {
  return fc.oneof(...rows.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Lists with and without declared indexes, which has to return the same. */
async function listBoth(storage: StorageReader, list: ListKey, query: PageQuery): Promise<Page> {
  const indexed = await storage.listAll(list, query);
  const scanned = await storage.listAll(list, { ...query, indexes: undefined });
  expect(indexed).toEqual(scanned);
  return indexed;
}

async function countBoth(storage: StorageReader, list: ListKey, selection: Selection): Promise<number> {
  const indexed = await storage.countAll(list, selection);
  expect(indexed).toBe(await storage.countAll(list, { ...selection, indexes: undefined }));
  return indexed;
}

/** A kind without objects may be reported or not. */
function presentKinds(counts: Awaited<ReturnType<StorageReader['countKinds']>>): Record<string, unknown> {
  return Object.fromEntries([...counts].filter(([, { objects, tombstones }]) => objects + tombstones > 0));
}
