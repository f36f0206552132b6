// A grammar of requests, from well-formed ones over small mutations to garbage, for the fuzzer.
import fc from 'fast-check';

export interface FuzzRequest {
  readonly user: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or what is none. */
  readonly body: string | undefined;
}

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
const anyId = fc.oneof(
  { weight: 40, arbitrary: id },
  { weight: 1, arbitrary: oddId },
  { weight: 1, arbitrary: fc.string({ maxLength: 6 }).map(encode) },
);
const place = fc.oneof(
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
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '/permissions',
      '/',
      '/batch',
      '/__heartbeat__',
      '/__api__',
      '/contribute.json',
      '/__version__',
      '/nothing',
      '',
    ),
  },
);
const prefix = fc.oneof(
  { weight: 60, arbitrary: fc.constant('/v1') },
  { weight: 1, arbitrary: fc.constantFrom('', '/v0', '/v2', '//v1', '/V1', '/v1/') },
);
const suffix = fc.oneof(
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
const parameter = fc.oneof(
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
const query = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.array(parameter, { minLength: 1, maxLength: 4 }).map((parts) => `?${parts.join('&')}`) },
);

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
);
const principals = fc.constantFrom<unknown>(
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
const operation = fc.record(
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
const envelope = fc.oneof(
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
const batch = fc.record(
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
const body = fc.oneof(
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

const header: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.tuple(
    fc.constantFrom('If-Match', 'If-None-Match'),
    fc.constantFrom(
      '*',
      '*',
      '*',
      '"1"',
      '"0"',
      '1',
      'W/"1"',
      '""',
      '*x',
      '"1","2"',
      `"${'9'.repeat(400)}"`,
      '"-1"',
      '\u00e9',
    ),
  ),
  fc.tuple(
    fc.constant('Content-Type'),
    fc.constantFrom(
      'application/json',
      'application/json-patch+json',
      'application/merge-patch+json',
      'text/plain',
      'APPLICATION/JSON; charset=x',
      '',
      ';',
      'a/b/c',
      'application/json;;',
      '\u00e9',
    ),
  ),
  fc.tuple(
    fc.constant('Accept'),
    fc.constantFrom('*/*', 'text/html', 'application/json;q=0', '', ';q=', 'application/*;q=x', ',,,'),
  ),
  fc.tuple(fc.constant('Origin'), fc.constantFrom('null', 'https://x', '*', '\u00e9', '')),
  fc.tuple(fc.constant('Response-Behavior'), fc.constantFrom('light', 'diff', 'full', 'LIGHT', '')),
  fc.tuple(fc.constant('X-Request-Id'), fc.constantFrom('a', 'a b', '\u00e9', 'x'.repeat(500))),
  fc.tuple(
    fc.constant('Authorization'),
    fc.constantFrom(
      'Basic',
      'Basic ====',
      'Basic Og==',
      'Basic OmE=',
      'Bearer x',
      'Basic /w==',
      `Basic ${'A'.repeat(3000)}`,
      '\u00e9',
    ),
  ),
  fc.tuple(fc.constant('Host'), fc.constantFrom('x', 'x:1', 'a/b', '', '\u00e9', '[::1]')),
  fc.tuple(
    fc.constantFrom('Access-Control-Request-Method', 'Access-Control-Request-Headers'),
    fc.constantFrom('GET', 'x, y', '\u00e9', ''),
  ),
);

const user = fc.constantFrom('alice', 'alice', 'alice', 'bob', 'bob', undefined);
const method = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'PUT', 'PUT', 'PUT', 'PATCH', 'PATCH', 'DELETE'),
  },
  { weight: 1, arbitrary: fc.constantFrom('OPTIONS', 'TRACE', 'PROPFIND') },
);

/** What a client might well ask for: a method that the address serves, and a body of the right form. */
const likely: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    user,
    place,
    query,
    fc.nat(9),
    envelope,
    fc.array(operation, { maxLength: 3 }),
    fc.constantFrom('', '', 'merge-patch+', 'json-patch+'),
  )
  .map(([by, path, search, pick, content, operations, format]) => {
    const isObject = path.split('/').length % 2 === 1;
    const verb = (
      isObject
        ? ['PUT', 'PUT', 'PUT', 'PATCH', 'PATCH', 'PATCH', 'PATCH', 'GET', 'HEAD', 'DELETE']
        : ['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'POST', 'POST', 'GET']
    )[pick]!;
    const text = JSON.stringify(verb === 'PATCH' && format === 'json-patch+' ? operations : content);
    const type = verb === 'PATCH' ? `application/${format}json` : 'application/json';
    const hasBody = verb.startsWith('P');
    return {
      user: by,
      method: verb,
      path: `/v1${path}${hasBody ? '' : search}`,
      headers: hasBody ? { 'Content-Type': type } : {},
      body: hasBody ? text : undefined,
    };
  });

/** One request; batches among them. */
export const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 12, arbitrary: likely },
  {
    weight: 9,
    arbitrary: fc.record({
      user,
      method,
      path: fc.tuple(prefix, place, suffix, query).map((parts) => parts.join('') || '/'),
      headers: fc.oneof(
        { weight: 6, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.array(header, { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs)) },
      ),
      body: fc.option(body, { nil: undefined, freq: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      user: fc.constantFrom('alice', 'bob', undefined),
      method: fc.constant('POST'),
      path: fc.constant('/v1/batch'),
      headers: fc.constant({}),
      body: batch.map((content) => JSON.stringify(content)),
    }),
  },
);

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
