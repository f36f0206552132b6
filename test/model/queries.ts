// Random query strings of lists: filters that often fit what is stored, bounds, orders, pages and fields.
import fc from 'fast-check';
import { hostileIdsNear } from '../support/hostile-ids.ts';
import { time } from './bodies.ts';

/** Names of attributes, and of what every object has. */
export const field = fc.constantFrom(
  'n',
  'n',
  's',
  't',
  'o',
  'o.k',
  'o.k.j',
  'id',
  'constructor',
  '__proto__',
  'deleted',
);
const written = fc.constantFrom(
  '1',
  '2',
  '"2"',
  '1.0',
  '9007199254740993',
  '9007199254740992.0',
  '-12345678901234567890.50',
  'apple',
  'Apple',
  'null',
  'true',
  '',
  '["a","b"]',
  '{"k":1}',
  'r',
  's',
  '10',
  'a*',
  '*p*',
  '%',
  '_',
  'é',
  '[]',
  'é"',
);
const writtenJson = written.filter((text) => /^(?:-?\d|null$|true$|"|\[|\{)/.test(text));
const hostileId = fc.constantFrom(...hostileIdsNear('r'), ...hostileIdsNear('b'));
export const filter: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom('id', 'not_id', 'in_id', 'exclude_id', 'gt_id', 'like_id', 's'), hostileId),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom('', '', 'not_', 'lt_', 'max_', 'gt_', 'min_', 'eq_', 'like_', 'contains_', 'contains_any_'),
        field,
        written,
      )
      .map(([operator, name, value]) => [operator + name, value] as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('in_', 'exclude_'), field, fc.array(written, { minLength: 1, maxLength: 3 }))
      .map(([operator, name, list]) => [operator + name, list.join()] as const),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ['id', 'r'] as const,
      ['id', 's'] as const,
      ['in_id', 'r,s,r_'] as const,
      ['in_id', 'b,b_,c'] as const,
      ['not_id', 'r'] as const,
      ['gt_id', 'r'] as const,
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(field, fc.constantFrom('true', 'false', '1', '0', 'yes', 'no', 'x'))
      .map(([name, value]) => [`has_${name}`, value] as const),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('', 'not_', 'lt_', 'max_', 'gt_', 'min_', 'in_', 'has_', 'like_'),
        fc.oneof(time, fc.constantFrom('x', '-1', '1.5', 'true')),
      )
      .map(([operator, value]) => [`${operator}last_modified`, value] as const),
  },
);
/** A selector, as JSON text. */
const selectorText = fc.letrec<{ one: string; all: string }>((tie) => ({
  one: fc
    .tuple(
      field,
      fc.oneof(
        fc.tuple(
          fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$contains', '$containsAny', '$elemMatch'),
          writtenJson,
        ),
        fc.tuple(
          fc.constantFrom('$in', '$nin'),
          fc.array(writtenJson, { maxLength: 3 }).map((all) => `[${all.join()}]`),
        ),
        fc.constantFrom(
          ['$exists', 'true'],
          ['$exists', 'false'],
          ['$like', '"AP*"'],
          ['$like', '"%"'],
          ['$startsWith', '"a"'],
          ['$startsWith', '""'],
          ['$size', '2'],
          ['$size', '-1'],
          ['$type', '"number"'],
          ['$type', '["null","object"]'],
          ['$type', '"date"'],
          ['$elemMatch', '{"$gt":"a"}'],
          ['$elemMatch', '{"k":1}'],
          ['$regex', '"a"'],
        ),
      ),
      fc.boolean(),
    )
    .map(([name, [operator, value], isNegated]) => {
      const condition = `{"${operator}":${value}}`;
      return `{"${name}":${isNegated ? `{"$not":${condition}}` : condition}}`;
    }),
  all: fc.oneof(
    { maxDepth: 3 },
    { weight: 4, arbitrary: tie('one') },
    { weight: 1, arbitrary: fc.tuple(field, writtenJson).map(([name, value]) => `{"${name}":${value}}`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('$or', '$nor', '$and'), fc.array(tie('all'), { minLength: 1, maxLength: 2 }))
        .map(([operator, branches]) => `{"${operator}":[${branches.join()}]}`),
    },
    { weight: 1, arbitrary: tie('all').map((inner) => `{"$not":${inner}}`) },
  ),
})).all;
const term = fc.constantFrom(
  'apple',
  'APPLE',
  'tea',
  'te*',
  'appl*',
  '"green tea"',
  '"of apple"*',
  '日本',
  'té',
  'a',
  '-pie',
  '-"green apple"',
  '-tea*',
  'te*a',
  't*',
  '"',
  '%',
);
/** A search, most often for what is stored. */
export const search: fc.Arbitrary<readonly [string, string]> = fc.tuple(
  fc.constant('_q'),
  fc.oneof(
    { weight: 12, arbitrary: fc.array(term, { minLength: 1, maxLength: 2 }).map((terms) => terms.join(' ')) },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', '-', '"a') },
  ),
);
const parameter: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  { weight: 4, arbitrary: filter },
  { weight: 4, arbitrary: search },
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.constant('_filter'),
      fc.oneof(
        { weight: 20, arbitrary: selectorText },
        { weight: 1, arbitrary: fc.constantFrom('', '{}', '[]', '{"n"', 'n') },
      ),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.constantFrom('_since', '_since', '_since', '_before', '_to'),
      fc.oneof(
        { weight: 12, arbitrary: time.chain((at) => fc.constantFrom(at, `"${at}"`, '0')) },
        { weight: 1, arbitrary: fc.constantFrom('x', '-1', '', 'null', '99999999999999999') },
      ),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant('_sort'),
      fc
        .array(fc.tuple(fc.constantFrom('', '-', '+'), fc.oneof(field, fc.constantFrom('last_modified', '_score'))), {
          minLength: 1,
          maxLength: 3,
        })
        .map((keys) => keys.map((key) => key.join('')).join()),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constant('_limit'), fc.constantFrom('1', '1', '2', '"2"', '3', '0', '', '-1', 'x')),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('_fields'),
      fc
        .array(fc.oneof(field, fc.constantFrom('uri', 'target', 'last_modified')), { maxLength: 3 })
        .map((names) => names.join()),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(['_token', 'bm9uZQ=='] as const, ['_expected', '3'] as const) },
);
export const historyFilter: fc.Arbitrary<readonly [string, string]> = fc.tuple(
  fc.constantFrom(
    'action',
    'resource_name',
    'record_id',
    'uri',
    'like_uri',
    'target.data.n',
    'target.data.id',
    'not_action',
    'in_resource_name',
  ),
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc.constantFrom('create', 'update', 'delete', 'record', 'record,group', 'r', '10', 'bucket', '1'),
    },
    { weight: 1, arbitrary: hostileId },
  ),
);
export const permissionsFilter: fc.Arbitrary<readonly [string, string]> = fc.tuple(
  fc.constantFrom(
    'resource_name',
    'bucket_id',
    'record_id',
    'id',
    'like_uri',
    'not_id',
    'contains_permissions',
    'contains_any_permissions',
    'collection_id',
    'lt_uri',
  ),
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc.constantFrom('bucket', 'record', 'b', 'b_', 'r', '10', 'read', '["write","read"]', '/buckets/b'),
    },
    { weight: 2, arbitrary: hostileId },
    { weight: 1, arbitrary: hostileId.map((id) => `/buckets/${id}`) },
  ),
);

/** Names that only some lists know are asked of these alone, most of the time. */
export function query(
  more: fc.Arbitrary<readonly [string, string]>,
): fc.Arbitrary<readonly (readonly [string, string])[]> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 3,
      arbitrary: fc.array(fc.oneof({ weight: 1, arbitrary: more }, { weight: 1, arbitrary: parameter }), {
        minLength: 1,
        maxLength: 3,
      }),
    },
  );
}
