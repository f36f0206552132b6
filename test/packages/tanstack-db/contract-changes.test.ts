// Changes of others in queries, and progressive collections, as the end-to-end suites of TanStack DB ask for them.
import { createLiveQueryCollection, eq, gt, inArray } from '@tanstack/db';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Contract, fixture, has, indexed, patient, rowsOf, userOf } from './contract.ts';

let contract: Contract;
const all = fixture();
beforeAll(async () => {
  contract = await Contract.start();
});
afterAll(() => contract.close());

const aged = (source: any, min: number): any =>
  createLiveQueryCollection((q: any) => q.from({ u: source }).where(({ u }: any) => gt(u.age, min)));

describe('A query with changes of others', () => {
  it.each([-1000, 30])('has rows as long as they match: older than %d', async (min) => {
    const query = aged(contract.onDemand.users, min);
    await query.preload();
    const before = rowsOf(query.values());
    const row = userOf('Mutated', 45);
    await contract.insert('users', row);
    await has(query, [...before, row]);
    await contract.update('users', row.id, { age: 25 });
    await has(query, min < 25 ? [...before, { ...row, age: 25 }] : before);
    await contract.update('users', row.id, { age: 35 });
    await has(query, [...before, { ...row, age: 35 }]);
    await contract.delete('users', row.id);
    await has(query, before);
    await query.cleanup();
  });

  it('has its window filled', async () => {
    const query = createLiveQueryCollection((q: any) =>
      q
        .from({ u: contract.onDemand.users })
        .where(({ u }: any) => eq(u.isActive, true))
        .orderBy(({ u }: any) => u.age, 'asc')
        .limit(10),
    ) as any;
    await query.preload();
    const rows = Array.from({ length: 11 }, (_, index) => userOf(`Page ${index}`, index - 1010));
    for (const row of rows) await contract.insert('users', row);
    await has(query, rows.slice(0, 10), { ordered: true });
    await contract.update('users', rows[0]!.id, { age: -999 });
    await has(query, rows.slice(1), { ordered: true });
    for (const { id } of rows) await contract.delete('users', id);
    await query.cleanup();
  });

  it('reports each change once, with the rows as they are then, and none after the end', async () => {
    const query = createLiveQueryCollection((q: any) => q.from({ u: contract.onDemand.users })) as any;
    await query.preload();
    const peers = rowsOf(query.values());
    const known = new Map<string, object>();
    let calls = 0;
    const subscription = query.subscribeChanges(
      (changes: any[]) => {
        calls += 1;
        for (const { type, key, value } of changes) {
          expect(key).toBe(value.id);
          expect(known.has(key)).toBe(type !== 'insert');
          if (type === 'delete') known.delete(key);
          else known.set(key, rowsOf([value])[0]!);
        }
        expect(new Set(known.values())).toEqual(new Set(rowsOf(query.values())));
      },
      { includeInitialState: true },
    );
    const row = userOf('Subscribed', 28, { email: 'sub@example.com' });
    await contract.insert('users', row);
    await has(query, [...peers, row]);
    expect(known.get(row.id)).toStrictEqual(row);
    subscription.unsubscribe();
    const count = calls;
    await contract.delete('users', row.id);
    await has(query, peers);
    expect(calls).toBe(count);
    await query.cleanup();
  });

  it('orders texts as the query says', async () => {
    const rows = ['A10', 'A2', 'Z', 'a', 'ä'].map((name, index) => userOf(name, 40 + index));
    for (const index of [4, 2, 0, 3, 1]) await contract.insert('users', rows[index]!);
    const query = createLiveQueryCollection({
      query: (q: any) =>
        q
          .from({ u: contract.onDemand.users })
          .where(({ u }: any) =>
            inArray(
              u.id,
              rows.map(({ id }) => id),
            ),
          )
          .orderBy(({ u }: any) => u.name, { direction: 'asc', stringSort: 'lexical' }),
    } as never) as any;
    await query.preload();
    await has(query, rows, { ordered: true });
    await query.cleanup();
    for (const { id } of rows) await contract.delete('users', id);
  });

  it('joins lists whose objects come and go', async () => {
    const { users, posts } = contract.onDemand;
    const query = createLiveQueryCollection((q: any) =>
      q
        .from({ u: users })
        .leftJoin({ p: posts }, ({ u, p }: any) => eq(u.id, p.userId))
        .select(({ u, p }: any) => ({ id: u.id, name: u.name, title: p?.title })),
    ) as any;
    await query.preload();
    const pairs = all.users.map(({ id, name }, index) => ({ id, name, title: all.posts[index]!['title'] }));
    const same = (expected: object[]): Promise<void> =>
      vi.waitFor(() => {
        const texts = (rows: object[]): string[] => rows.map((row) => JSON.stringify(row)).toSorted();
        expect(texts(rowsOf(query.values()))).toEqual(texts(expected));
      }, patient);
    await same(pairs);
    const parent = userOf('Parent', 43);
    await contract.insert('users', parent);
    await same([...pairs, { id: parent.id, name: 'Parent', title: undefined }]);
    const child = { ...all.posts[3]!, id: parent.id, userId: parent.id, title: 'Child' };
    await contract.insert('posts', child);
    await same([...pairs, { id: parent.id, name: 'Parent', title: 'Child' }]);
    await contract.delete('posts', child.id);
    await contract.delete('users', parent.id);
    await same(pairs);
    await query.cleanup();
  });

  it('is loaded once when many ask for the same', async () => {
    const queries = Array.from(
      { length: 20 },
      () =>
        createLiveQueryCollection((q: any) =>
          q.from({ u: contract.onDemand.users }).where(({ u }: any) => eq(u.isActive, true)),
        ) as any,
    );
    await Promise.all(queries.map((query) => query.preload()));
    expect(queries.map(({ size }) => size)).toEqual(queries.map(() => 80));
    await Promise.all(queries.map((query) => query.cleanup()));
  });
});

describe('A progressive collection', () => {
  /** What holds the complete copy back. It may be released before the copy has arrived. */
  function latch(): { release: () => void; released: Promise<void> } {
    let release!: () => void;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    return { release, released };
  }

  it('shows subsets before the complete copy, and then everything', async () => {
    const { release, released } = latch();
    const users = contract.create('users', 'progressive', { startSync: false, beforeReady: () => released });
    users.startSyncImmediate();
    const query = aged(users, 60);
    await query.preload();
    const expected = all.users.filter(({ age }: any) => age > 60);
    expect(rowsOf(query.values())).toHaveLength(expected.length);
    expect(users.status).toBe('loading');
    expect(users.size).toBe(expected.length);
    const page = createLiveQueryCollection((q: any) =>
      q
        .from({ u: users })
        .orderBy(({ u }: any) => u.age, 'asc')
        .limit(5),
    ) as any;
    await page.preload();
    await vi.waitFor(() => expect(page.size).toBe(5), patient);
    release();
    await vi.waitFor(() => expect(users.status).toBe('ready'), patient);
    expect(users.size).toBe(100);
    await has(query, expected);
    const row = userOf('Progressive', 75);
    await contract.insert('users', row);
    await has(query, [...expected, row]);
    await contract.delete('users', row.id);
    for (const each of [query, page, users]) await each.cleanup();
  });

  it('is complete when it was released before, or cleaned up and started again', async () => {
    const { release, released } = latch();
    release();
    const users = contract.create('users', 'progressive', {
      ...indexed,
      startSync: false,
      beforeReady: () => released,
    });
    const query = aged(users, 60);
    await query.preload();
    await query.cleanup();
    await users.cleanup();
    users.startSyncImmediate();
    await users.preload();
    expect(users.size).toBe(100);
    await users.cleanup();
  });
});
