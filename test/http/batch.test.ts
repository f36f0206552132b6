// The batch endpoint (docs/reference/http-api/batch.md).
import { absent, anEtag, aText, ids, items, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const patchType = '"headers":{"Content-Type":"application/json-patch+json"}';

describeScenarios('batches', [
  {
    name: 'An empty batch has no responses.',
    request: 'nobody: POST /batch {"requests":[]}',
    status: 200,
    body: only({ responses: [] }),
  },
  // Proves S-150, S-152.
  {
    name: 'Responses are in order, each equal to that of the single request.',
    given: ['collection'],
    request:
      'POST /batch {"requests":[{"method":"PUT","path":"{R}/a","body":{"data":{"x":1}}},{"path":"/v1{R}/a?_fields=x"},{"method":"HEAD","path":"{R}"},{"method":"DELETE","path":"{R}/a"},{"path":"{R}/a"}]}',
    status: 200,
    body: only({
      responses: [
        {
          status: 201,
          path: '/v1{R}/a',
          body: { data: { id: 'a', x: 1 } },
          headers: { ETag: anEtag, 'Content-Length': /^\d+$/, 'Content-Type': /json/ },
        },
        { status: 200, path: '/v1{R}/a', body: only({ data: { x: 1 } }) },
        { status: 200, body: '', headers: { 'Total-Objects': '1', 'Total-Records': '1' } },
        { status: 200, body: { data: { deleted: true } } },
        { status: 404, body: { code: 404, errno: 110, details: { id: 'a', resource_name: 'record' } } },
      ],
    }),
    then: [{ request: 'GET {R}?_since=0', body: { data: ids('a') } }],
  },
  {
    name: 'Defaults are merged deeply into each entry.',
    given: ['collection'],
    request:
      'POST /batch {"defaults":{"method":"POST","path":"{R}","body":{"data":{"a":1,"o":{"p":1}}}},"requests":[{"body":{"data":{"id":"x","o":{"q":2}}}},{"body":{"data":{"id":"y","a":2}}},{"method":"GET","path":"{C}","body":{}}]}',
    body: {
      responses: [
        { status: 201, body: { data: { id: 'x', a: 1, o: { p: 1, q: 2 } } } },
        { status: 201, body: { data: { id: 'y', a: 2 } } },
        { status: 200, body: { data: { id: 'c' } } },
      ],
    },
  },
  {
    name: 'Headers of an entry replace defaults in any spelling.',
    given: ['record'],
    request:
      'POST /batch {"defaults":{"headers":{"If-Match":"*"}},"requests":[{"method":"PUT","path":"{R}/r","body":{"data":{"n":2}},"headers":{"if-match":"\\"1\\""}},{"method":"PUT","path":"{R}/r","body":{"data":{"n":3}}}]}',
    body: { responses: [{ status: 412 }, { status: 200 }] },
  },
  {
    name: 'Credentials of an entry replace defaults in any spelling.',
    given: ['record'],
    request:
      'POST /batch {"defaults":{"headers":{"Authorization":"Basic eDp5"}},"requests":[{"path":"{R}/r","headers":{"authorization":""}},{"path":"{R}/r"}]}',
    body: { responses: [{ status: 401 }, { status: 403 }] },
  },
  {
    name: 'A header in two spellings is refused.',
    request: 'POST /batch {"requests":[{"path":"/","headers":{"If-Match":"*","if-match":"*"}}]}',
    status: 400,
    body: { errno: 107, message: /the header "if-match" is given twice/ },
  },
  {
    name: 'Long responses are complete and in order.',
    given: ['collection'],
    request: `POST /batch {"defaults":{"method":"PUT","body":{"data":{"text":"${'ü😀'.repeat(20_000)}"}}},"requests":[{"path":"{R}/a"},{"path":"{R}/b"},{"method":"HEAD","path":"{R}/a"},{"path":"{R}/c"}]}`,
    body: only({
      responses: [
        { status: 201, body: { data: { id: 'a', text: 'ü😀'.repeat(20_000) } } },
        { status: 201, body: { data: { id: 'b', text: 'ü😀'.repeat(20_000) } } },
        { status: 200, body: '' },
        { status: 201, body: { data: { id: 'c', text: 'ü😀'.repeat(20_000) } } },
      ],
    }),
  },
  {
    name: 'Entries inherit the identity of the batch.',
    given: ['bucket'],
    request: 'bob: POST /batch {"requests":[{"path":"{B}"},{"path":"/"}]}',
    body: { responses: [{ status: 403 }, { status: 200, body: { user: { id: '{bob}' } } }] },
  },
  {
    name: 'An entry may have credentials of its own.',
    given: ['bucket'],
    request: 'POST /batch {"requests":[{"path":"{B}","headers":{"authorization":"nothing"}},{"path":"{B}"}]}',
    body: { responses: [{ status: 401 }, { status: 200 }] },
  },
  {
    name: 'An entry may have preconditions.',
    given: ['record'],
    request: 'POST /batch {"requests":[{"method":"PUT","path":"{R}/r","headers":{"If-None-Match":"*"}}]}',
    body: {
      responses: [
        { status: 412, headers: { ETag: anEtag }, body: { errno: 114, details: { existing: { id: 'r', a: 1 } } } },
      ],
    },
  },
  {
    name: 'Preconditions of the batch are those of its entries.',
    given: ['record'],
    request: 'POST /batch {"requests":[{"method":"PUT","path":"{R}/r"}]}',
    headers: { 'If-None-Match': '*' },
    body: { responses: [{ status: 412 }] },
  },
  {
    name: 'An entry may get a 304.',
    given: [...(['collection'] as const), { request: 'PUT {R}/x', save: 'x' }],
    request: 'POST /batch {"requests":[{"path":"{R}/x","headers":{"If-None-Match":"\\"{x.time}\\""}}]}',
    body: { responses: [{ status: 304, body: '' }] },
  },
  // Proves S-150.
  {
    name: 'Entries see what entries before them wrote.',
    request:
      'POST /batch {"requests":[{"method":"PUT","path":"{B}"},{"method":"PUT","path":"{C}"},{"method":"POST","path":"{R}","body":{"data":{"id":"x"}}},{"path":"{R}"}]}',
    body: { responses: [{ status: 201 }, { status: 201 }, { status: 201 }, { body: { data: ids('x') } }] },
  },
  // Proves S-151.
  {
    name: 'Redirects are followed once and the final path is shown.',
    given: ['bucket'],
    request: 'POST /batch {"requests":[{"path":"{B}/"}]}',
    body: { responses: [{ status: 200, path: '/v1{B}' }] },
  },
  {
    name: 'A path of another version is served below the served version.',
    request: 'POST /batch {"requests":[{"path":"/v0/buckets"}]}',
    body: { responses: [{ status: 404, path: '/v1/v0/buckets', body: { errno: 111 } }] },
  },
  {
    name: 'The path of an answer is decoded.',
    given: ['bucket'],
    request: 'POST /batch {"requests":[{"path":"{B}/%63ollections"}]}',
    body: { responses: [{ status: 200, path: '/v1{B}/collections' }] },
  },
  {
    name: 'Raw text beyond ASCII in a path is refused for that entry.',
    given: ['bucket'],
    request: 'POST /batch {"requests":[{"path":"/buckets/é"},{"path":"{B}"}]}',
    body: { responses: [{ status: 400 }, { status: 200 }] },
  },
  {
    name: 'Raw and encoded text in a query mean the same.',
    given: ['collection', 'PUT {R}/x {"data":{"s":"é"}}'],
    request: 'POST /batch {"requests":[{"path":"{R}?s=é"},{"path":"{R}?s=%C3%A9"}]}',
    body: { responses: [{ body: { data: ids('x') } }, { body: { data: ids('x') } }] },
  },
  {
    name: 'A patch of any format may be in a batch.',
    given: ['record'],
    request: `POST /batch {"requests":[{"method":"PATCH","path":"{R}/r",${patchType},"body":[{"op":"add","path":"/data/b","value":1}]},{"method":"PATCH","path":"{R}/r","headers":{"content-type":"application/merge-patch+json"},"body":{"data":{"a":null}}}]}`,
    body: {
      responses: [
        { status: 200, body: { data: { a: 1, b: 1 } } },
        { status: 200, body: { data: { a: absent, b: 1 } } },
      ],
    },
  },
  {
    name: 'Another media type of an entry is overridden.',
    given: ['collection'],
    request:
      'POST /batch {"requests":[{"method":"PUT","path":"{R}/x","headers":{"Content-Type":"text/plain"},"body":{"data":{"a":1}}}]}',
    body: { responses: [{ status: 201 }] },
  },
  {
    name: 'A client error of one entry leaves the others.',
    given: ['collection'],
    request:
      'POST /batch {"requests":[{"method":"PUT","path":"{R}/a"},{"method":"PUT","path":"{R}/_"},{"method":"PUT","path":"{R}/b"}]}',
    body: { responses: [{ status: 201 }, { status: 400 }, { status: 201 }] },
    then: [{ request: 'GET {R}?_sort=id', body: { data: ids('a b') } }],
  },
  // Proves S-021, S-150.
  {
    name: 'A conflict of one entry undoes the whole batch.',
    given: ['collection', 'PUT {R}/old {"data":{"last_modified":1000}}', 'PUT {R}/new'],
    request:
      'POST /batch {"requests":[{"method":"PUT","path":"{R}/a"},{"method":"PUT","path":"{R}/b","body":{"data":{"last_modified":1000}}},{"method":"PUT","path":"{R}/c"}]}',
    status: 200,
    body: {
      responses: [
        { status: 201 },
        { status: 409, headers: { 'Retry-After': '3' }, body: { errno: 122 } },
        { status: 201 },
      ],
    },
    then: [{ request: 'GET {R}?_sort=id', body: { data: ids('new old') } }],
  },
  {
    name: 'Accept matters for entries only.',
    given: ['bucket'],
    request: 'POST /batch {"requests":[{"path":"{B}"}]}',
    headers: { Accept: 'text/html' },
    status: 200,
    body: { responses: [{ status: 415 }] },
  },
  {
    name: 'Paging headers are there.',
    given: ['collection', 'PUT {R}/a', 'PUT {R}/b'],
    request: 'POST /batch {"requests":[{"path":"{R}?_limit=1"}]}',
    body: { responses: [{ headers: { 'Next-Page': /^http/ } }] },
  },
  {
    name: 'A path with batch inside is no nested batch.',
    request: 'POST /batch {"requests":[{"method":"PUT","path":"/buckets/batch-{b}"}]}',
    body: { responses: [{ status: 201 }] },
  },
  {
    name: 'Memberships made in a batch count from the next request on.',
    given: ['PUT {B} {"permissions":{"read":["{G}/g"]}}'],
    request: 'POST /batch {"requests":[{"method":"PUT","path":"{G}/g","body":{"data":{"members":["{bob}"]}}}]}',
    then: [{ request: 'bob: GET {B}', status: 200 }],
  },
]);

const faults: readonly (readonly [string, string, string])[] = [
  ['a missing list', '{}', 'requests'],
  ['a list that is null', '{"requests":null}', 'requests'],
  ['a list that is an object', '{"requests":{}}', 'requests'],
  ['an unknown member', '{"requests":[],"x":1}', ''],
  ['an entry that is null', '{"requests":[null]}', 'requests.0'],
  ['an entry that is a text', '{"requests":[{"path":"/"},"x"]}', 'requests.1'],
  ['an unknown member of an entry', '{"requests":[{"path":"/","x":1}]}', 'requests.0'],
  ['a missing path', '{"requests":[{"method":"GET"}]}', 'requests.0.path'],
  ['a path that is null', '{"requests":[{"path":null}]}', 'requests.0.path'],
  ['an empty path', '{"requests":[{"path":""}]}', 'requests.0.path'],
  ['a path without slash', '{"requests":[{"path":"buckets"}]}', 'requests.0.path'],
  ['an unknown method', '{"requests":[{"path":"/","method":"OPTIONS"}]}', 'requests.0.method'],
  ['a method in lower case', '{"requests":[{"path":"/","method":"get"}]}', 'requests.0.method'],
  ['headers that are no object', '{"requests":[{"path":"/","headers":[]}]}', 'requests.0.headers'],
  ['a header that is a number', '{"requests":[{"path":"/","headers":{"a":1}}]}', 'requests.0.headers'],
  [
    'headers larger than those of a request',
    `{"requests":[{"path":"/","headers":{"a":"${'x'.repeat(32_768)}"}}]}`,
    'requests.0.headers',
  ],
  [
    'headers that are too large with the defaults',
    `{"defaults":{"headers":{"a":"${'x'.repeat(20_000)}"}},"requests":[{"path":"/","headers":{"b":"${'é'.repeat(10_000)}"}}]}`,
    'requests.0.headers',
  ],
  ['a body that is a text', '{"requests":[{"path":"/","method":"POST","body":"x"}]}', 'requests.0.body'],
  ['a body that is a list', '{"requests":[{"path":"/","method":"POST","body":[]}]}', 'requests.0.body'],
  ['defaults that are no object', '{"defaults":1,"requests":[]}', 'defaults'],
  ['an unknown member of the defaults', '{"defaults":{"x":1},"requests":[]}', 'defaults'],
  ['a bad value in the defaults', '{"defaults":{"method":"X"},"requests":[]}', 'defaults.method'],
  ['a nested batch', '{"requests":[{"method":"POST","path":"/batch","body":{"requests":[]}}]}', 'requests'],
  [
    'a nested batch with prefix',
    '{"requests":[{"method":"POST","path":"/v1/batch","body":{"requests":[]}}]}',
    'requests',
  ],
  ['a nested batch with slash', '{"requests":[{"method":"POST","path":"/batch/","body":{"requests":[]}}]}', 'requests'],
  [
    'a nested batch in disguise',
    '{"requests":[{"method":"POST","path":"/b%61tch?x=1","body":{"requests":[]}}]}',
    'requests',
  ],
  ['a list at the top', '[]', ''],
];

describeScenarios('malformed batches', [
  ...faults.map(([title, body, name]) => ({
    name: `A batch is refused for ${title}.`,
    request: `POST /batch ${body}`,
    issues: [['body', name]] as const,
  })),
  { name: 'A batch without a body is refused.', request: 'POST /batch', issues: [['body', 'requests']] },
  {
    name: 'A batch that is no JSON is refused.',
    request: 'POST /batch [',
    status: 400,
    errno: 107,
    body: { details: items(1) },
  },
  {
    name: 'A bad default is reported for each entry.',
    request: 'POST /batch {"defaults":{"method":"X"},"requests":[{"path":"/"},{"path":"/"}]}',
    issues: [
      ['body', 'defaults.method'],
      ['body', 'requests.0.method'],
      ['body', 'requests.1.method'],
    ],
  },
  {
    name: 'Nothing of a malformed batch runs.',
    request: 'POST /batch {"requests":[{"method":"PUT","path":"{B}"},{"path":"x"}]}',
    issues: [['body', 'requests.1.path']],
    then: [{ request: 'GET {B}', status: 403 }],
  },
  // Proves S-236.
  {
    name: 'Twenty-five entries are accepted.',
    request: `POST /batch {"requests":[${Array.from({ length: 25 }, () => '{"path":"/"}').join(',')}]}`,
    status: 200,
    body: { responses: items(25) },
  },
  // Proves S-236.
  {
    name: 'Twenty-six entries are refused.',
    request: `POST /batch {"requests":[${Array.from({ length: 26 }, () => '{"path":"/"}').join(',')}]}`,
    issues: [['body', 'requests']],
  },
]);

describeScenarios(
  'batches of any size',
  [
    // Proves S-236.
    {
      name: 'Zero means unlimited.',
      request: `POST /batch {"requests":[${Array.from({ length: 60 }, () => '{"path":"/"}').join(',')}]}`,
      status: 200,
      body: { responses: items(60) },
      then: [{ request: 'GET /', body: { settings: { batch_max_requests: 0 }, project_name: aText } }],
    },
  ],
  { settings: { batch_max_requests: '0' } },
);
