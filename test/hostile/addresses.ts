// Addresses for the fuzzer: paths and query strings, from well-formed ones over small mutations to garbage.
import fc from 'fast-check';
import { encodePath, hostileIdsNear, hostileSegments } from '../support/hostile-ids.ts';

const id = fc.constantFrom(
  'a',
  'a',
  'a',
  'b',
  'a_b',
  'a-B',
  'x9',
  'constructor',
  'toString',
  'hasOwnProperty',
  'default',
  'valueOf',
);
const oddId = fc.constantFrom(
  '__proto__',
  '%00',
  '%ff',
  '%',
  '%2',
  'a%2Fb',
  '%2e%2e',
  '..',
  'é',
  '%C3%A9',
  'a b',
  'a%20b',
  "a'b",
  'a"b',
  'a%22b',
  '*',
  'a*',
  'a%0A',
  '%25',
  '%252F',
  ';',
  'a;b',
  '@',
  '-a',
  'a'.repeat(513),
  '[]',
  '{}',
  '~',
  '!',
  '%F0%9F%98%80',
  '%ED%A0%80',
  ':id',
  '$ref',
);
const hostileId = fc.constantFrom(...hostileIdsNear('a').map(encodePath), ...hostileSegments);
const anyId = fc.oneof(
  { weight: 40, arbitrary: id },
  { weight: 1, arbitrary: oddId },
  { weight: 2, arbitrary: hostileId },
  { weight: 1, arbitrary: fc.string({ maxLength: 6 }).map(encode) },
);
export const place = fc.oneof(
  { weight: 1, arbitrary: fc.constant('/buckets') },
  { weight: 2, arbitrary: anyId.map((bucket) => `/buckets/${bucket}`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(anyId, fc.constantFrom('groups', 'collections'))
      .map(([bucket, kind]) => `/buckets/${bucket}/${kind}`),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(anyId, fc.constantFrom('groups', 'collections'), anyId)
      .map(([bucket, kind, name]) => `/buckets/${bucket}/${kind}/${name}`),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(anyId, anyId).map(([bucket, name]) => `/buckets/${bucket}/collections/${name}/records`),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(anyId, anyId, anyId)
      .map(([bucket, name, record]) => `/buckets/${bucket}/collections/${name}/records/${record}`),
  },
  { weight: 1, arbitrary: anyId.map((bucket) => `/buckets/${bucket}/history`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          '/buckets/1/collections/2/records/3/attachment',
          '/attachments/1/2/3/4',
          '/buckets/1/snapshot/collections/2@9000000000000',
          '/buckets/1/snapshot/collections/2@3',
          '/buckets/1/collections/2/indexes',
          '/buckets/1/collections/2/changeset?_expected=0',
          '/buckets/monitor/collections/1/changeset?_expected=0',
          '/buckets/default/groups/1',
          '/buckets/default/collections/1/records/2',
          '/validate/1',
        ),
        fc.tuple(anyId, anyId, anyId, anyId),
      )
      // The numbers stand for ids.
      .map(([address, ids]) => address.replaceAll(/(?<=[/@])[1-4](?=[/@?]|$)/g, (number) => ids[Number(number) - 1]!)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '/permissions',
      '/',
      '/batch',
      '/__heartbeat__',
      '/__api__',
      '/docs',
      '/docs/page.js',
      '/contribute.json',
      '/__version__',
      '/nothing',
      '',
    ),
  },
);
export const prefix = fc.oneof(
  { weight: 60, arbitrary: fc.constant('/v1') },
  { weight: 1, arbitrary: fc.constantFrom('', '/v0', '/v2', '//v1', '/V1', '/v1/') },
);
export const suffix = fc.oneof(
  { weight: 60, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('/', '//', '%2F', '/.', '#x', ';a') },
);

const field = fc.constantFrom(
  'n',
  's',
  'o.k',
  'o',
  'tags',
  'id',
  'last_modified',
  'deleted',
  '__proto__',
  'constructor',
  'a.b',
  '..',
  'a..b',
  '',
  'é',
  'schema',
  'x y',
  'o.__proto__',
  'id.x',
);
const operator = fc.constantFrom(
  '',
  'lt_',
  'min_',
  'max_',
  'not_',
  'eq_',
  'gt_',
  'in_',
  'exclude_',
  'like_',
  'has_',
  'contains_',
  'contains_any_',
  'LT_',
  '_',
);
const selectorOperator = fc.constantFrom(
  '$eq',
  '$ne',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$in',
  '$nin',
  '$exists',
  '$not',
  '$like',
  '$startsWith',
  '$contains',
  '$containsAny',
  '$elemMatch',
  '$size',
  '$type',
  '$regex',
  '$',
  'n',
);
const scalar = fc.constantFrom(
  '1',
  '"1"',
  '1.0',
  '1e400',
  '-0',
  '9007199254740993',
  '12345678901234567890',
  'true',
  'null',
  '',
  'a',
  'a*b',
  '%',
  '_',
  '\\',
  '"',
  '[1,2]',
  '[]',
  '{}',
  '{"a":1}',
  '[[',
  '\u0000',
  '"\\u0000"',
  '"\\ud800"',
  '1,2',
  ',',
  '*',
  '***',
  '\u{1f600}',
  'a,b',
  "'; DROP TABLE objects; --",
  '$.a',
  '0',
  '-1',
  '1e3',
  '00',
  ' 1',
);
/** Selectors, most of them well-formed, and what resembles them. */
const selector = fc.letrec<{ operand: unknown; condition: unknown; all: unknown }>((tie) => ({
  operand: fc.oneof(
    { maxDepth: 2 },
    {
      weight: 6,
      arbitrary: fc.constantFrom<unknown>(1, 'a', null, true, '', [], [1, 'a'], {}, -1, 1e21, '\u{1f600}', 'a*', '*'),
    },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    { weight: 1, arbitrary: tie('condition') },
  ),
  condition: fc.dictionary(selectorOperator, tie('operand'), { minKeys: 1, maxKeys: 2 }),
  all: fc.oneof(
    { maxDepth: 4 },
    { weight: 5, arbitrary: fc.dictionary(field, fc.oneof(tie('operand'), tie('condition')), { maxKeys: 2 }) },
    {
      weight: 2,
      arbitrary: fc.dictionary(
        fc.constantFrom('$or', '$and', '$nor', '$not', '$OR'),
        fc.array(tie('all'), { maxLength: 3 }),
        {
          maxKeys: 1,
        },
      ),
    },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('$not', '$or'), tie('all'), { maxKeys: 1 }) },
    { weight: 1, arbitrary: tie('operand') },
  ),
})).all;
const selectorText = fc.oneof(
  { weight: 12, arbitrary: selector.map((value) => JSON.stringify(value)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '{"n":9007199254740993}',
      '{"n":1e400}',
      `{"n":${'9'.repeat(80)}}`,
      '{"s":"\\u0000"}',
      '{"s":{"$startsWith":"\\ud800"}}',
      '{"n":{"$in":[',
      `${'{"$not":'.repeat(300)}{}${'}'.repeat(300)}`,
      `{"n":{"$in":[${'1,'.repeat(1000)}1]}}`,
      `{"s":{"$like":"${'a*'.repeat(300)}"}}`,
      '{"__proto__":{"$exists":true}}',
    ),
  },
);
const words = fc
  .array(
    fc.constantFrom(
      'a',
      'tea',
      '-tea',
      '"',
      '"a b"',
      '-"a',
      'te*',
      '*',
      '-',
      '\u00e9',
      '\u{1f600}',
      '\u0000',
      "'",
      '\\',
      'AND',
      '\u65e5\u672c',
    ),
    {
      maxLength: 6,
    },
  )
  .map((all) => all.join(' '));
const parameter = fc.oneof(
  { weight: 3, arbitrary: selectorText.map((text) => `_filter=${encode(text)}`) },
  { weight: 1, arbitrary: words.map((text) => `_q=${encode(text)}`) },
  { weight: 1, arbitrary: fc.constantFrom('_explain=true', '_explain=x', '_gone=true', '_sort=-_score') },
  {
    weight: 5,
    arbitrary: fc.tuple(operator, field, scalar).map(([op, name, value]) => `${encode(op + name)}=${encode(value)}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom('_since', '_before', '_to', '_limit', '_sort', '_token', '_fields', '_x', 'last_modified'),
        scalar,
      )
      .map(([name, value]) => `${name}=${encode(value)}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.tuple(fc.constantFrom('', '-', '+', '--'), field).map((pair) => pair.join('')),
        { maxLength: 4 },
      )
      .map((keys) => `_sort=${encode(keys.join())}`),
  },
  { weight: 1, arbitrary: fc.array(field, { maxLength: 4 }).map((names) => `_fields=${encode(names.join())}`) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 }).map((limit) => `_limit=${limit}`) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.jsonValue({ maxDepth: 2 }), fc.boolean()).map(([last, isShaped]) => {
      const content = isShaped
        ? { last_object: { n: last, id: 'a', last_modified: 5 }, offset: 0, nonce: 'pagination-token-x' }
        : last;
      return `_token=${encode(Buffer.from(JSON.stringify(content)).toString('base64'))}`;
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom('%ff=1', 'a=%ff', '%', '=', '&&', 'a', '%00=1', '?', 'a=%ED%A0%80') },
);
export const query = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.array(parameter, { minLength: 1, maxLength: 4 }).map((parts) => `?${parts.join('&')}`) },
);

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
