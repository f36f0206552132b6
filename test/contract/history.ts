// Random histories of contract calls, small enough that ids, timestamps and values meet often.
import fc from 'fast-check';
import type { JsonValue } from '../../src/base/json.ts';
import type { BoundPattern, PermissionReader, PermissionWriter } from '../../src/contracts/permission.ts';
import type { StorageReader, StorageWriter } from '../../src/contracts/storage.ts';
import { formatAttributes, type ListKey } from '../../src/core/objects/stored.ts';
import type { Field, Filter, PageQuery, SortKey } from '../../src/core/query/ast.ts';
import { parseField } from '../../src/core/query/fields.ts';
import { attributes, fieldNames, json, jsonOrMissing, totalSort, words } from '../core/query/arbitraries.ts';

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'A', 'é', '__proto__');
const parents = ['', '/buckets/a_b', '/buckets/axb', '/buckets/a_b/collections/c', '/buckets/a_b2/collections/c'];
const lists: fc.Arbitrary<ListKey> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: 'record', parent: '/buckets/a_b/collections/c' }) },
  fc.record({ kind: fc.constantFrom('record', 'group'), parent: fc.constantFrom(...parents) }),
);
const uris = fc.constantFrom('/buckets/a_b', '/buckets/a_b/collections/c', '/buckets/%', '/buckets', '');

/** Timestamps around the time a history begins, most of them taken. */
function timestamps(start: number): fc.Arbitrary<number> {
  return fc.integer({ min: -8, max: 30 }).map((offset) => start + offset);
}

export interface Change {
  readonly id: string;
  /** Absent: a deletion. */
  readonly text: string | undefined;
  readonly lastModified: number | undefined;
}

export function changeOf(start: number): fc.Arbitrary<Change> {
  return fc.record({
    id: ids,
    text: fc.option(attributes.map(formatAttributes), { nil: undefined, freq: 3 }),
    lastModified: fc.option(timestamps(start), { nil: undefined }),
  });
}

const fields: fc.Arbitrary<Field> = fc.constantFrom(...fieldNames, 'id', 'deleted', 'o.k.a', 'id.x').map(parseField);
const timeField = parseField('last_modified');

/** Filters on any field with any value. */
export function anyFilter(start: number): fc.Arbitrary<Filter> {
  const ordered = fc.constantFrom('eq', 'not', 'lt', 'max', 'gt', 'min');
  const values = fc.array(json, { maxLength: 3 });
  const parts = fc.array(
    fc.constantFrom(...words, '').map((word) => word.toLowerCase()),
    { minLength: 2, maxLength: 4 },
  );
  return fc.oneof(
    fc.record({ field: fields, operator: ordered, value: json }),
    fc.record({
      field: fc.constant(timeField),
      operator: ordered,
      value: fc.oneof({ weight: 4, arbitrary: timestamps(start) }, json),
    }),
    fc.record({ field: fc.constant(parseField('id')), operator: ordered, value: ids }),
    fc.record({ field: fields, operator: fc.constantFrom('in', 'exclude'), values }),
    fc.record({
      field: fc.constantFrom(timeField, parseField('id')),
      operator: fc.constantFrom('in', 'exclude'),
      values: fc.array(fc.oneof(timestamps(start), ids) as fc.Arbitrary<JsonValue>, { maxLength: 3 }),
    }),
    fc.record({ field: fields, operator: fc.constant('like'), parts }),
    fc.record({ field: fields, operator: fc.constant('has'), present: fc.boolean() }),
    fc.record({ field: fields, operator: fc.constantFrom('contains', 'contains_any'), values }),
  );
}

/** A place to continue after: most often one that fits the sort. */
function positions(start: number, sort: readonly SortKey[]): fc.Arbitrary<readonly (JsonValue | undefined)[]> {
  return fc.tuple(
    ...sort.map(({ field }): fc.Arbitrary<JsonValue | undefined> => {
      if (field.name === 'last_modified') return timestamps(start);
      return field.name === 'id' ? ids : jsonOrMissing;
    }),
  );
}

export function anyQuery(start: number): fc.Arbitrary<PageQuery> {
  return totalSort.chain((sort) =>
    fc.record(
      {
        sort: fc.constant(sort),
        filters: fc.array(anyFilter(start), { maxLength: 2 }),
        limit: fc.constantFrom(1, 2, 3, 100),
        includeDeleted: fc.boolean(),
        ids: fc.array(ids, { maxLength: 4 }),
        after: positions(start, sort),
      },
      { requiredKeys: ['sort', 'filters', 'limit'] },
    ),
  );
}

/** One call of the contract, as a function of the reader or writer; named for the report of a failure. */
export interface Call<Target> {
  readonly name: string;
  run(target: Target): Promise<unknown>;
}

export interface Writers {
  readonly storage: StorageWriter;
  readonly permission: PermissionWriter;
}

export interface Readers {
  readonly storage: StorageReader;
  readonly permission: PermissionReader;
}

const objectIds = fc.constantFrom(
  '/buckets/a_b',
  '/buckets/axb',
  '/buckets/a_b/collections/c',
  '/buckets/a_b/collections/c/records/a',
  '/buckets/a_b/collections/c/records/b',
  '/buckets/axb/collections/c/records/a',
  '/buckets/a_b2/collections/c',
);
const permissions = fc.constantFrom('read', 'write', 'record:create', '__proto__');
const principals = fc.constantFrom(
  'zoe',
  'tom',
  'system.Authenticated',
  '/buckets/a_b/groups/g',
  '/buckets/axb/groups/g',
  'z%',
);
const prefixes = fc.constantFrom('/buckets/a_b/groups/', '/buckets/', 'z', 'z_', '%');
const patterns: fc.Arbitrary<readonly BoundPattern[]> = fc.array(
  fc.record({
    pattern: fc.constantFrom(
      '*',
      '/buckets/*',
      '/buckets/a_b/collections/*',
      '/buckets/a_b/collections/c/records/*',
      '/buckets/a_b',
      '/*/*/*/c',
    ),
    permission: permissions,
  }),
  { maxLength: 3 },
);
const entryLists = fc
  .uniqueArray(fc.tuple(permissions, fc.array(principals, { maxLength: 3 })), {
    maxLength: 3,
    selector: ([name]) => name,
  })
  .map((entries) => Object.fromEntries(entries));
const bound = fc.array(fc.record({ objectId: objectIds, permission: permissions }), { maxLength: 3 });

function call<Target, Arguments extends readonly unknown[]>(
  name: string,
  args: fc.Arbitrary<Arguments>,
  run: (target: Target, ...args: Arguments) => Promise<unknown>,
): fc.Arbitrary<Call<Target>> {
  return args.map((given) => ({ name: `${name} ${fc.stringify(given)}`, run: (target) => run(target, ...given) }));
}

/** Every call that reads. */
export function anyRead(start: number): fc.Arbitrary<Call<Readers>> {
  const query = anyQuery(start);
  const names = fc.option(fc.array(permissions, { maxLength: 2 }), { nil: undefined });
  return fc.oneof(
    call('get', fc.tuple(lists, ids), ({ storage }: Readers, list, id) => storage.get(list, id)),
    {
      weight: 6,
      arbitrary: call('listAll', fc.tuple(lists, query), ({ storage }: Readers, list, q) => storage.listAll(list, q)),
    },
    {
      weight: 2,
      arbitrary: call('countAll', fc.tuple(lists, query), ({ storage }: Readers, list, q) => storage.countAll(list, q)),
    },
    call('resourceTimestamp', fc.tuple(lists), ({ storage }: Readers, list) => storage.resourceTimestamp(list)),
    call('allResourceTimestamps', fc.tuple(), ({ storage }: Readers) => storage.allResourceTimestamps('record')),
    call('listParents', fc.tuple(), async ({ storage }: Readers) => new Set(await storage.listParents('record'))),
    call('getUserPrincipals', fc.tuple(principals), ({ permission }: Readers, user) =>
      permission.getUserPrincipals(user),
    ),
    call('getObjectPermissionPrincipals', fc.tuple(objectIds, permissions), ({ permission }: Readers, id, name) =>
      permission.getObjectPermissionPrincipals(id, name),
    ),
    call('getAuthorizedPrincipals', fc.tuple(bound), ({ permission }: Readers, entries) =>
      permission.getAuthorizedPrincipals(entries),
    ),
    call(
      'checkPermission',
      fc.tuple(fc.array(principals, { maxLength: 3 }), bound),
      ({ permission }: Readers, who, entries) => permission.checkPermission(who, entries),
    ),
    {
      weight: 3,
      arbitrary: call(
        'getAccessibleObjects',
        fc.tuple(
          fc.array(principals, { maxLength: 3 }),
          fc.record({ bound: patterns, withChildren: fc.boolean() }, { requiredKeys: [] }),
        ),
        ({ permission }: Readers, who, options) => permission.getAccessibleObjects(who, options),
      ),
    },
    call(
      'getObjectsPermissions',
      fc.tuple(fc.array(objectIds, { maxLength: 4 }), names),
      ({ permission }: Readers, all, some) => permission.getObjectsPermissions(all, some),
    ),
  );
}

/** Every call that writes, and reads inside the unit of work. */
export function anyWrite(start: number): fc.Arbitrary<Call<Writers>> {
  const query = anyQuery(start);
  const time = fc.option(timestamps(start), { nil: undefined });
  const text = attributes.map(formatAttributes);
  const deletion = fc.record({ lastModified: time, keepTombstone: fc.boolean() }, { requiredKeys: ['lastModified'] });
  const purge = fc.oneof(
    fc.record(
      { kind: fc.constantFrom('record', 'group'), parent: fc.constantFrom(...parents), before: timestamps(start) },
      { requiredKeys: [] },
    ),
    fc.record(
      { kind: fc.constant('record'), maxRetained: fc.integer({ min: 0, max: 3 }) },
      { requiredKeys: ['maxRetained'] },
    ),
  );
  return fc.oneof(
    { weight: 4, arbitrary: anyRead(start) },
    call('lock', fc.tuple(lists, ids), ({ storage }: Writers, list, id) => storage.lock(list, id)),
    call('touch', fc.tuple(lists), ({ storage }: Writers, list) => storage.touch(list)),
    {
      weight: 5,
      arbitrary: call('create', fc.tuple(lists, ids, text, time), ({ storage }: Writers, ...args) =>
        storage.create(...args),
      ),
    },
    {
      weight: 4,
      arbitrary: call('update', fc.tuple(lists, ids, text, time), ({ storage }: Writers, ...args) =>
        storage.update(...args),
      ),
    },
    {
      weight: 4,
      arbitrary: call('delete', fc.tuple(lists, ids, deletion), ({ storage }: Writers, ...args) =>
        storage.delete(...args),
      ),
    },
    call('deleteAll', fc.tuple(lists, query), ({ storage }: Writers, list, q) => storage.deleteAll(list, q)),
    call('deleteChildren', fc.tuple(uris), ({ storage }: Writers, uri) => storage.deleteChildren(uri)),
    call('purgeDeleted', fc.tuple(purge), ({ storage }: Writers, options) => storage.purgeDeleted(options)),
    call('trimObjects', fc.tuple(lists, query, fc.integer({ min: 0, max: 3 })), ({ storage }: Writers, ...args) =>
      storage.trimObjects(...args),
    ),
    call('addUserPrincipal', fc.tuple(principals, principals), ({ permission }: Writers, ...args) =>
      permission.addUserPrincipal(...args),
    ),
    call('removeUserPrincipal', fc.tuple(principals, principals), ({ permission }: Writers, ...args) =>
      permission.removeUserPrincipal(...args),
    ),
    call('removePrincipal', fc.tuple(principals), ({ permission }: Writers, principal) =>
      permission.removePrincipal(principal),
    ),
    call('removePrincipalsBelow', fc.tuple(prefixes), ({ permission }: Writers, prefix) =>
      permission.removePrincipalsBelow(prefix),
    ),
    {
      weight: 3,
      arbitrary: call(
        'addPrincipalToAce',
        fc.tuple(objectIds, permissions, principals),
        ({ permission }: Writers, ...args) => permission.addPrincipalToAce(...args),
      ),
    },
    call('removePrincipalFromAce', fc.tuple(objectIds, permissions, principals), ({ permission }: Writers, ...args) =>
      permission.removePrincipalFromAce(...args),
    ),
    call('removePrincipalFromAces', fc.tuple(principals), ({ permission }: Writers, principal) =>
      permission.removePrincipalFromAces(principal),
    ),
    {
      weight: 2,
      arbitrary: call(
        'replaceObjectPermissions',
        fc.tuple(objectIds, entryLists),
        ({ permission }: Writers, id, entries) => permission.replaceObjectPermissions(id, entries),
      ),
    },
    call('deleteObjectPermissions', fc.tuple(fc.array(objectIds, { maxLength: 2 })), ({ permission }: Writers, all) =>
      permission.deleteObjectPermissions(all),
    ),
    call('deletePermissionsBelow', fc.tuple(uris), ({ permission }: Writers, uri) =>
      permission.deletePermissionsBelow(uri),
    ),
  );
}

export interface Step {
  readonly writes: readonly Call<Writers>[];
  readonly end: 'commit' | 'rollback';
  /** How far the clock moves before, backwards at times. */
  readonly advance: number;
  /** What is asked afterwards, outside any unit of work. */
  readonly reads: readonly Call<Readers>[];
}

export function anyStep(start: number): fc.Arbitrary<Step> {
  return fc.record({
    writes: fc.array(anyWrite(start), { maxLength: 6 }),
    end: fc.constantFrom('commit', 'commit', 'rollback'),
    advance: fc.constantFrom(0, 0, 1, 5, -3),
    reads: fc.array(anyRead(start), { maxLength: 4 }),
  });
}
