// Random histories of one list that is searched for words: by its owner, and by users with permissions on some of its records.
import fc from 'fast-check';
import { rarely, shares } from './bodies.ts';
import type { Json, JsonMap } from './json.ts';
import { filter, query, search } from './queries.ts';
import { entryNames } from './rights.ts';
import type { Sketch, Step } from './sketch.ts';

const collection = '/buckets/b/collections/c';
const records = `${collection}/records`;

const text = fc.constantFrom<Json>(
  'apple pie',
  'apple tea',
  'green tea, green apple',
  'Green Tea with apples; tea',
  'Té: 日本 TEAPOT',
  'tea '.repeat(30),
  ['apple', 7, 'tea of apples', 'green'],
  ['pie', ['tea']],
  '',
  7,
  { k: 'apple tea' },
);
const data: fc.Arbitrary<JsonMap> = fc
  .tuple(rarely(text), text, rarely(text), rarely(fc.constantFrom<Json>(1, 2, '2')))
  .map(([o, s, t, n]) =>
    Object.fromEntries(
      Object.entries({ o, s, t, n }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
  );
const permissions = shares.map((all): JsonMap =>
  Object.fromEntries(all.map(([pick, principals]) => [['read', 'write', ...entryNames.record][pick % 2]!, principals])),
);
const id = fc.constantFrom('r', 's', 'r_', 'rx', '10', 'q', 'q_');
// None is unique: records that are not in the index yet are not compared, and nothing waits for that here.
const indexes = fc.constantFrom<Json>(
  [{ text: ['s', 't'] }],
  [{ text: ['s', 't'] }],
  [{ text: ['s', 't'] }],
  [{ text: ['s'] }, { fields: ['s'] }],
  [{ text: ['t', 's', 'o.k', 'o'] }, { fields: ['n'] }],
  [{ fields: ['n', 's'] }],
  [],
);

const write: fc.Arbitrary<Sketch> = fc
  .record({ id, method: fc.constantFrom('PUT', 'PUT', 'PATCH', 'DELETE'), data, permissions })
  .map(({ method, ...given }) => {
    const path = `${records}/${given.id}`;
    if (method === 'DELETE') return { method, path };
    return { method, path, body: { data: given.data, permissions: given.permissions } };
  });
const find: fc.Arbitrary<Sketch> = fc
  .record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET', 'HEAD', 'HEAD', 'DELETE'),
    search,
    more: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: query(filter) }),
    limit: rarely(fc.constantFrom('1', '2')),
  })
  .map(({ method, search: one, more, limit }) => {
    const kept = more.filter(([name]) => name !== '_q' && (limit === undefined || name !== '_limit'));
    const page = limit === undefined ? [] : [['_limit', limit] as const];
    return { method, path: records, query: [one, ...kept, ...page] };
  });
const declare: fc.Arbitrary<Sketch> = indexes.map((declared) => ({
  method: 'PATCH',
  path: collection,
  body: { data: { indexes: declared } },
}));

const step: fc.Arbitrary<Step> = fc.record({
  user: fc.constantFrom('ann', 'ann', 'ann', 'ben', 'ben', 'cat'),
  door: fc.constant('inside' as const),
  advance: fc.constantFrom(0, 1, 3),
  send: fc.oneof(
    { weight: 5, arbitrary: write },
    { weight: 10, arbitrary: find },
    { weight: 1, arbitrary: declare },
    { weight: 3, arbitrary: fc.nat(2) },
    { weight: 1, arbitrary: fc.array(fc.oneof(write, find), { minLength: 1, maxLength: 3 }) },
  ),
});

const opening = fc
  .tuple(indexes, fc.array(fc.tuple(id, data, permissions), { minLength: 4, maxLength: 7 }))
  .map(([declared, all]): Step => {
    const bodies: readonly (readonly [string, JsonMap])[] = [
      ['/buckets/b', {}],
      [collection, { data: { indexes: declared } }],
      ...all.map(([name, own, shared]) => [`${records}/${name}`, { data: own, permissions: shared }] as const),
    ];
    return {
      user: 'ann',
      door: 'inside',
      advance: 0,
      send: bodies.map(([path, body]) => ({ method: 'PUT', path, body })),
    };
  });

/** A history; `size` is about how many requests it has at most. */
export function anySearches(size: number): fc.Arbitrary<readonly Step[]> {
  return fc
    .tuple(opening, fc.array(step, { minLength: 1, maxLength: size, size: 'max' }))
    .map(([begin, rest]) => [begin, ...rest]);
}
