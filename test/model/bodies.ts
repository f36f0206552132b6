// Random bodies: attributes, members of groups, permissions, and now and then what is wrong with them.
import fc from 'fast-check';
import { hostileIdsNear } from '../support/hostile-ids.ts';
import { Digits } from './numbers.ts';
import type { Json, JsonMap } from './json.ts';
import type { Kind } from './places.ts';
import { authenticated, entryNames, everyone } from './rights.ts';
import { schemaNames } from './schemas.ts';

const buckets = ['b', 'b_', 'bx'];
const groupUris = buckets.flatMap((bucket) => [`/buckets/${bucket}/groups/g`, `/buckets/${bucket}/groups/g_`]);

const ids: Readonly<Record<Kind, readonly string[]>> = {
  bucket: ['b', 'b', 'b', 'b_', 'bx', 'default'],
  group: ['g', 'g', 'g_', 'gx'],
  collection: ['c', 'c', 'c', 'c_', 'cx'],
  record: ['r', 'r', 's', 's', 'r_', 'rx', '10', 'constructor'],
  history: ['h'],
};

/** An id out of those of the kind, now and then one that is none. */
export function idFor(kind: Kind, pick: number): string {
  return pick === 0 ? '-x' : ids[kind][pick % ids[kind].length]!;
}

/** The usual ids, and now and then one that is none but resembles the one given. */
export function orHostile(near: string, usual: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof({ weight: 20, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...hostileIdsNear(near)) });
}

/** Values of attributes. */
export const values: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  1,
  2,
  10,
  1.5,
  -1,
  new Digits('1.0'),
  new Digits('9007199254740993'),
  new Digits('-12345678901234567890.5'),
  '2',
  'Apple',
  'apple pie',
  'a*b%_',
  'é',
  '',
  null,
  true,
  false,
  'green tea, green apple',
  'Té: 日本 TEAPOT',
  ['a', 'b'],
  ['a'],
  ['apple', 7, 'tea of apples'],
  [1, 'a', null],
  [],
  { k: 1 },
  { k: 2 },
  { k: new Digits('10.50') },
  { k: { j: 'x' } },
  { k: 'apple tea' },
  {},
);
const attribute = fc.constantFrom('n', 'n', 's', 't', 'o', 'constructor', '__proto__');
/** Timestamps near those that there are. */
export const time = fc.constantFrom(
  '{clock}',
  '{clock+1}',
  '{clock+5}',
  '{clock-1}',
  '{clock-3}',
  '{object}',
  '{object+1}',
  '{object-1}',
  '{other}',
  '{other}',
  '{now+2}',
  '{now-9}',
  '{gone}',
  '{gone+1}',
);
const attributes = fc.uniqueArray(fc.tuple(attribute, values), { maxLength: 3, selector: ([name]) => name });
const servers: fc.Arbitrary<readonly (readonly [string, Json])[]> = fc.oneof(
  { weight: 12, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: time.map((value) => [['last_modified', value] as const]) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<readonly [string, Json]>(
        ['last_modified', true],
        ['last_modified', null],
        ['last_modified', -5],
        ['last_modified', '12'],
        ['deleted', true],
        ['deleted', false],
        ['__permissions__', { read: [everyone] }],
      )
      .map((pair) => [pair]),
  },
);
const member = fc.constantFrom('{ann}', '{ben}', '{cat}', '{ben}', '{cat}', authenticated);
const members: fc.Arbitrary<Json> = fc.oneof(
  { weight: 12, arbitrary: fc.array(member, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.constantFrom<Json>([everyone], ['/buckets/b/groups/g'], [''], [1, '{ann}'], 'x', null) },
);
/** Those that JSON may hold. */
const hostileIds = ['b', 'r'].flatMap(hostileIdsNear).filter((id) => !id.includes('\0'));
const principal = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom('{ann}', '{ben}', '{cat}', '{ben}', '{cat}', authenticated, everyone, ...groupUris),
  },
  { weight: 1, arbitrary: fc.constantFrom(...hostileIds.map((id) => `/buckets/${id}/groups/g`)) },
);
const entry: fc.Arbitrary<Json> = fc.oneof(
  { weight: 20, arbitrary: fc.array(principal, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.constantFrom<Json>([''], [3], 'x', ['{ann}', '{ann}']) },
);
const someEntries = fc.array(fc.tuple(fc.nat(40), entry), { maxLength: 2 });
/** Like `someEntries`, with valid principals only. */
export const shares = fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.array(principal, { maxLength: 2 })), {
  maxLength: 2,
});

const schemas = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<Json>(
      {},
      { properties: { n: { type: 'number' } } },
      { properties: { n: { minimum: 1 }, s: { maxLength: 5 } }, required: ['id', 's', 'last_modified'] },
      { required: ['n', 's'], properties: { id: { enum: ['r', 's', 'g', 'c', 'r_'] } } },
      {
        properties: { o: { type: 'object', properties: { k: { type: 'integer' } } }, t: { items: { type: 'string' } } },
      },
      { properties: { n: {}, s: true, members: {}, attachment: {}, schema: {} }, additionalProperties: false },
      { minProperties: 1, additionalProperties: { exclusiveMinimum: 1 } },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Json>(
      'x',
      null,
      [],
      true,
      { type: 'text' },
      { exclusiveMinimum: true },
      { properties: [] },
      { items: { required: 'n' } },
    ),
  },
);
/** Declared indexes of a collection, and what is none. */
const indexes = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<Json>(
      [],
      [{ fields: ['n'] }],
      [{ fields: ['s', '-n'] }, { fields: ['o.k'] }],
      [{ fields: ['s'], unique: true }],
      [{ fields: ['-n', 's'], unique: true }, { fields: ['t'] }],
      [
        { fields: ['n'], unique: false },
        { fields: ['o'], unique: true },
      ],
      [{ text: ['s', 'n'] }],
      [{ text: ['s', 'n'] }],
      [{ fields: ['n'] }, { text: ['t', 'o.k', 's'] }],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Json>(
      'x',
      {},
      [{}],
      [{ fields: ['n'] }, 3],
      [{ fields: ['n', 'last_modified'] }],
      [{ fields: ['n'], unique: 'yes' }],
      [{ fields: ['n'], kind: 'hash' }],
      [{ text: ['-n'] }],
      [{ text: ['n'], unique: true }],
      [{ text: [] }],
    ),
  },
);

/** `undefined` most of the time. `fc.option` cannot say that: its `freq` is about how often there is something. */
export function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

/** What a body may hold; the kind decides what becomes of it. */
export const content = fc.record({
  schema: rarely(fc.tuple(fc.nat(2), schemas)),
  indexes: fc.option(indexes, { freq: 2, nil: undefined }),
  shape: fc.nat(40),
  attributes,
  servers,
  members: fc.option(members, { freq: 3, nil: undefined }),
  entries: fc.option(someEntries, { freq: 2, nil: undefined }),
  id: fc.nat(30),
  odd: fc.constantFrom(...hostileIds),
});
type Content = typeof content extends fc.Arbitrary<infer T> ? T : never;

/** Records have an attribute of that name that is not theirs to set. */
function schemaFor(kind: Kind, given: Content['schema']): readonly [string, Json][] {
  if (given === undefined) return [];
  const [pick, schema] = given;
  if (kind === 'record') return pick === 0 ? [['schema', 5]] : [];
  const names = schemaNames[kind];
  return names.length === 0 ? [] : [[names[pick % names.length]!, schema]];
}

/** The body for an object of the kind. */
export function bodyFor(kind: Kind, given: Content, isPost: boolean): Json | undefined {
  const { shape } = given;
  if (shape === 0) return undefined;
  if (shape === 1) return { data: [], extra: 1 };
  if (shape === 2) return {};
  if (shape === 3) return { data: { n: new Digits('1e400') } };
  const id: [string, Json][] = isPost
    ? given.id < 14
      ? [['id', given.id === 0 ? given.odd : idFor(kind, given.id)]]
      : []
    : given.id === 1
      ? [['id', 'other']]
      : [];
  const group: [string, Json][] = kind === 'group' && given.members !== undefined ? [['members', given.members]] : [];
  const schema = schemaFor(kind, given.schema);
  const declared: [string, Json][] =
    kind === 'collection' && given.indexes !== undefined ? [['indexes', given.indexes]] : [];
  const data: JsonMap = Object.fromEntries([
    ...given.attributes,
    ...given.servers,
    ...group,
    ...schema,
    ...declared,
    ...id,
  ]);
  const names = [...entryNames[kind], 'read', 'write'];
  const permissions = Object.fromEntries(
    (given.entries ?? []).map(([pick, list]) => [pick === 0 ? 'publish' : names[pick % names.length]!, list]),
  );
  if (shape < 8) return { permissions };
  return given.entries === undefined ? { data } : { data, permissions };
}
