// Cases about conditional writes, which wait, check and count as a unit of work does. For a database without them, the
// cases use a transaction that does the same, which defines their behaviour.
import assert from 'node:assert/strict';
import { IntegrityError, TransactionConflict } from '../../../contracts/errors.ts';
import { isSameObject } from '../../../core/objects/stored.ts';
import type { TransactionCase, TransactionContext } from '../contract-case.ts';
import { requireRefusal, unstorableTexts } from '../hostile-text.ts';
import { pageQuery, records } from '../storage/storage-probe.ts';
import { inUnitOf } from '../unit-of-work.ts';
import type { ConditionalWrite, ListKey, ObjectPermissions } from '../plain-contracts.ts';

const collections: ListKey = { kind: 'collection', parent: '/buckets/food' };
const holder = { list: collections, id: 'fruits' };

type Stores = Pick<TransactionContext, 'database' | 'storage' | 'permission'>;

/** Does a conditional write, or a transaction that does the same. */
export function writeConditionally(stores: Stores, write: ConditionalWrite): Promise<number | undefined> {
  const { database } = stores;
  return database.writeConditionally === undefined ? writeInUnit(stores, write) : database.writeConditionally(write);
}

function writeInUnit(stores: Stores, write: ConditionalWrite): Promise<number | undefined> {
  const { list, id, expected, text, lastModified, keys, uri, entries } = write;
  return inUnitOf(stores, async ({ storage, permission }) => {
    if (write.holder !== undefined) {
      const held = await storage.lockShared(write.holder.list, write.holder.id, list);
      if (held === undefined || (write.holder.lastModified ?? held.lastModified) !== held.lastModified) return;
    }
    const { object, timestamp } = await storage.lock(list, id);
    if (!isSameObject(object, expected) || (lastModified ?? Infinity) <= (timestamp ?? 0)) return;
    if (text === undefined) {
      if (object === undefined) return;
      if (uri !== undefined) await permission.deleteObjectPermissions([uri]);
      return (await storage.delete(list, id, { lastModified }))?.tombstone.lastModified;
    }
    if (uri !== undefined) await permission.replaceObjectPermissions(uri, entries);
    return (await storage.update(list, id, text, lastModified, keys)).lastModified;
  });
}

/** Returns a write of a record that does not exist. */
function newRecord(id: string, change: Partial<ConditionalWrite> = {}): ConditionalWrite {
  const uri = `${records.parent}/records/${id}`;
  const entries = { write: ['acme:zoe'] };
  return { list: records, id, holder, expected: undefined, text: '{"n":1}', uri, entries, ...change };
}

/** Returns the record as it was read. */
function asRead(lastModified: number): ConditionalWrite['expected'] {
  return { lastModified, text: '{"n":1}' };
}

async function seed(context: TransactionContext): Promise<void> {
  await inUnitOf(context, ({ storage }) => storage.create(collections, 'fruits', '{}'));
}

async function required(context: TransactionContext, write: ConditionalWrite): Promise<number> {
  const timestamp = await writeConditionally(context, write);
  assert.ok(timestamp !== undefined, 'nothing was written');
  return timestamp;
}

/** Returns the contents of the list: ids with timestamps and texts, the clock, and the counts. */
async function stateOf({ storage, permission }: TransactionContext): Promise<unknown> {
  const page = await storage.reader.listAll(records, pageQuery({ includeDeleted: true }));
  const entries = page.entries.map((entry) => [entry.id, entry.lastModified, 'text' in entry ? entry.text : undefined]);
  const uris = page.entries.map(({ id }) => `${records.parent}/records/${id}`);
  return {
    entries,
    clock: page.timestamp,
    count: await storage.reader.countAll(records, { filters: [] }),
    countWithTombstones: await storage.reader.countAll(records, { filters: [], includeDeleted: true }),
    permissions: await permission.reader.getObjectsPermissions(uris),
  };
}

/** Returns entries in a fixed order. */
function sorted(permissions: ObjectPermissions): readonly unknown[] {
  const entries = Object.entries(permissions).map(([name, principals]) => [name, principals.toSorted()]);
  return entries.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

type Body = (context: TransactionContext) => Promise<void>;

function conditionalCase(name: string, body: Body): TransactionCase {
  return {
    name: `a conditional write ${name}`,
    run: async (context) => {
      await seed(context);
      await body(context);
    },
  };
}

/** Returns the timestamp of a write; `undefined` when it, or the transaction in its place, was refused. */
async function unlessRefused(writing: Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await writing;
  } catch (error) {
    if (error instanceof IntegrityError) return undefined;
    throw error;
  }
}

/** Writes that leave the state after the first record unchanged. */
const refused: readonly (readonly [string, (first: number) => ConditionalWrite])[] = [
  ['of a new object does nothing when the id is taken', () => newRecord('x', { text: '{}' })],
  ['of a change does nothing when the object has changed', (first) => newRecord('x', { expected: asRead(first - 1) })],
  [
    'of a change does nothing where another object has the same timestamp',
    (first) => newRecord('x', { expected: { lastModified: first, text: '{"n":2}' } }),
  ],
  ['of a change does nothing when the object is absent', (first) => newRecord('y', { expected: asRead(first) })],
  [
    'of a deletion does nothing where nothing is',
    (first) => newRecord('y', { expected: asRead(first), text: undefined }),
  ],
  [
    'of a deletion does nothing after a change',
    (first) => newRecord('x', { expected: asRead(first - 1), text: undefined }),
  ],
  ['does nothing without the object above', () => newRecord('y', { holder: { list: collections, id: 'none' } })],
  ['does nothing with a timestamp of the past', (first) => newRecord('y', { lastModified: first })],
];

/** Conditional writes. */
export const conditionalWriteCases: readonly TransactionCase[] = [
  conditionalCase('stores a new object with its entries', async (context) => {
    const { clock } = context;
    const first = await required(context, newRecord('x'));
    const second = await required(
      context,
      newRecord('y', { isFresh: true, entries: { read: ['a', 'b'], write: ['c'] } }),
    );
    assert.deepEqual([first, second], [clock.now(), clock.now() + 1]);
    assert.deepEqual((await context.storage.reader.get(records, 'x'))?.text, '{"n":1}');
    const uris = ['x', 'y'].map((id) => `${records.parent}/records/${id}`);
    const [x, y] = await context.permission.reader.getObjectsPermissions(uris);
    assert.deepEqual([x, y?.['read']?.toSorted(), y?.['write']], [{ write: ['acme:zoe'] }, ['a', 'b'], ['c']]);
    assert.equal(await context.storage.reader.countAll(records, { filters: [] }), 2);
  }),
  conditionalCase('changes an object and leaves its entries alone', async (context) => {
    const expected = asRead(await required(context, newRecord('x', { entries: { read: ['a'], write: ['b'] } })));
    context.clock.advance(10);
    const change = newRecord('x', { expected, text: '{"n":2}', entries: {} });
    assert.equal(await writeConditionally(context, change), context.clock.now());
    assert.equal((await context.storage.reader.get(records, 'x'))?.text, '{"n":2}');
    const permissions = await context.permission.reader.getObjectPermissions(`${records.parent}/records/x`);
    assert.deepEqual(permissions, { read: ['a'], write: ['b'] });
  }),
  conditionalCase(
    'deletes an object with its entries and leaves a tombstone, which a new object replaces',
    async (context) => {
      const expected = asRead(await required(context, newRecord('x')));
      const deleted = await required(context, newRecord('x', { expected, text: undefined, entries: {} }));
      assert.deepEqual(await stateOf(context), {
        entries: [['x', deleted, undefined]],
        clock: deleted,
        count: 0,
        countWithTombstones: 1,
        permissions: [{}],
      });
      const again = await required(context, newRecord('x', { entries: {} }));
      assert.deepEqual(await stateOf(context), {
        entries: [['x', again, '{"n":1}']],
        clock: again,
        count: 1,
        countWithTombstones: 1,
        permissions: [{}],
      });
    },
  ),
  conditionalCase('moves the clock of the list, to a given timestamp too', async (context) => {
    const ahead = context.clock.now() + 1_000_000;
    assert.equal(await writeConditionally(context, newRecord('x', { lastModified: ahead })), ahead);
    assert.equal(await writeConditionally(context, newRecord('y')), ahead + 1);
    assert.equal(await context.storage.reader.resourceTimestamp(records), ahead + 1);
  }),
  conditionalCase(
    'keeps no entries of objects that have none, and needs no object above lists at the root',
    async (context) => {
      const list = { kind: 'note', parent: 'acme:zoe' };
      const write = { list, id: 'n', holder: undefined, expected: undefined, text: '{}', uri: undefined, entries: {} };
      const timestamp = await required(context, write);
      assert.equal((await context.storage.reader.get(list, 'n'))?.lastModified, timestamp);
    },
  ),
  ...refused.map(([name, write]) =>
    conditionalCase(name, async (context) => {
      const first = await required(context, newRecord('x'));
      const before = await stateOf(context);
      assert.equal(await writeConditionally(context, write(first)), undefined);
      assert.deepEqual(await stateOf(context), before);
    }),
  ),
  ...(
    [
      ['of a new object that asks for the last timestamp', (first) => newRecord('y', { lastModified: first })],
      ['of a new object under a new random id', () => newRecord('y', { isFresh: true })],
      ['of a new object', () => newRecord('y')],
      ['of a change', (first) => newRecord('x', { expected: asRead(first), text: '{"n":2}', entries: {} })],
      ['of a deletion', (first) => newRecord('x', { expected: asRead(first), text: undefined, entries: {} })],
    ] as const satisfies typeof refused
  ).map(([name, write]) =>
    conditionalCase(`${name} does nothing when the list has no timestamps left`, async (context) => {
      const last = await required(context, newRecord('x', { lastModified: Number.MAX_SAFE_INTEGER }));
      const before = await stateOf(context);
      assert.equal(await unlessRefused(writeConditionally(context, write(last))), undefined);
      assert.deepEqual(await stateOf(context), before);
    }),
  ),
  conditionalCase('gets no duplicate timestamp when its list has too few left for all', async (context) => {
    const first = await required(context, newRecord('x', { lastModified: Number.MAX_SAFE_INTEGER - 2 }));
    const writes = ['a', 'b', 'c', 'd'].map((id) => newRecord(id, { isFresh: true }));
    const given = await Promise.all(writes.map((write) => unlessRefused(writeConditionally(context, write))));
    const stamps = given.filter((stamp) => stamp !== undefined).toSorted((a, b) => a - b);
    assert.ok(stamps.length <= 2);
    assert.deepEqual(
      stamps,
      stamps.map((_, index) => first + 1 + index),
    );
    assert.equal(await context.storage.reader.countAll(records, { filters: [] }), 1 + stamps.length);
    assert.equal(await context.storage.reader.resourceTimestamp(records), first + stamps.length);
  }),
  conditionalCase('gets a timestamp of its own among many others of its list', async (context) => {
    const ids = Array.from({ length: 60 }, (_, n) => `r${n}`);
    const stamps = await Promise.all(ids.map((id) => required(context, newRecord(id))));
    assert.equal(new Set(stamps).size, ids.length);
    assert.equal(await context.storage.reader.countAll(records, { filters: [] }), ids.length);
    assert.equal(await context.storage.reader.resourceTimestamp(records), Math.max(...stamps));
  }),
  conditionalCase('of a change wins alone among concurrent changes of the object', async (context) => {
    const expected = asRead(await required(context, newRecord('x')));
    const changes = Array.from({ length: 10 }, (_, n) => newRecord('x', { expected, text: `{"n":${n}}`, entries: {} }));
    const stamps = await Promise.all(changes.map((change) => writeConditionally(context, change)));
    const winners = changes.filter((_, index) => stamps[index] !== undefined);
    assert.deepEqual([winners.length, (await context.storage.reader.get(records, 'x'))?.text], [1, winners[0]?.text]);
  }),
  conditionalCase('of a new random id has the same effect together with others, in their order', async (context) => {
    const changed = asRead(await required(context, newRecord('x', { entries: {} })));
    const lists = ['a', 'b'].map((name) => ({ kind: 'record', parent: `/buckets/food/collections/fruits-${name}` }));
    const unknown = { list: collections, id: 'none' };
    const fresh = (list: ListKey, id: string, change: Partial<ConditionalWrite> = {}): ConditionalWrite =>
      newRecord(id, { list, uri: `${list.parent}/records/${id}`, isFresh: true, ...change });
    const writes = [
      fresh(records, 'r0', { text: '{"text":"\\"\\\\ \\n {é} \u{1F600}, NULL","n":1e-20000}' }),
      newRecord('x', { expected: changed, text: '{"n":2}', entries: {} }),
      fresh(lists[0]!, 'r1', { entries: {} }),
      fresh(lists[1]!, 'r2', { holder: unknown }),
      fresh(records, 'r3', { entries: { read: ['a"b\\c', 'long'.repeat(300), 'é\u{1F600}'], write: ['{}'] } }),
      fresh(lists[0]!, 'r4', { entries: { write: ['acme:zoe'], read: ['acme:tom'] } }),
      fresh(lists[1]!, 'r5', { holder: unknown }),
      fresh(lists[0]!, 'r6', { holder: unknown }),
    ];
    const stamps = await Promise.all(writes.map((write) => writeConditionally(context, write)));
    assert.deepEqual(
      stamps.map((stamp) => stamp !== undefined),
      [true, true, true, false, true, true, false, false],
    );
    for (const [index, { list, id, text, uri, entries }] of writes.entries()) {
      const isDone = stamps[index] !== undefined;
      const found = await context.storage.reader.get(list, id);
      assert.deepEqual([found?.lastModified, found?.text], isDone ? [stamps[index], text] : [undefined, undefined]);
      const permissions = await context.permission.reader.getObjectPermissions(uri!);
      assert.deepEqual(sorted(permissions), isDone ? sorted(entries) : []);
    }
    for (const [list, ...given] of [
      [records, stamps[0], stamps[1], stamps[4]] as const,
      [lists[0]!, stamps[2], stamps[5]] as const,
    ]) {
      const all = given.map((stamp) => stamp!);
      assert.equal(new Set(all).size, all.length);
      assert.equal(await context.storage.reader.resourceTimestamp(list), Math.max(...all));
      const live = await context.storage.reader.countAll(list, { filters: [] });
      assert.equal(live, all.length);
    }
  }),
  conditionalCase('refuses a text that cannot be stored, and does not fail others for it', async (context) => {
    const hostile = (text: string): readonly ConditionalWrite[] => [
      newRecord(text),
      newRecord('y', { text: `{"a":"${text}"}` }),
      newRecord('y', { uri: `/${text}` }),
      newRecord('y', { entries: { [text]: ['acme:zoe'] } }),
      newRecord('y', { entries: { read: [text] } }),
      newRecord('y', { list: { kind: 'record', parent: text } }),
    ];
    for (const text of unstorableTexts) {
      for (const [n, write] of hostile(text).entries()) {
        const [own, other] = await Promise.allSettled([
          writeConditionally(context, write),
          writeConditionally(context, newRecord(`z${n}`, { isFresh: true })),
        ]);
        assert.ok(own.status === 'rejected' || own.value === undefined, JSON.stringify([n, text]));
        assert.ok(other.status === 'fulfilled' || other.reason instanceof TransactionConflict);
        await inUnitOf(context, async ({ storage, permission }) => {
          await storage.delete(records, `z${n}`, { keepTombstone: false });
          await permission.deleteObjectPermissions([`${records.parent}/records/z${n}`]);
        });
      }
    }
    await requireRefusal((text) => writeConditionally(context, newRecord(text)));
    assert.equal(await context.storage.reader.countAll(records, { filters: [] }), 0);
    assert.equal((await context.permission.reader.getAccessibleObjects(['acme:zoe'])).size, 0);
  }),
  conditionalCase('waits for a unit of work that has locked the list', async (context) => {
    const { database, storage } = context;
    const transaction = await database.begin();
    const { lastModified } = await storage.writer(transaction).create(records, 'x', '{}');
    const writing = required(context, newRecord('y'));
    await transaction.commit();
    assert.ok((await writing) > lastModified);
  }),
  conditionalCase('never outlives the object above it', async (context) => {
    const writes = Array.from({ length: 10 }, (_, n) => writeConditionally(context, newRecord(`r${n}`)));
    const deleting = inUnitOf(context, async ({ storage, permission }) => {
      await storage.lock(collections, 'fruits');
      await storage.delete(collections, 'fruits');
      await storage.deleteChildren(records.parent);
      await permission.deletePermissionsBelow(records.parent);
    });
    await Promise.all([...writes, deleting]);
    assert.equal(await writeConditionally(context, newRecord('late')), undefined);
    assert.equal(await context.storage.reader.countAll(records, { filters: [], includeDeleted: true }), 0);
    assert.equal((await context.permission.reader.getAccessibleObjects(['acme:zoe'])).size, 0);
  }),
];
