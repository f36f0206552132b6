// What may stand in a body and comes back as it was (docs/reference/http-api/README.md#json).
import { absent, only, aTimestamp } from './match.ts';
import { describeScenarios, type Scenario } from './scenarios.ts';

const depth = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const json = { 'Content-Type': 'application/json' };

const kept: readonly (readonly [string, string])[] = [
  ['a 64 bit unsigned integer', '12345678901234567890'],
  ['a 64 bit signed integer', '-9223372036854775808'],
  ['the largest unsigned 64 bit integer', '18446744073709551615'],
  ['an integer just beyond doubles', '9007199254740993'],
  ['a float that is whole', '1.0'],
  ['a small float', '1.5'],
  ['a text with every kind of character', '"äöü € 😀 \\" \\\\ / \\n \\t"'],
  ['an empty text', '""'],
  ['an empty list and object', '[[],{}]'],
  ['null, true and false', '[null,true,false]'],
];

const keptScenarios: readonly Scenario[] = kept.map(([title, text]) => ({
  name: `The value comes back as it was: ${title}.`,
  given: ['collection'],
  request: `PUT {R}/x {"data":{"v":${text}}}`,
  status: 201,
  then: [
    { request: 'GET {R}/x', text: new RegExp(`"v":${text.replaceAll(/[[\](){}.\\+*?^$|]/g, String.raw`\$&`)}[,}]`) },
    { request: 'GET {R}', text: new RegExp(`"v":${text.replaceAll(/[[\](){}.\\+*?^$|]/g, String.raw`\$&`)}[,}]`) },
  ],
}));

const refused: readonly (readonly [string, string])[] = [
  ['NaN', '{"data":{"v":NaN}}'],
  ['Infinity', '{"data":{"v":-Infinity}}'],
  ['a number beyond doubles', '{"data":{"v":1e400}}'],
  ['a trailing comma', '{"data":{"v":1,}}'],
  ['a single quote', "{'data':{}}"],
  ['text after the end', '{"data":{}} x'],
  ['a control character in a text', '{"data":{"v":"a\u0001"}}'],
];

const refusedScenarios: readonly Scenario[] = refused.map(([title, raw]) => ({
  name: `PUT refuses ${title}.`,
  given: ['collection'],
  request: 'PUT {R}/x',
  raw,
  headers: json,
  status: 400,
  errno: 107,
  body: {
    details: [{ location: 'body', name: '' }],
  },
}));

describeScenarios('values', [
  ...keptScenarios,
  ...refusedScenarios,
  {
    name: 'A bigger integer keeps its value.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"v":12345678901234567890123}}',
    status: 201,
    body: { data: { v: 12345678901234567890123 } },
  },
  {
    name: 'An exponent keeps its value.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"v":1e3}}',
    body: { data: { v: 1000 } },
  },
  {
    name: 'Digits survive a patch of another attribute.',
    given: ['collection', 'PUT {R}/x {"data":{"v":12345678901234567890}}'],
    request: 'PATCH {R}/x {"data":{"w":1}}',
    text: /"v":12345678901234567890[,}]/,
  },
  {
    name: 'Digits survive a merge patch.',
    given: ['collection', 'PUT {R}/x {"data":{"o":{"v":12345678901234567890}}}'],
    request: 'PATCH {R}/x {"data":{"o":{"w":1}}}',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    text: /"v":12345678901234567890[,}]/,
  },
  {
    name: 'Digits survive a JSON patch.',
    given: ['collection', 'PUT {R}/x {"data":{"v":12345678901234567890}}'],
    request: 'PATCH {R}/x [{"op":"copy","from":"/data/v","path":"/data/w"}]',
    headers: { 'Content-Type': 'application/json-patch+json' },
    text: /"w":12345678901234567890[,}]/,
  },
  {
    name: 'Digits survive a batch.',
    given: ['collection'],
    request: 'POST /batch {"requests":[{"method":"PUT","path":"{R}/x","body":{"data":{"v":12345678901234567890}}}]}',
    text: /"v":12345678901234567890[,}]/,
    then: [{ request: 'GET {R}/x', text: /12345678901234567890/ }],
  },
  {
    name: 'Digits survive a projection.',
    given: ['collection', 'PUT {R}/x {"data":{"o":{"v":12345678901234567890,"w":1}}}'],
    request: 'GET {R}/x?_fields=o.v',
    text: /"v":12345678901234567890[,}]/,
  },
  {
    name: 'Filters compare all digits.',
    given: ['collection', 'PUT {R}/x {"data":{"v":9007199254740993}}', 'PUT {R}/y {"data":{"v":9007199254740992}}'],
    request: 'GET {R}?v=9007199254740993',
    body: { data: [{ id: 'x' }] },
  },
  {
    name: 'The last of duplicate keys wins.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"a":1,"b":2,"a":3}}',
    body: { data: { a: 3, b: 2 } },
  },
  {
    name: 'Keys named after built-ins are ordinary data.',
    given: ['collection'],
    request:
      'PUT {R}/x {"data":{"__proto__":{"p":1},"constructor":"c","toString":null,"hasOwnProperty":2,"":"empty","a.b":3}}',
    status: 201,
    text: /"__proto__":\{"p":1\}/,
    then: [
      {
        request: 'GET {R}/x',
        text: /"__proto__":\{"p":1\},"constructor":"c","toString":null,"hasOwnProperty":2,"":"empty","a\.b":3/,
      },
      { request: 'PATCH {R}/x {"data":{"q":1}}', text: /"__proto__":\{"p":1\}/ },
      { request: 'GET {R}?__proto__.p=1', body: { data: [{ id: 'x' }] } },
      { request: 'GET {R}?constructor=c', body: { data: [{ id: 'x' }] } },
      {
        request: 'GET {R}/x?_fields=constructor',
        body: { data: only({ id: 'x', last_modified: aTimestamp, constructor: 'c' }) },
      },
    ],
  },
  {
    name: 'Nothing is inherited: a record has no constructor of its own.',
    given: ['record'],
    request: 'GET {R}?has_constructor=true',
    body: { data: [] },
    then: [
      { request: 'GET {R}?has_toString=false', body: { data: [{ id: 'r' }] } },
      { request: 'GET {R}/r?_fields=constructor,__proto__', body: { data: { constructor: absent } } },
      { request: 'GET {R}?_sort=constructor', body: { data: [{ id: 'r' }] } },
    ],
  },
  {
    name: 'A merge patch leaves prototypes alone.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    status: 200,
    then: [
      { request: 'GET {R}?has_polluted=true', body: { data: [] } },
      { request: 'GET /', body: { polluted: absent } },
    ],
  },
  {
    name: 'A JSON patch may add any key.',
    given: ['record'],
    request: 'PATCH {R}/r [{"op":"add","path":"/data/__proto__","value":{"p":1}}]',
    headers: { 'Content-Type': 'application/json-patch+json' },
    status: 200,
    text: /"__proto__":\{"p":1\}/,
  },
  {
    name: 'A permission named after a built-in is unknown.',
    given: ['collection'],
    request: 'PUT {R}/x {"permissions":{"__proto__":["a"]}}',
    issues: [['body', 'permissions']],
    then: [{ request: 'PUT {R}/x {"permissions":{"constructor":["a"]}}', issues: [['body', 'permissions']] }],
  },
  {
    name: 'A member of the envelope named after a built-in is unknown.',
    given: ['collection'],
    request: 'PUT {R}/x {"__proto__":{"data":{}}}',
    issues: [['body', '']],
  },
  {
    name: 'A lone surrogate in a value is refused by its name.',
    given: ['collection'],
    request: String.raw`PUT {R}/x {"data":{"v":"\ud83d"}}`,
    issues: [['body', 'data.v']],
  },
  {
    name: 'A lone surrogate in a key is refused.',
    given: ['collection'],
    request: String.raw`PUT {R}/x {"data":{"\udc00":1}}`,
    status: 400,
    errno: 107,
  },
  {
    name: 'A null character in a value is refused by its name.',
    given: ['collection'],
    request: String.raw`PUT {R}/x {"data":{"a":{"b":["x\u0000"]}}}`,
    status: 400,
    errno: 107,
    body: { details: [{ location: 'body', name: /a\.b/ }] },
  },
  {
    name: 'A null character in a key is refused.',
    given: ['collection'],
    request: String.raw`PUT {R}/x {"data":{"k\u0000":1}}`,
    status: 400,
    errno: 107,
  },
  {
    name: 'A null character in a principal is refused.',
    given: ['collection'],
    request: String.raw`PUT {R}/x {"permissions":{"read":["a\u0000"]}}`,
    status: 400,
    errno: 107,
  },
  {
    name: 'A null character in a batch is refused.',
    given: ['collection'],
    request: String.raw`POST /batch {"requests":[{"method":"PUT","path":"{R}/x","body":{"data":{"a":"\u0000"}}}]}`,
    status: 400,
    errno: 107,
  },
  {
    name: 'Invalid UTF-8 is refused.',
    given: ['collection'],
    request: 'PUT {R}/x',
    raw: Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    headers: json,
    status: 400,
    errno: 107,
    body: {
      details: [{ location: 'body', name: '' }],
    },
  },
  {
    name: 'A depth of 500 is accepted.',
    given: ['collection'],
    request: `PUT {R}/x {"data":{"v":${depth(498)}}}`,
    status: 201,
  },
  {
    name: 'A depth of 501 is refused.',
    given: ['collection'],
    request: `PUT {R}/x {"data":{"v":${depth(499)}}}`,
    status: 400,
    errno: 107,
  },
  {
    name: 'An absurd depth is refused.',
    given: ['collection'],
    request: 'PUT {R}/x',
    raw: depth(200_000),
    headers: json,
    status: 400,
    errno: 107,
  },
  {
    name: 'A record of two megabytes is accepted.',
    given: ['collection'],
    request: 'PUT {R}/x',
    raw: `{"data":{"v":"${'x'.repeat(2_000_000)}"}}`,
    headers: json,
    status: 201,
  },
]);

describeScenarios(
  'large bodies',
  [
    {
      name: 'A body larger than the limit is refused.',
      request: 'PUT {B}',
      raw: `{"data":{"v":"${'x'.repeat(1000)}"}}`,
      headers: json,
      status: 413,
      errno: 113,
    },
    {
      name: 'A body of unknown length that grows beyond the limit is refused.',
      request: 'PUT {B}',
      raw: `{"data":{"v":"${'x'.repeat(1000)}"}}`,
      headers: { ...json, 'Transfer-Encoding': 'chunked' },
      status: 413,
      errno: 113,
    },
    { name: 'A smaller body is accepted.', request: 'PUT {B}', raw: '{"data":{"v":"x"}}', headers: json, status: 201 },
  ],
  { settings: { max_body_size: '1000' } },
);
