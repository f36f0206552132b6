// Predicates on records with values of all types: a query loads what it needs, never less than it accepts.
import {
  and,
  concat,
  coalesce,
  createLiveQueryCollection,
  eq,
  gt,
  gte,
  ilike,
  inArray,
  isNull,
  isUndefined,
  length,
  like,
  lower,
  lt,
  lte,
  not,
  or,
  upper,
  IR,
} from '@tanstack/db';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isoDate } from '../../../packages/tanstack-db/src/index.ts';
import { translatePredicate } from '../../../packages/tanstack-db/src/selector.ts';
import { inExtent } from '../../support/extent.ts';
import { backendNamed, fill, startWorld, until, type Item, type Items, type World } from './support.ts';

/** Values that a field without a schema may have. */
const values: readonly unknown[] = [
  null,
  0,
  1,
  -1,
  2.5,
  10,
  100,
  1e300,
  -1e300,
  true,
  false,
  '',
  'a',
  'A',
  'ab',
  'abc',
  'ABC',
  'b',
  '10',
  '2',
  'true',
  'é',
  'Straße',
  'ΑΣΑ',
  'ΑΣ',
  'ας',
  'İstanbul',
  'K',
  'a*b',
  'a%b',
  'a_b',
  '😀',
  '',
  '�!',
  'a𐀀',
  'a～',
  [],
  ['a'],
  ['10'],
  [10],
  ['a', 'b'],
  {},
  { k: 1 },
  [null],
];

const records = [
  { id: 'missing' },
  ...values.map((value, index) => ({
    id: `r${String(index).padStart(2, '0')}`,
    f: value,
    m: index % 3 === 0 ? null : { k: value, l: { z: index } },
    tags: index % 2 === 0 ? ['red', index] : index % 5 === 0 ? 'red' : undefined,
    at: index % 4 === 0 ? null : new Date(Date.UTC(2000 + index, index % 12, 1)).toISOString(),
    done: index % 3 === 0,
    n: index,
  })),
];

/** Row references of the query builder. */
type Refs = Record<string, any>;
type Predicate = readonly [name: string, build: (row: Refs) => any];

const comparedWith: readonly unknown[] = [
  0,
  1,
  2.5,
  -1e300,
  10,
  'a',
  'b',
  'abc',
  '10',
  '2',
  '',
  'é',
  '😀',
  '',
  'a～',
  true,
  false,
  null,
  undefined,
  10n,
  Number.NaN,
  [10],
  new Date(0),
];
const show = (value: unknown): string =>
  typeof value === 'bigint' ? `${value}n` : value instanceof Date ? 'date' : (JSON.stringify(value) ?? 'undefined');

const comparisons: readonly Predicate[] = comparedWith.flatMap((value): Predicate[] => [
  [`f = ${show(value)}`, ({ f }) => eq(f, value)],
  [`f < ${show(value)}`, ({ f }) => lt(f, value)],
  [`f <= ${show(value)}`, ({ f }) => lte(f, value)],
  [`f > ${show(value)}`, ({ f }) => gt(f, value)],
  [`f >= ${show(value)}`, ({ f }) => gte(f, value)],
]);

const patterns = [
  'a',
  'a%',
  '%b',
  '%a%',
  'a_b',
  '_',
  '%',
  '',
  'A%',
  'ΑΣ%',
  'ΑΣ_',
  '%σ%',
  'a*b',
  'a\\%b',
  'i%',
  'k',
  'straße',
  '%ς',
];
const likes: readonly Predicate[] = patterns.flatMap((pattern): Predicate[] => [
  [`f like ${show(pattern)}`, ({ f }) => like(f, pattern)],
  [`f ilike ${show(pattern)}`, ({ f }) => ilike(f, pattern)],
]);

const others: readonly Predicate[] = [
  ['in a list', ({ f }) => inArray(f, [1, 'a', true])],
  ['in a list with null', ({ f }) => inArray(f, [null, 'abc'])],
  ['in an empty list', ({ f }) => inArray(f, [])],
  ['in a list with an object', ({ f }) => inArray(f, [{ k: 1 }, 1])],
  ['a value in a field', ({ tags }) => inArray('red', tags)],
  ['a number in a field', ({ tags }) => inArray(4, tags)],
  ['null in a field', ({ f }) => inArray(null, f)],
  ['is null', ({ f }) => isNull(f)],
  ['is undefined', ({ f }) => isUndefined(f)],
  ['nested is null', ({ m }) => isNull(m.k)],
  ['nested is undefined', ({ m }) => isUndefined(m.k)],
  ['deeply nested', ({ m }) => gt(m.l.z, 20)],
  ['nested value', ({ m }) => eq(m.k, 'abc')],
  ['member of a text', ({ f }) => gt(f.length, 1)],
  ['index of a text', ({ f }) => eq(f[0], 'a')],
  ['inherited name', (row) => isUndefined(row['constructor'])],
  ['a field alone', ({ done }) => done],
  ['a field of all types alone', ({ f }) => f],
  ['and with a field', ({ f, n }) => and(f, gt(n, 5))],
  ['or with a field', ({ f, n }) => or(f, gt(n, 30))],
  ['two fields', ({ f, n }) => eq(f, n)],
  ['a constant first', ({ n }) => gt(10, n)],
  ['conjunction', ({ f, n }) => and(gt(f, 0), lt(n, 20))],
  ['disjunction', ({ f, n }) => or(eq(f, 'a'), gte(n, 40))],
  ['nested combinations', ({ f, n, done }) => or(and(eq(done, true), gt(n, 10)), and(not(eq(done, true)), isNull(f)))],
  ['functions', ({ f }) => eq(lower(f), 'abc')],
  ['upper', ({ f }) => eq(upper(f), 'ABC')],
  ['length', ({ f }) => gt(length(f), 2)],
  ['concat', ({ f, id }) => eq(concat(f, id), 'ar12')],
  ['coalesce', ({ f }) => eq(coalesce(f, 'none'), 'none')],
  ['a function and a field', ({ f, n }) => and(eq(lower(f), 'abc'), lt(n, 1000))],
  ['id', ({ id }) => eq(id, 'r03')],
  ['ids', ({ id }) => inArray(id, ['r03', 'r04', 'none'])],
  ['range of ids', ({ id }) => and(gte(id, 'r05'), lt(id, 'r09'))],
  ['id as a number', ({ id }) => eq(id, 3)],
  ['last_modified', (row) => gt(row['last_modified'], 0)],
  ['last_modified in the future', (row) => lt(row['last_modified'], 1e15)],
  ['last_modified with a fraction', (row) => gt(row['last_modified'], 1.5)],
  ['virtual property', (row) => eq(row['$synced'], true)],
  ['date', ({ at }) => gt(at, new Date('2020-06-01'))],
  ['date or earlier', ({ at }) => lte(at, new Date('2020-06-01'))],
  ['same date', ({ at }) => eq(at, new Date(Date.UTC(2005, 5, 1)))],
  ['dates in a list', ({ at }) => inArray(at, [new Date(Date.UTC(2005, 5, 1)), new Date(Date.UTC(2006, 6, 1))])],
  ['no date', ({ at }) => isNull(at)],
  ['a date and a number', ({ at }) => gt(at, 1_000_000_000_000)],
  ['an invalid date', ({ at }) => lt(at, new Date(Number.NaN))],
];

const predicates = [...comparisons, ...likes, ...others];

const backends = inExtent(['sqlite'], ['memory', 'sqlite', 'postgresql']);

describe.each(backends)('predicates on %s', (name) => {
  let world: World;
  let everything: Items;
  let onDemand: Items;

  beforeAll(async () => {
    world = await startWorld(backendNamed(name));
    await fill(world, records);
    const fields = { at: isoDate };
    everything = world.items({ fields });
    onDemand = world.items({ fields, syncMode: 'on-demand', keepSubsetMs: 0 });
    await everything.preload();
  });
  afterAll(() => world.close());

  const cases = name === 'memory' ? predicates : predicates.filter((_, index) => index % 4 === 0);
  it.each(
    cases.flatMap(
      ([title, build]) =>
        [
          [title, build],
          [`not (${title})`, (row: Refs) => not(build(row))],
        ] as const,
    ),
  )('%s', async (_, build) => {
    const find = async (collection: Items): Promise<readonly string[]> => {
      let where: IR.BasicExpression | undefined;
      const query = createLiveQueryCollection((q) =>
        q.from({ item: collection }).where(({ item }) => (where = build(item)) as never),
      );
      await query.preload();
      const ids = query.toArray.map((row) => (row as unknown as Item).id).sort();
      expect(where).toBeDefined();
      await query.cleanup();
      return ids;
    };
    // Nothing remains of the case before.
    await until(() => onDemand.size === 0);
    expect(await find(onDemand)).toEqual(await find(everything));
  });
});

describe('selectors', () => {
  const selectorOf = (build: (row: Refs) => any): unknown => {
    let where: IR.BasicExpression | undefined;
    createLiveQueryCollection({
      startSync: false,
      query: (q) => q.from({ item: probe }).where(({ item }) => (where = build(item)) as never),
    });
    return translatePredicate(strip(where!), {});
  };
  let world: World;
  let probe: Items;
  beforeAll(async () => {
    world = await startWorld();
    probe = world.items({ startSync: false });
  });
  afterAll(() => world.close());

  /** Removes the alias from references, as TanStack DB does before it requests a subset. */
  const strip = (expression: IR.BasicExpression): IR.BasicExpression => {
    if (expression.type === 'ref') return new IR.PropRef(expression.path.slice(1));
    return expression.type === 'func' ? new IR.Func(expression.name, expression.args.map(strip)) : expression;
  };

  it('sends equality, lists and presence as they are', () => {
    expect(selectorOf(({ a }) => eq(a, 1))).toEqual({ a: 1 });
    expect(selectorOf(({ a }) => inArray(a, ['x', 'y']))).toEqual({ a: { $in: ['x', 'y'] } });
    expect(selectorOf(({ a }) => isNull(a))).toEqual({ a: null });
    expect(selectorOf(({ a, b }) => and(eq(a, 1), eq(b.c, 2)))).toEqual({ $and: [{ a: 1 }, { 'b.c': 2 }] });
  });

  it('finds texts that start with a text by an index', () => {
    expect(selectorOf(({ a }) => like(a, 'ab%'))).toEqual({ a: { $startsWith: 'ab' } });
  });

  it('asks nothing for predicates that no row fulfils', () => {
    expect(selectorOf(({ a }) => eq(a, null))).toBe(false);
    expect(selectorOf(({ a }) => and(eq(a, null), eq(a, 1)))).toBe(false);
    expect(selectorOf(({ a }) => inArray(a, []))).toBe(false);
  });

  it('asks for everything where only the client can decide', () => {
    expect(selectorOf(({ a }) => eq(lower(a), 'x'))).toBe(true);
    expect(selectorOf(({ a }) => or(eq(lower(a), 'x'), eq(a, 1)))).toBe(true);
  });

  it('keeps the part of a conjunction that the service can decide', () => {
    expect(selectorOf(({ a, b }) => and(eq(lower(a), 'x'), eq(b, 1)))).toEqual({ b: 1 });
  });

  it('gives up on predicates that are larger than the limits of the service', () => {
    expect(selectorOf(({ a }) => (or as any)(...Array.from({ length: 300 }, (_, n) => like(a, `%${n}%`))))).toBe(true);
    let deep = (row: Refs): any => eq(row['a'], 1);
    for (let level = 0; level < 12; level++) {
      const inner = deep;
      deep = (row) => (level % 2 === 0 ? or : and)(inner(row), eq(row['b'], level));
    }
    expect(selectorOf(deep)).toBe(true);
  });
});
