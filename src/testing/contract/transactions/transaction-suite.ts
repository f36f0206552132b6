// The contract of a database whose storage and permissions share transactions: all or nothing, invisible until the commit,
// and one after another when they lock the same list.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { IntegrityError } from '../../../contracts/errors.ts';
import type { Ability, TransactionCase, TransactionContext } from '../contract-case.ts';
import { callOrderCases } from './call-order.ts';
import { objectAboveCases } from './object-above.ts';
import { sharedLockCases } from './shared-locks.ts';
import { conditionalWriteCases } from './conditional-writes.ts';
import { severalParentsCases } from './several-parents.ts';
import { marks, pageQuery, records, sortKeys } from '../storage/storage-probe.ts';
import { inRolledBackUnit, inUnitOf as unit, type Writers } from '../unit-of-work.ts';
import type { ListKey, ObjectPermissions } from '../plain-contracts.ts';

const groups: ListKey = { kind: 'group', parent: '/buckets/food' };
const uri = `${records.parent}/records/x`;

/** Returns the whole state of a case, as readers outside any unit of work see it. */
async function snapshot({ storage, permission }: TransactionContext): Promise<unknown> {
  const lists = await Promise.all(
    [records, groups].map(async (list) => {
      const page = await storage.reader.listAll(list, pageQuery({ includeDeleted: true }));
      const entries = page.entries.map((entry) => [entry.id, entry.lastModified, 'text' in entry && entry.text]);
      return [entries, page.timestamp, await storage.reader.countAll(list, { filters: [] })];
    }),
  );
  return {
    lists,
    clocks: (await storage.reader.lists(undefined, 100)).map(({ kind, parent, timestamp }) => [
      kind,
      parent,
      timestamp,
    ]),
    parents: await storage.reader.listParents('record'),
    entries: await permission.reader.getObjectsPermissions([uri, '/buckets/food']).then(sorted),
    user: [...(await permission.reader.getUserPrincipals('acme:zoe'))].toSorted(),
    accessible: [...(await permission.reader.getAccessibleObjects(['acme:zoe']))]
      .map(([objectId, names]) => [objectId, [...names].toSorted()] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
}

function sorted(entries: readonly ObjectPermissions[]): unknown {
  return entries.map(
    (entry) => new Map(Object.entries(entry).map(([name, principals]) => [name, principals.toSorted()])),
  );
}

/** Two live objects, a tombstone, entries and a membership. */
async function seed(context: TransactionContext): Promise<void> {
  await unit(context, async ({ storage, permission }) => {
    await storage.create(records, 'x', '{"n":1}');
    await storage.create(records, 'y', '{"n":2}');
    await storage.create(records, 'gone', '{}');
    await storage.delete(records, 'gone');
    await storage.create(groups, 'g', '{}');
    await permission.replaceObjectPermissions(uri, { read: ['acme:zoe', 'acme:tom'], write: ['acme:tom'] });
    await permission.replaceObjectPermissions('/buckets/food', { write: ['acme:tom'] });
    await permission.addUserPrincipal('acme:zoe', '/buckets/food/groups/g');
  });
}

/** Every write, each undone by a rollback. */
const writes: readonly (readonly [string, (writers: Writers) => Promise<unknown>])[] = [
  ['a create', ({ storage }) => storage.create(records, 'z', '{}')],
  ['a create over a tombstone', ({ storage }) => storage.create(records, 'gone', '{}')],
  ['a create in a new list', ({ storage }) => storage.create({ kind: 'record', parent: '/new' }, 'x', '{}')],
  ['a create in the future', ({ storage }) => storage.create(records, 'z', '{}', 9_000_000_000_000)],
  ['a create in the past', ({ storage }) => storage.create(records, 'z', '{}', 5)],
  ['an update', ({ storage }) => storage.update(records, 'x', '{"n":9}')],
  ['an update that creates', ({ storage }) => storage.update(records, 'gone', '{"n":9}')],
  ['an update in the past', ({ storage }) => storage.update(records, 'x', '{"n":9}', 5)],
  ['a delete', ({ storage }) => storage.delete(records, 'x')],
  ['a delete without tombstone', ({ storage }) => storage.delete(records, 'x', { keepTombstone: false })],
  ['deleting a list', ({ storage }) => storage.deleteAll(records, pageQuery({}))],
  ['deleting children', ({ storage }) => storage.deleteChildren('/buckets/food')],
  ['purging', ({ storage }) => storage.purgeDeleted()],
  ['trimming', ({ storage }) => storage.trimObjects(records, { filters: [] }, 1)],
  ['touching a new list', ({ storage }) => storage.touch({ kind: 'record', parent: '/new' })],
  ['flushing storage', ({ storage }) => storage.flush()],
  [
    'many writes to one object',
    async ({ storage }) => {
      await storage.update(records, 'x', '{"n":3}');
      await storage.delete(records, 'x');
      await storage.create(records, 'x', '{"n":4}');
      await storage.deleteChildren('/buckets/food');
      await storage.create(records, 'x', '{"n":5}');
      await storage.flush();
      await storage.create(records, 'x', '{"n":6}');
    },
  ],
  ['giving a user a principal', ({ permission }) => permission.addUserPrincipal('acme:zoe', 'new')],
  [
    'taking a principal from a user',
    ({ permission }) => permission.removeUserPrincipal('acme:zoe', '/buckets/food/groups/g'),
  ],
  ['taking a principal from all users', ({ permission }) => permission.removePrincipal('/buckets/food/groups/g')],
  ['taking the principals of a subtree', ({ permission }) => permission.removePrincipalsBelow('/buckets/food/')],
  ['adding to an entry', ({ permission }) => permission.addPrincipalToAce('/buckets/food', 'read', 'acme:zoe')],
  ['removing from an entry', ({ permission }) => permission.removePrincipalFromAce(uri, 'read', 'acme:zoe')],
  ['removing a principal from all entries', ({ permission }) => permission.removePrincipalFromAces('acme:zoe')],
  [
    'replacing entries',
    ({ permission }) => permission.replaceObjectPermissions(uri, { read: [], write: ['acme:zoe'] }),
  ],
  ['deleting entries', ({ permission }) => permission.deleteObjectPermissions([uri])],
  ['deleting the entries of a subtree', ({ permission }) => permission.deletePermissionsBelow('/buckets/food')],
  ['flushing permissions', ({ permission }) => permission.flush()],
];

type Body = (context: TransactionContext) => Promise<void>;

function transactionCase(name: string, run: Body, needs: readonly Ability[] = []): TransactionCase {
  return { name, run, needs };
}

const rollbacks: readonly TransactionCase[] = [
  ...writes.map(([what, write]) =>
    // Proves S-021.
    transactionCase(
      `a rollback undoes ${what}, which may be done again`,
      async (context) => {
        await seed(context);
        context.clock.advance(1000);
        const before = await snapshot(context);
        await inRolledBackUnit(context.database, (transaction) =>
          write({ storage: context.storage.writer(transaction), permission: context.permission.writer(transaction) }),
        );
        assert.deepEqual(await snapshot(context), before);
        await unit(context, write);
        assert.notDeepEqual(await snapshot(context), before);
      },
      ['rollback'],
    ),
  ),
  transactionCase(
    'a rollback undoes everything at once and later units go on from there',
    async (context) => {
      await seed(context);
      const before = await snapshot(context);
      for (const order of [writes, writes.toReversed()]) {
        await inRolledBackUnit(context.database, async (transaction) => {
          const writers = {
            storage: context.storage.writer(transaction),
            permission: context.permission.writer(transaction),
          };
          for (const [, write] of order) await write(writers).catch(() => {});
        });
        assert.deepEqual(await snapshot(context), before);
      }
      const created = await unit(context, ({ storage }) => storage.create(records, 'z', '{}'));
      assert.equal(created.lastModified, context.clock.now() + 4);
    },
    ['rollback'],
  ),
  transactionCase('a refused write does not prevent the commit of earlier writes of its unit', async (context) => {
    await seed(context);
    await unit(context, async ({ storage, permission }) => {
      await storage.create(records, 'z', '{}');
      await permission.addPrincipalToAce(uri, 'read', 'late');
      await assert.rejects(storage.create(records, 'x', '{}'), IntegrityError);
    });
    assert.ok(await context.storage.reader.get(records, 'z'));
    assert.ok(await context.permission.reader.checkPermission(['late'], [{ objectId: uri, permission: 'read' }]));
  }),
  transactionCase('a rollback after the end of a transaction changes nothing', async (context) => {
    const transaction = await context.database.begin();
    await context.storage.writer(transaction).create(records, 'x', '{}');
    await transaction.commit();
    await transaction.rollback();
    assert.ok(await context.storage.reader.get(records, 'x'));
  }),
  transactionCase('an empty unit may be committed or rolled back', async (context) => {
    await (await context.database.begin()).commit();
    await (await context.database.begin()).rollback();
    await seed(context);
  }),
  transactionCase('a transaction that has ended refuses writes', async (context) => {
    for (const end of ['commit', 'rollback'] as const) {
      const transaction = await context.database.begin();
      const writer = context.storage.writer(transaction);
      await transaction[end]();
      await assert.rejects(async () => writer.create(records, 'x', '{}'));
    }
    assert.equal(await context.storage.reader.get(records, 'x'), undefined);
  }),
];

const visibility: readonly TransactionCase[] = [
  transactionCase('a unit sees its own writes', async (context) => {
    await seed(context);
    await unit(context, async ({ storage, permission }) => {
      await storage.update(records, 'x', '{"n":7}');
      await storage.delete(records, 'y');
      await permission.addPrincipalToAce(uri, 'read', 'late');
      await permission.addUserPrincipal('acme:tom', 'late');
      assert.equal((await storage.get(records, 'x'))!.text, '{"n":7}');
      assert.equal(await storage.get(records, 'y'), undefined);
      assert.equal(await storage.countAll(records, { filters: [] }), 1);
      const page = await storage.listAll(records, pageQuery({ includeDeleted: true, sort: sortKeys('id') }));
      assert.deepEqual(marks(page.entries), ['†gone', 'x', '†y']);
      assert.equal(page.timestamp, await storage.resourceTimestamp(records));
      assert.deepEqual(await storage.listParents('record'), [records.parent]);
      assert.ok(await permission.checkPermission(['late'], [{ objectId: uri, permission: 'read' }]));
      assert.deepEqual([...(await permission.getUserPrincipals('acme:tom'))], ['late']);
    });
  }),
  transactionCase('committed writes are visible to all readers at once', async (context) => {
    await unit(context, async ({ storage, permission }) => {
      await storage.create(records, 'x', '{}');
      await permission.addPrincipalToAce(uri, 'write', 'acme:zoe');
    });
    assert.ok(await context.storage.reader.get(records, 'x'));
    assert.ok(await context.permission.reader.checkPermission(['acme:zoe'], [{ objectId: uri, permission: 'write' }]));
  }),
  transactionCase(
    'readers never see writes that are rolled back',
    async (context) => {
      await seed(context);
      const before = await snapshot(context);
      const transaction = await context.database.begin();
      const storage = context.storage.writer(transaction);
      const permission = context.permission.writer(transaction);
      await storage.update(records, 'x', '{"n":9}');
      await permission.addPrincipalToAce(uri, 'read', 'late');
      // A backend may respond at once from committed state, or only after the unit has ended.
      const during = snapshot(context);
      await storage.delete(records, 'y');
      await permission.deletePermissionsBelow('/buckets/food');
      await transaction.rollback();
      assert.deepEqual(await during, before);
    },
    ['rollback'],
  ),
  transactionCase('readers see all writes of a unit or none', async (context) => {
    await seed(context);
    const transaction = await context.database.begin();
    const storage = context.storage.writer(transaction);
    await storage.create(records, 'p', '{}');
    const early = context.storage.reader.listAll(records, pageQuery({ sort: sortKeys('id') }));
    const earlyCount = context.storage.reader.countAll(records, { filters: [] });
    const earlyTimestamp = context.storage.reader.resourceTimestamp(records);
    await storage.create(records, 'q', '{}');
    await transaction.commit();
    const { entries, timestamp } = await early;
    const clock = context.clock.now() + 3;
    const expected = marks(entries).includes('p') ? [['p', 'q', 'x', 'y'], clock + 2] : [['x', 'y'], clock];
    assert.deepEqual([marks(entries), timestamp], expected);
    assert.ok([2, 4].includes(await earlyCount));
    assert.ok([clock, clock + 2].includes((await earlyTimestamp)!));
    assert.equal(await context.storage.reader.countAll(records, { filters: [] }), 4);
  }),
  transactionCase('a unit without writes delays no reader', async (context) => {
    await seed(context);
    const transaction = await context.database.begin();
    await context.storage.writer(transaction).lock(records, 'x');
    assert.ok(await context.storage.reader.get(records, 'x'));
    assert.equal((await context.permission.reader.getUserPrincipals('acme:zoe')).size, 1);
    await transaction.commit();
  }),
];

/** Adds one to the number of an object, as a conditional write does. */
async function increment(context: TransactionContext, pause: () => Promise<void>): Promise<void> {
  await unit(context, async ({ storage }) => {
    const { object } = await storage.lock(records, 'counter');
    await pause();
    const n = object === undefined ? 0 : Number(object.attributes['n']);
    await storage.update(records, 'counter', `{"n":${n + 1}}`);
  });
}

const concurrency: readonly TransactionCase[] = [
  transactionCase('units that lock the objects they read lose no update', async (context) => {
    await Promise.all(Array.from({ length: 20 }, () => increment(context, nextTurn)));
    assert.equal((await context.storage.reader.get(records, 'counter'))!.text, '{"n":20}');
  }),
  transactionCase('exactly one of many units that change the version they have read wins', async (context) => {
    await seed(context);
    const seen = (await context.storage.reader.get(records, 'x'))!.lastModified;
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        unit(context, async ({ storage }) => {
          const { object } = await storage.lock(records, 'x');
          await nextTurn();
          if (object!.lastModified !== seen) return false;
          await storage.update(records, 'x', `{"n":${n}}`);
          return true;
        }),
      ),
    );
    assert.equal(outcomes.filter(Boolean).length, 1);
  }),
  transactionCase('exactly one of many units that create one object succeeds', async (context) => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) => unit(context, ({ storage }) => storage.create(records, 'x', `{"n":${n}}`))),
    );
    const failures = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.equal(failures.length, 9);
    for (const failure of failures) assert.ok(failure.reason instanceof IntegrityError);
  }),
  transactionCase('concurrent units give each write a timestamp of its own', async (context) => {
    const created = await Promise.all(
      Array.from({ length: 25 }, (_, n) =>
        unit(context, async ({ storage }) => {
          const first = await storage.create(records, `a${n}`, '{}');
          await nextTurn();
          const second = await storage.create(records, `b${n}`, '{}');
          return [first.lastModified, second.lastModified];
        }),
      ),
    );
    const timestamps = created.flat();
    assert.equal(new Set(timestamps).size, 50);
    assert.equal(await context.storage.reader.resourceTimestamp(records), Math.max(...timestamps));
  }),
  transactionCase('timestamps become visible in their own order', async (context) => {
    let since = 0;
    const seen: string[] = [];
    const poll = async (): Promise<void> => {
      const page = await context.storage.reader.listAll(
        records,
        pageQuery({
          filters: [{ field: { name: 'last_modified', path: ['last_modified'] }, operator: 'gt', value: since }],
          sort: sortKeys('last_modified'),
        }),
      );
      seen.push(...marks(page.entries));
      since = page.timestamp ?? since;
    };
    const writers = Array.from({ length: 20 }, (_, n) =>
      unit(context, async ({ storage }) => {
        await storage.create(records, `a${n}`, '{}');
        if (n % 3 === 0) await nextTurn();
        await storage.create(records, `b${n}`, '{}');
        if (n % 2 === 0) await nextTurn();
      }),
    );
    const progress = { writing: true };
    const written = Promise.all(writers).finally(() => (progress.writing = false));
    while (progress.writing) {
      await poll();
      await nextTurn();
    }
    await written;
    await poll();
    assert.equal(seen.length, 40);
    assert.equal(new Set(seen).size, 40);
  }),
  transactionCase(
    'a unit after one that failed starts from what was there before',
    async (context) => {
      await seed(context);
      const failed = unit(context, async ({ storage }) => {
        await storage.update(records, 'x', '{"n":99}');
        await nextTurn();
        throw new Error('changed my mind');
      });
      const next = unit(context, async ({ storage }) => (await storage.lock(records, 'x')).object!.text);
      await assert.rejects(failed, /changed my mind/);
      assert.equal(await next, '{"n":1}');
    },
    ['rollback'],
  ),
  transactionCase('closing waits for open transactions', async (context) => {
    const transaction = await context.database.begin();
    const writer = context.storage.writer(transaction);
    let closed = false;
    const closing = context.database.close().then(() => (closed = true));
    await writer.create(records, 'x', '{}');
    await nextTurn();
    assert.equal(closed, false);
    await transaction.commit();
    await closing;
    await assert.rejects(async () => context.database.begin());
  }),
];

/** The behaviour of transactions that storage and permissions share. */
export const transactionCases: readonly TransactionCase[] = [
  ...rollbacks,
  ...visibility,
  ...concurrency,
  ...callOrderCases,
  ...sharedLockCases,
  ...objectAboveCases,
  ...conditionalWriteCases,
  ...severalParentsCases,
];
