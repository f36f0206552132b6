// Requests just as the Python client, the web console and the JavaScript client send them, with what they read of the
// answers: a protocol is what its clients rely on.
import { including, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const fiftyIds = Array.from({ length: 50 }, (_, n) => `id${n}`).join(',');

describeScenarios(
  'requests of the Python client',
  [
    {
      name: 'Objects are created by PUT with If-None-Match, which can be repeated safely.',
      request: 'PUT {B} {"data":{}}',
      headers: { 'If-None-Match': '*', 'User-Agent': 'kinto_http/11.4.0 requests/2.32', Accept: '*/*' },
      status: 201,
      then: [
        { request: 'PUT {B} {"data":{}}', headers: { 'If-None-Match': '*' }, status: 412, errno: 114 },
        {
          request: 'GET {B}',
          headers: { 'Content-Type': 'application/json' },
          body: { permissions: { write: ['{alice}'] } },
        },
      ],
    },
    {
      name: 'A conflict contains the existing object.',
      given: ['record', { request: 'GET {R}/r', save: 'r' }],
      request: 'PUT {R}/r {"data":{"id":"r","a":2,"last_modified":1}}',
      headers: { 'If-Match': '"1"' },
      status: 412,
      body: { errno: 114, details: { existing: { id: 'r', a: 1, last_modified: '{r.time}' } } },
    },
    {
      name: 'Updates and deletions send If-Match, bare filters quoted timestamps.',
      given: ['record', { request: 'GET {R}/r', save: 'r' }],
      request: 'PUT {R}/r {"data":{"id":"r","a":2,"last_modified":{r.time}}}',
      headers: { 'If-Match': '{r.etag}' },
      status: 200,
      save: 'new',
      then: [
        { request: 'GET {R}?_since=%22{r.time}%22', body: { data: [{ id: 'r', a: 2 }] } },
        { request: 'GET {R}?_since={r.time}', body: { data: [{ id: 'r', a: 2 }] } },
        { request: 'GET {R}?_since={new.time}', headers: { 'If-None-Match': '{new.etag}' }, status: 304 },
        { request: 'DELETE {R}/r', headers: { 'If-Match': '{new.etag}' }, body: { data: { id: 'r', deleted: true } } },
        { request: 'GET {R}?_since={new.time}&_sort=last_modified', body: { data: [{ id: 'r', deleted: true }] } },
      ],
    },
    {
      name: 'The three formats of patches.',
      given: ['record'],
      request: 'PATCH {R}/r {"data":{"b":1}}',
      headers: { 'Content-Type': 'application/json' },
      body: { data: { a: 1, b: 1 } },
      then: [
        {
          request: 'PATCH {R}/r {"data":{"b":null,"c":{"d":1}}}',
          headers: { 'Content-Type': 'application/merge-patch+json' },
          body: { data: { a: 1, c: { d: 1 } } },
        },
        {
          request:
            'PATCH {R}/r [{"op":"test","path":"/data/a","value":1},{"op":"add","path":"/permissions/read/system.Everyone"},' +
            '{"op":"add","path":"/permissions/write/~1buckets~1{b}~1groups~1g"}]',
          headers: { 'Content-Type': 'application/json-patch+json' },
          body: { permissions: { read: ['system.Everyone'], write: unordered('{alice}', '{B}/groups/g') } },
        },
        {
          request: 'PATCH {R}/r [{"op":"remove","path":"/permissions/write/~1buckets~1{b}~1groups~1g"}]',
          headers: { 'Content-Type': 'application/json-patch+json' },
          body: { permissions: { read: ['system.Everyone'], write: ['{alice}'] } },
        },
      ],
    },
    {
      name: 'A batch has paths with and without version, and gets as many responses in the same order.',
      given: ['collection'],
      request:
        'POST /batch {"defaults":{"method":"PUT","headers":{"Authorization":"nobody is anonymous"}},"requests":[' +
        '{"path":"/v1{R}/one","body":{"data":{"n":1}},"headers":{"Authorization":"nobody is anonymous"}},' +
        '{"path":"{R}/two","body":{"data":{"n":2}}},{"method":"GET","path":"{R}/none"}]}',
      status: 200,
      body: { responses: [{ status: 401 }, { status: 401 }, { status: 401 }] },
      then: [
        {
          request:
            'POST /batch {"defaults":{"method":"PUT"},"requests":[{"path":"/v1{R}/one","body":{"data":{"n":1}}},' +
            '{"path":"{R}/two","body":{"data":{"n":2}},"headers":{"If-None-Match":"*"}},' +
            '{"path":"{R}/two","body":{"data":{"n":3}},"headers":{"If-None-Match":"*"}},' +
            '{"method":"HEAD","path":"{R}"},{"method":"GET","path":"{R}/none"},{"method":"DELETE","path":"{R}/one"}]}',
          body: {
            responses: [
              { status: 201, body: { data: { id: 'one', n: 1 } } },
              { status: 201, body: { data: { id: 'two', n: 2 } } },
              { status: 412, body: { errno: 114 } },
              { status: 200, body: '', headers: { 'Total-Records': '2' } },
              { status: 404, body: { errno: 110 } },
              { status: 200, body: { data: { id: 'one', deleted: true } } },
            ],
          },
        },
      ],
    },
    {
      name: 'Pages are followed by Next-Page unchanged, and HEAD returns the number.',
      given: ['collection', 'PUT {R}/a {"data":{}}', 'PUT {R}/b {"data":{}}', 'PUT {R}/c {"data":{}}'],
      request: 'GET {R}?_limit=2',
      gives: { 'next-page': /^http:\/\/127\.0\.0\.1:\d+\/v1\/buckets\/.*_token=/, etag: /^"\d+"$/ },
      body: { data: [{ id: 'c' }, { id: 'b' }] },
      save: 'page',
      then: [
        { request: 'GET {page.next}', body: { data: [{ id: 'a' }] } },
        { request: 'HEAD {R}', gives: { 'total-records': '3', 'total-objects': '3', etag: /^"\d+"$/ } },
        { request: 'GET {R}', body: { data: including({ id: 'a' }) } },
      ],
    },
    {
      name: 'Permissions alone are put, and leave the data.',
      given: ['record'],
      request: 'PUT {R}/r {"permissions":{"read":["system.Authenticated"]}}',
      body: { data: { a: 1 }, permissions: { read: ['system.Authenticated'] } },
    },
    {
      name: 'A missing bucket is forbidden to callers without permissions.',
      request: 'bob: GET {B}',
      status: 403,
      errno: 121,
    },
    {
      name: 'Paths without version are redirected with method and body.',
      request: 'POST ^/batch {"requests":[]}',
      status: 307,
      gives: { location: /\/v1\/batch$/ },
      then: [
        { request: 'POST ^/__flush__', status: 307, gives: { location: /\/v1\/__flush__$/ } },
        { request: 'PUT ^{B} {"data":{}}', status: 307, gives: { location: /\/v1\/buckets\// } },
      ],
    },
  ],
  { settings: { includes: 'default_bucket flush', experimental_permissions_endpoint: 'true' } },
);

describeScenarios(
  'requests of the web console',
  [
    {
      name: 'The root view has the facts that the console needs.',
      request: 'GET /',
      body: {
        url: /\/v1\/$/,
        http_api_version: /^\d\.\d+$/,
        settings: { batch_max_requests: 25, readonly: false },
        user: { id: '{alice}', bucket: /^[0-9a-f-]{36}$/, principals: including('{alice}') },
        capabilities: {
          basicauth: { url: /^http/, description: /./ },
          permissions_endpoint: { url: /^http/, description: /./ },
        },
      },
    },
    {
      name: 'The tree of buckets is requested in pages, without records and groups.',
      given: ['record', 'PUT {G}/g {"data":{"members":[]}}'],
      request:
        'GET /permissions?exclude_resource_name=record,group&_sort=bucket_id,id&_limit=2&bucket_id={b}&_expected=1',
      body: {
        data: [
          { uri: '{B}', resource_name: 'bucket' },
          { uri: '{C}', resource_name: 'collection' },
        ],
      },
      then: [
        {
          request: 'GET /permissions?resource_name=root',
          body: { data: [{ uri: '/', resource_name: 'root', permissions: ['bucket:create'] }] },
        },
        { request: 'GET /permissions?_limit=1&bucket_id={b}', gives: { 'next-page': /_token=/ }, save: 'page' },
        { request: 'GET {page.next}', status: 200 },
        { request: 'HEAD /permissions?bucket_id={b}', gives: { 'total-records': '4' } },
      ],
    },
    {
      name: 'Lists are sorted, limited, narrowed and counted.',
      given: ['record', 'PUT {R}/s {"data":{"a":2,"target":{"data":{"last_modified":5}}}}'],
      request: 'GET {R}?_sort=-last_modified&_limit=200&_expected=123',
      body: { data: [{ id: 's' }, { id: 'r' }] },
      then: [
        { request: `GET {R}?exclude_id=${fiftyIds},r`, body: { data: [{ id: 's' }] } },
        { request: 'GET {R}?in_id=r,', body: { data: [{ id: 'r' }] } },
        { request: 'GET {R}?in_a=2,', body: { data: [{ id: 's' }] } },
        { request: 'GET {R}?a=%222%22', body: { data: [] } },
        { request: 'GET {R}?gt_target.data.last_modified=4&has_target=true', body: { data: [{ id: 's' }] } },
        { request: 'GET {R}?_since=0&_fields=deleted', body: { data: [{ id: 's' }, { id: 'r' }] } },
        { request: 'GET {R}?like_id=*r*', body: { data: [{ id: 'r' }] } },
      ],
    },
    {
      name: 'Browsers send preflights, and may read the headers that they need.',
      request: 'nobody: OPTIONS {R}',
      headers: {
        Origin: 'https://console.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization, content-type, if-match, if-none-match',
      },
      gives: {
        'access-control-allow-origin': /./,
        'access-control-allow-methods': /POST/,
        'access-control-allow-headers': /if-none-match/i,
      },
      then: [
        {
          request: 'GET /buckets',
          headers: { Origin: 'https://console.example' },
          gives: { 'access-control-expose-headers': /Next-Page[^]*|Total-Records[^]*/i },
        },
      ],
    },
    {
      name: 'Attributes and permissions of a collection are edited apart.',
      given: ['collection', { request: 'GET {C}', save: 'c' }],
      request: 'PATCH {C} {"data":{"sort":"-last_modified","displayFields":["a"],"schema":{"type":"object"}}}',
      headers: { 'If-Match': '{c.etag}' },
      body: { data: { sort: '-last_modified', displayFields: ['a'] } },
      then: [
        {
          request: 'PUT {C} {"permissions":{"read":["system.Everyone"],"write":["{alice}"],"record:create":["{bob}"]}}',
          body: { data: { sort: '-last_modified' }, permissions: { 'record:create': ['{bob}'] } },
        },
        { request: 'GET {C}', headers: { 'If-None-Match': '"1"' }, status: 200 },
      ],
    },
    {
      name: 'The heartbeat needs no credentials.',
      request: 'nobody: GET /__heartbeat__',
      body: { storage: true, permission: true, cache: true },
      then: [{ request: 'nobody: GET /__lbheartbeat__', status: 200 }, 'nobody: GET /__version__'],
    },
  ],
  { settings: { includes: 'default_bucket', experimental_permissions_endpoint: 'true' } },
);

describeScenarios(
  'requests of the JavaScript client',
  [
    {
      name: 'A batch on the personal bucket creates missing parents.',
      request:
        'POST /batch {"defaults":{"headers":{}},"requests":[{"method":"PUT","path":"/buckets/default/collections/tasks/records/t1",' +
        '"headers":{"If-None-Match":"*"},"body":{"data":{"done":false}}},' +
        '{"method":"DELETE","path":"/buckets/default/collections/tasks/records/t2","headers":{"If-Match":"\\"5\\""},"body":{"data":{"last_modified":5}}}]}',
      body: { responses: [{ status: 201 }, { status: 404 }] },
      then: [
        {
          request: 'GET /buckets/default/collections/tasks/records?_sort=-last_modified&exclude_id=t1',
          body: { data: [] },
          gives: { etag: /^"\d+"$/ },
        },
        { request: 'HEAD /buckets/default/collections/tasks/records', gives: { 'total-records': '1' } },
        { request: 'GET /buckets/default/collections/tasks', body: { data: { id: 'tasks' } } },
      ],
    },
    {
      name: 'Responses other than errors never have Retry-After.',
      given: ['record'],
      request: 'GET {R}',
      gives: { 'retry-after': undefined },
    },
    {
      name: 'A collection that was deleted and recreated continues its clock.',
      given: ['record', { request: 'HEAD {R}', save: 'before' }, 'DELETE {C}', 'PUT {C} {"data":{}}'],
      request: 'GET {R}?_since={before.time}',
      body: { data: [] },
      save: 'after',
      then: [
        { request: 'GET {R}', headers: { 'If-None-Match': '{before.etag}' }, status: 200, body: { data: [] } },
        { request: 'GET {R}', headers: { 'If-None-Match': '{after.etag}' }, status: 304 },
      ],
    },
  ],
  { settings: { includes: 'default_bucket' } },
);
