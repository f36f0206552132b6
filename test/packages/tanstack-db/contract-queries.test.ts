// Predicates, orders, windows and joins of queries, as the end-to-end suites of TanStack DB ask for them.
import {
  add,
  and,
  coalesce,
  createLiveQueryCollection,
  eq,
  gt,
  gte,
  ilike,
  inArray,
  isNull,
  length,
  like,
  lower,
  lt,
  lte,
  not,
  or,
  upper,
} from '@tanstack/db';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { inExtent } from '../../support/extent.ts';
import { Contract, fixture, has, indexed, patient, rowsOf, type Kind } from './contract.ts';

let contract: Contract;
const all = fixture();
beforeAll(async () => {
  contract = await Contract.start();
});
afterAll(() => contract.close());

type Case = [name: string, kind: Kind, where: (row: any) => any, holds: (row: any) => boolean];
const [first, second] = [all.users[1]!, all.users[2]!];
const middle = all.users[50]!['createdAt'] as Date;

const predicates: Case[] = [
  ['eq of a text', 'users', (u) => eq(u.name, 'Alice 0'), (u) => u.name === 'Alice 0'],
  ['eq of a number', 'users', (u) => eq(u.age, 25), (u) => u.age === 25],
  ['eq of a boolean', 'users', (u) => eq(u.isActive, true), (u) => u.isActive],
  ['a boolean alone', 'users', (u) => u.isActive, (u) => u.isActive],
  ['eq of the id', 'users', (u) => eq(u.id, first.id), (u) => u.id === first.id],
  ['eq of nothing', 'users', (u) => eq(u.age, 999), () => false],
  ['eq with null', 'users', (u) => eq(u.email, null), () => false],
  ['isNull', 'users', (u) => isNull(u.email), (u) => u.email === null],
  ['isNull of a date', 'users', (u) => isNull(u.deletedAt), (u) => u.deletedAt === null],
  ['not eq', 'users', (u) => not(eq(u.name, 'Alice 0')), (u) => u.name !== 'Alice 0'],
  ['not isNull', 'users', (u) => not(isNull(u.email)), (u) => u.email !== null],
  ['gt', 'users', (u) => gt(u.age, 50), (u) => u.age > 50],
  ['gte', 'users', (u) => gte(u.age, 50), (u) => u.age >= 50],
  ['lt', 'users', (u) => lt(u.age, 30), (u) => u.age < 30],
  ['lte', 'users', (u) => lte(u.age, 30), (u) => u.age <= 30],
  ['gt of posts', 'posts', (p) => gt(p.viewCount, 100), (p) => p.viewCount > 100],
  [
    'eq of a bigint',
    'posts',
    (p) => eq(p.largeViewCount, 9_007_199_254_740_992n),
    (p) => p.largeViewCount === 9_007_199_254_740_992n,
  ],
  [
    'gt of a bigint',
    'posts',
    (p) => gt(p.largeViewCount, 9_007_199_254_740_995n),
    (p) => p.largeViewCount > 9_007_199_254_740_995n,
  ],
  ['gt of a date', 'users', (u) => gt(u.createdAt, middle), (u) => u.createdAt > middle],
  ['eq of a date', 'users', (u) => eq(u.createdAt, middle), (u) => Number(u.createdAt) === Number(middle)],
  [
    'lte of a date or null',
    'posts',
    (p) => lte(p.publishedAt, middle),
    (p) => p.publishedAt !== null && p.publishedAt <= middle,
  ],
  [
    'inArray of dates',
    'users',
    (u) => inArray(u.createdAt, [first['createdAt'], second['createdAt']]),
    (u) => u.id === first.id || u.id === second.id,
  ],
  ['inArray of numbers', 'users', (u) => inArray(u.age, [25, 30, 35]), (u) => [25, 30, 35].includes(u.age)],
  [
    'inArray of many ids',
    'users',
    (u) =>
      inArray(
        u.id,
        all.users.slice(0, 90).map(({ id }) => id),
      ),
    (u) => all.users.slice(0, 90).some(({ id }) => id === u.id),
  ],
  ['inArray of nothing', 'users', (u) => inArray(u.id, []), () => false],
  ['not inArray', 'users', (u) => not(inArray(u.age, [25, 30])), (u) => ![25, 30].includes(u.age)],
  ['like', 'users', (u) => like(u.name, 'Alice%'), (u) => u.name.startsWith('Alice')],
  ['like with one character', 'users', (u) => like(u.name, 'Alice _'), (u) => /^Alice .$/.test(u.name)],
  ['like with a new line', 'users', (u) => like(u.name, 'Ursula%Newline'), (u) => u.name.startsWith('Ursula')],
  ['like with anything', 'users', (u) => like(u.name, '%'), () => true],
  ['like at the end', 'users', (u) => like(u.email, '%@example.com'), (u) => u.email !== null],
  [
    'like in the middle',
    'users',
    (u) => like(u.email, 'user%0@example.com'),
    (u) => /^user.*0@example\.com$/.test(u.email ?? ''),
  ],
  ['ilike', 'users', (u) => ilike(u.name, 'ALICE%'), (u) => u.name.startsWith('Alice')],
  ['like of lower', 'users', (u) => like(lower(u.name) as never, '%alice%'), (u) => u.name.startsWith('Alice')],
  ['ilike of lower', 'users', (u) => ilike(lower(u.name) as never, '%bob%'), (u) => u.name.startsWith('bob')],
  ['eq of upper', 'users', (u) => eq(upper(u.name), 'BOB 1'), (u) => u.name === 'bob 1'],
  ['gt of length', 'users', (u) => gt(length(u.name), 10), (u) => u.name.length > 10],
  ['gt of a sum', 'posts', (p) => gt(add(p.viewCount, 10), 200), (p) => p.viewCount + 10 > 200],
  [
    'or of texts',
    'posts',
    (p) =>
      or(
        like(lower(p.title) as never, '%introduction%'),
        like(lower(coalesce(p.content, '')) as never, '%introduction%'),
      ),
    (p) => p.title.startsWith('Introduction'),
  ],
  ['and', 'users', (u) => and(gt(u.age, 30), eq(u.isActive, true)), (u) => u.age > 30 && u.isActive],
  ['or', 'users', (u) => or(eq(u.age, 25), gt(u.age, 70)), (u) => u.age === 25 || u.age > 70],
  [
    'nested',
    'users',
    (u) => and(or(lt(u.age, 25), gt(u.age, 60)), not(isNull(u.email)), eq(u.isActive, true)),
    (u) => (u.age < 25 || u.age > 60) && u.email !== null && u.isActive,
  ],
  ['not and', 'users', (u) => not(and(gt(u.age, 30), eq(u.isActive, true))), (u) => !(u.age > 30 && u.isActive)],
  ['a member', 'users', (u) => eq(u.metadata.level, 3), (u) => u.metadata?.level === 3],
  ['gt of a member', 'users', (u) => gt(u.metadata.score, 500), (u) => (u.metadata?.score ?? 0) > 500],
];

describe.each(inExtent(['a shared'], ['a shared', 'a new']))('Predicates of %s collection', (kindOfCollection) => {
  it.each(predicates)('%s', async (_, kind, where, holds) => {
    const source = kindOfCollection === 'a new' ? contract.create(kind, 'on-demand', indexed) : contract.onDemand[kind];
    const query = createLiveQueryCollection((q: any) => q.from({ x: source }).where(({ x }: any) => where(x))) as any;
    await query.preload();
    const expected = all[kind].filter((row) => holds(row));
    expect(query.size).toBe(expected.length);
    await has(query, expected);
    await query.cleanup();
    if (kindOfCollection === 'a new') await source.cleanup();
  });
});

type Order = [attribute: string, direction: 'asc' | 'desc'];
const orders: [kind: Kind, order: Order[]][] = [
  ['users', [['age', 'asc']]],
  ['users', [['age', 'desc']]],
  ['users', [['name', 'asc']]],
  ['users', [['createdAt', 'desc']]],
  ['users', [['deletedAt', 'asc']]],
  ['users', [['deletedAt', 'desc']]],
  ['users', [['email', 'asc']]],
  [
    'users',
    [
      ['isActive', 'desc'],
      ['age', 'asc'],
    ],
  ],
  [
    'users',
    [
      ['isActive', 'desc'],
      ['age', 'asc'],
      ['name', 'asc'],
    ],
  ],
  [
    'posts',
    [
      ['userId', 'asc'],
      ['viewCount', 'desc'],
    ],
  ],
  ['posts', [['largeViewCount', 'asc']]],
  [
    'posts',
    [
      ['publishedAt', 'desc'],
      ['id', 'asc'],
    ],
  ],
];
const windows: [limit: number | undefined, offset: number | undefined][] = inExtent(
  [[10, 10]],
  [
    [undefined, undefined],
    [10, undefined],
    [10, 10],
    [15, 85],
    [10, 95],
    [10, 200],
    [30, 20],
    [1, 0],
    [0, undefined],
  ],
);

/** Compares values as TanStack DB does by default: null comes first, also in descending order. */
function compare(one: any, other: any, order: readonly Order[]): number {
  for (const [name, direction] of order) {
    const [a, b] = [one[name], other[name]];
    if (a === null || b === null) {
      if (a !== b) return a === null ? -1 : 1;
      continue;
    }
    const result = typeof a === 'string' ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0;
    if (result !== 0) return direction === 'asc' ? result : -result;
  }
  return 0;
}

describe.each(orders)('Pages of %s by %j', (kind, order) => {
  it.each(windows)('limit %s, offset %s', async (limit, offset) => {
    const source = contract.create(kind, 'on-demand', indexed);
    const query = createLiveQueryCollection((q: any) => {
      let built = q.from({ x: source });
      for (const [name, direction] of order) built = built.orderBy(({ x }: any) => x[name], direction);
      if (limit !== undefined) built = built.limit(limit);
      return offset === undefined ? built : built.offset(offset);
    }) as any;
    await query.preload();
    const check = (from: number, count: number): Promise<void> =>
      vi.waitFor(() => {
        const expected = all[kind].toSorted((a, b) => compare(a, b, order)).slice(from, from + count);
        const rows = rowsOf(query.values());
        expect(new Set(rows.map(({ id }) => id)).size).toBe(expected.length);
        for (const [index, row] of rows.entries()) {
          expect(row).toStrictEqual(all[kind].find(({ id }) => id === row.id));
          expect(compare(row, expected[index], order)).toBe(0);
        }
      }, patient);
    await check(offset ?? 0, limit ?? 100);
    if (limit === 10 && offset === 10) {
      for (const [from, count] of [
        [20, 10],
        [0, 10],
        [50, 20],
        [95, 10],
      ] as const) {
        await query.utils.setWindow({ offset: from, limit: count });
        await check(from, count);
      }
    }
    await query.cleanup();
    await source.cleanup();
  });
});

describe.each(['eager', 'on-demand'])('Joins of %s users', (mode) => {
  const users = (): any => (mode === 'eager' ? contract.eager.users : contract.onDemand.users);
  const joined = ({ u, p, c }: any): any => ({ id: c.id, user: u.name, post: p.title, text: c.text });
  const threeOf = (filter: (q: any) => any): any =>
    createLiveQueryCollection((q: any) =>
      filter(
        q
          .from({ u: users() })
          .join({ p: contract.onDemand.posts }, ({ u, p }: any) => eq(u.id, p.userId))
          .join({ c: contract.onDemand.comments }, ({ p, c }: any) => eq(p.id, c.postId)),
      ).select(joined),
    );
  const expected = (holds: (row: any) => boolean): any[] =>
    all.comments
      .map((c) => {
        const p = all.posts.find(({ id }) => id === c['postId'])!;
        return { u: all.users.find(({ id }) => id === p['userId'])!, p, c };
      })
      .filter((row) => holds(row))
      .map((row) => joined(row));

  it('have all three lists', async () => {
    const query = threeOf((q) => q);
    await query.preload();
    await has(
      query,
      expected(() => true),
    );
    await query.cleanup();
  });

  it('have conditions on each list', async () => {
    const query = threeOf((q) =>
      q.where(({ u, p, c }: any) => and(eq(u.isActive, true), isNull(p.deletedAt), isNull(c.deletedAt))),
    );
    await query.preload();
    await has(
      query,
      expected(({ u, p, c }) => u.isActive && p.deletedAt === null && c.deletedAt === null),
    );
    await query.cleanup();
  });

  it('have an order and a window', async () => {
    const query = threeOf((q) =>
      q
        .orderBy(({ p }: any) => p.id, 'asc')
        .limit(10)
        .offset(5),
    );
    await query.preload();
    await has(query, expected(() => true).slice(5, 15), { ordered: true });
    await query.cleanup();
  });
});
