// Bodies for the fuzzer: envelopes, schemas, patches, batches, and what is none of them.
import fc from 'fast-check';
import { hostileIdsNear } from '../support/hostile-ids.ts';
import { place, query, suffix } from './addresses.ts';

const hostileId = fc.constantFrom(...hostileIdsNear('a'));
const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    1,
    'text',
    null,
    true,
    [],
    {},
    [1, 'a', { k: 1 }],
    { k: { k: 1 } },
    '\u{1f600}',
    Number.MAX_SAFE_INTEGER,
    1.5,
    'basicauth:x',
    ['x'],
  ),
  hostileId,
);
const usualPrincipals = fc.constantFrom<unknown>(
  ['system.Everyone'],
  ['system.Authenticated'],
  ['/buckets/a/groups/a'],
  [],
  ['__proto__'],
  ['*'],
  ['%'],
  null,
  [''],
  [1],
  'x',
);
const principals = fc.oneof(
  { weight: 12, arbitrary: usualPrincipals },
  { weight: 1, arbitrary: hostileId.map((id) => [id]) },
  { weight: 1, arbitrary: hostileId.map((id) => [`/buckets/${id}/groups/a`, `/buckets/a/groups/${id}`]) },
);
const permissions = fc.dictionary(
  fc.constantFrom('read', 'write', 'record:create', 'collection:create', 'group:create', 'publish', '__proto__'),
  principals,
  { maxKeys: 3 },
);
const attribute = fc.constantFrom(
  'n',
  's',
  'o',
  'tags',
  'id',
  'last_modified',
  'deleted',
  'schema',
  'members',
  'cache_expires',
  '__proto__',
  'constructor',
  '__permissions__',
  'record:schema',
  '',
  'a.b',
  'é',
);
const data = fc.dictionary(attribute, value, { maxKeys: 5 });
const pointer = fc.constantFrom(
  '/data',
  '/data/n',
  '/data/o/k',
  '/data/tags/-',
  '/data/tags/0',
  '/data/__proto__',
  '/data/id',
  '/permissions/read/x',
  '/permissions',
  '/permissions/write',
  '/permissions/foo/x',
  '',
  '/',
  'data',
  '/data/~1',
  '/data/~2',
  '/data/tags/99999999999999999999',
);
export const operation = fc.record(
  { op: fc.constantFrom('test', 'add', 'remove', 'replace', 'move', 'copy', 'x'), path: pointer, from: pointer, value },
  { requiredKeys: ['op', 'path'] },
);
const schema = fc.record(
  {
    $ref: fc.constantFrom('#', '#/x', 'http://x/y'),
    type: fc.constantFrom<unknown>('object', 'x', []),
    properties: fc.constantFrom<unknown>({ n: { type: 'number' } }, [], { __proto__: {} }),
    pattern: fc.constantFrom('(a+)+$', '(', '\\'),
    required: fc.constantFrom<unknown>(['id'], ['constructor'], 1),
  },
  { requiredKeys: [] },
);
/** Declared indexes, and what resembles them. */
const indexes = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(
      fc.record(
        {
          fields: fc.array(fc.constantFrom('n', '-n', 's', 'o.k', '-o', 'tags', 'id', '__proto__', 'a..b', '\u00e9'), {
            maxLength: 3,
          }),
          unique: fc.constantFrom<unknown>(true, false, false, 1),
        },
        { requiredKeys: ['fields'] },
      ),
      { maxLength: 3 },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      [{ text: ['s', 'n'] }],
      [{ text: [] }],
      [{ fields: ['n'] }, { text: ['s'] }],
      [],
      {},
      'x',
      [[]],
      Array.from({ length: 9 }, (_, n) => ({ fields: [`f${n}`] })),
    ),
  },
);
export const envelope = fc.oneof(
  { weight: 1, arbitrary: indexes.map((declared) => ({ data: { indexes: declared } })) },
  { weight: 6, arbitrary: fc.record({ data, permissions }, { requiredKeys: [] }) },
  { weight: 1, arbitrary: schema.map((made) => ({ data: { schema: made, 'record:schema': made } })) },
  { weight: 1, arbitrary: fc.record({ data: value, permissions: value, x: value }, { requiredKeys: [] }) },
);
const entry = fc.record(
  {
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'get', 'OPTIONS'),
    path: fc.tuple(place, suffix, query).map((parts) => parts.join('')),
    headers: fc.dictionary(
      fc.constantFrom('If-Match', 'Authorization', 'Content-Type', '__proto__', 'Host', 'Accept'),
      fc.constantFrom('*', '"1"', 'x', 'application/json-patch+json', 'a\nb', ''),
    ),
    body: envelope,
  },
  { requiredKeys: ['path'] },
);
export const batch = fc.record(
  { requests: fc.array(entry, { maxLength: 6 }), defaults: entry },
  { requiredKeys: ['requests'] },
);
const garbage = fc.constantFrom(
  '',
  '{',
  '[]',
  'null',
  '1',
  '"x"',
  '{"data":}',
  '\ufeff{}',
  '{"data":{"a":1e999}}',
  '{"data":{"a":"\\ud800"}}',
  '{"data":{"\\u0000":1}}',
  '{"a":1,"a":2}',
  '{"data":{"a":-0,"b":1.0,"c":12345678901234567890}}',
  '\u0000',
);
export const body = fc.oneof(
  { weight: 8, arbitrary: envelope.map((content) => JSON.stringify(content)) },
  { weight: 2, arbitrary: fc.array(operation, { maxLength: 4 }).map((operations) => JSON.stringify(operations)) },
  { weight: 1, arbitrary: garbage },
  {
    weight: 1,
    arbitrary: fc
      .tuple(envelope, fc.nat(60), fc.constantFrom('', '"', '}', ',', '\\', '\u0001'))
      .map(([content, at, mark]) => {
        const text = JSON.stringify(content);
        return text.slice(0, at) + mark + text.slice(at + 1);
      }),
  },
);
