// Conditional writes that share a unit of the writer have the same effect as each one in a unit of its own.
import fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ConditionalWrite } from '../../../src/contracts/database.ts';
import { TransactionConflict } from '../../../src/contracts/errors.ts';
import type { ObjectPermissions } from '../../../src/contracts/permission.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipal, toPrincipals } from '../../../src/core/permissions/principals.ts';
import { writeConditionally } from '../../../src/testing/contract/transactions/conditional-writes.ts';
import { openTestDatabase, type TestDatabase } from './temporary.ts';
import { ids, lists, objectIds, observe } from './writes.ts';

const holders = [undefined, { list: lists[1]!, id: 'x' }, { list: lists[1]!, id: 'none' }];
let count = 0;

const anyWrite = fc.record({
  list: fc.constantFrom(...lists),
  id: fc.constantFrom(...ids),
  holder: fc.constantFrom(...holders),
  /** Whether the outcome depends on the state before all of them. */
  knowsState: fc.boolean(),
  text: fc.constantFrom('{"n":1}', '{"n":2}', undefined),
  lastModified: fc.constantFrom(undefined, undefined, 1000, 1_900_000_000_000, 1_900_000_000_001),
  uri: fc.constantFrom(undefined, ...objectIds),
  entries: fc.constantFrom<ObjectPermissions>(
    {},
    { write: toPrincipals(['alice']) },
    { write: [], read: toPrincipals(['alice', 'bob']) },
  ),
  fresh: fc.option(
    fc.constant(undefined).map(() => `new${count++}`),
    { nil: undefined },
  ),
});

async function toLoneWrite(
  { storage }: TestDatabase,
  { knowsState, fresh, ...about }: typeof anyWrite extends fc.Arbitrary<infer T> ? T : never,
): Promise<ConditionalWrite> {
  if (fresh !== undefined) {
    const { text = '{}', uri } = about;
    const ownUri = uri === undefined ? undefined : storedUri(`/buckets/b/collections/c/records/${fresh}`);
    return { ...about, id: fresh, text, uri: ownUri, expected: undefined, isFresh: true };
  }
  const expected = knowsState ? await storage.reader.get(about.list, about.id) : undefined;
  return { ...about, expected };
}

describe('simultaneous conditional writes', () => {
  it('have the same effect as one after the other', async () => {
    const together = await openTestDatabase();
    const apart = await openTestDatabase();
    const { storage, permission } = apart;
    const { writeConditionally: _, ...database } = apart.database;
    await fc.assert(
      fc.asyncProperty(fc.array(anyWrite, { minLength: 1, maxLength: 12 }), async (drawn) => {
        const writes = await Promise.all(drawn.map((each) => toLoneWrite(together, each)));
        const stamps = await Promise.all(writes.map((write) => together.database.writeConditionally!(write)));
        const expected: (number | undefined)[] = [];
        for (const write of writes) expected.push(await writeConditionally({ database, storage, permission }, write));
        expect(stamps).toEqual(expected);
        expect(await observe(together)).toEqual(await observe(apart));
      }),
      { numRuns: 200 },
    );
  });

  it('write nothing, and are each retried, when a random id is taken', async () => {
    const one = await openTestDatabase();
    const list = lists[0]!;
    await one.unit((storage) => storage.create(list, 'taken', '{"old":true}'));
    const before = await observe(one);
    const fresh = (id: string): ConditionalWrite => ({
      list,
      id,
      holder: undefined,
      expected: undefined,
      isFresh: true,
      text: '{}',
      uri: storedUri(`/buckets/b/collections/c/records/${id}`),
      entries: { write: [toPrincipal('alice')] },
    });
    const outcomes = await Promise.allSettled(
      ['a', 'taken', 'b'].map((id) => one.database.writeConditionally!(fresh(id))),
    );
    for (const outcome of outcomes) {
      expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(TransactionConflict);
    }
    expect(await observe(one)).toEqual(before);
    expect(await one.storage.reader.get(list, 'a')).toBeUndefined();
  });

  it('share a unit in limited numbers, and all get one', async () => {
    const one = await openTestDatabase();
    const write = (n: number): ConditionalWrite => {
      const list = lists[n % 2]!;
      return { list, id: `r${n}`, holder: undefined, expected: undefined, text: '{}', uri: undefined, entries: {} };
    };
    const stamps = await Promise.all(Array.from({ length: 350 }, (_, n) => one.database.writeConditionally!(write(n))));
    const first = one.clock.now();
    expect(stamps).toEqual(Array.from({ length: 350 }, (_, n) => first + Math.floor(n / 2)));
  });

  it('are left to units of work when they have very many principals, and these let other requests run', async () => {
    const one = await openTestDatabase();
    const many = Array.from({ length: 5000 }, (_, n) => `user:${n}`);
    const uri = storedUri('/buckets/b/collections/c/records/x');
    const about = { list: lists[0]!, id: 'x', holder: undefined, expected: undefined, text: '{}', uri };
    expect(await one.database.writeConditionally!({ ...about, entries: { read: toPrincipals(many) } })).toBeUndefined();
    for (const entries of [{ read: many }, { read: many.slice(4000) }]) {
      let isDone = false;
      const writing = one.unit((_, permission) => permission.replaceObjectPermissions(uri, entries));
      const done = writing.then(() => (isDone = true));
      let turns = 0;
      for (; !isDone; turns++) await nextTurn();
      await done;
      expect(turns).toBeGreaterThan(6);
      const stored = await one.permission.reader.getObjectPermissions(uri);
      expect(stored['read']?.toSorted()).toEqual(entries.read.toSorted());
    }
  });
});
