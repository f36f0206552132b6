// The history of a bucket: entries, access, filters and deletion.
import { anEtag, absent, anInteger, aUuid, items, only, unordered } from './match.ts';
import { describeScenarios, type Scenario } from './scenarios.ts';

const aDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/;
/** Ids of records, in order. */
const ofRecords = (ids: string): object => ({ data: ids.split(' ').map((id) => ({ record_id: id })) });
const uris = (...all: readonly string[]): object => ({ data: all.map((uri) => ({ uri })) });

const entries: readonly Scenario[] = [
  {
    name: 'Every change of a bucket and its content has an entry with the whole object, newest first.',
    given: [
      'PUT {B} {"data":{"b":1}}',
      'PUT {G}/g {"data":{"members":["x"]}}',
      'PUT {C}',
      { request: 'PUT {R}/r {"data":{"a":1}}', save: 'made' },
      { request: 'PATCH {R}/r {"data":{"a":2}}', save: 'changed' },
      { request: 'DELETE {R}/r', save: 'gone' },
    ],
    request: 'GET {B}/history',
    gives: { etag: anEtag, 'cache-control': 'no-cache, no-store' },
    body: only({
      data: [
        only({
          id: aUuid,
          last_modified: anInteger,
          uri: '{R}/r',
          resource_name: 'record',
          action: 'delete',
          date: aDate,
          user_id: '{alice}',
          collection_id: 'c',
          record_id: 'r',
          target: only({ data: only({ id: 'r', last_modified: '{gone.time}', deleted: true }), permissions: only({}) }),
        }),
        {
          action: 'update',
          target: {
            data: only({ id: 'r', last_modified: '{changed.time}', a: 2 }),
            permissions: only({ write: ['{alice}'] }),
          },
        },
        { action: 'create', target: { data: only({ id: 'r', last_modified: '{made.time}', a: 1 }) } },
        { uri: '{C}', resource_name: 'collection', collection_id: 'c', bucket_id: absent, record_id: absent },
        {
          uri: '{G}/g',
          resource_name: 'group',
          group_id: 'g',
          bucket_id: absent,
          target: { data: { members: ['x'] } },
        },
        { uri: '{B}', resource_name: 'bucket', bucket_id: '{b}', target: { data: { b: 1 } } },
      ],
    }),
  },
  {
    name: 'A batch has one entry for each change, in the order of its requests across lists.',
    given: [
      'bucket',
      `POST /batch {"requests":[
        {"method":"PUT","path":"{C}"},{"method":"PUT","path":"{R}/one","body":{"data":{"n":1}}},
        {"method":"PUT","path":"{G}/g"},{"method":"PUT","path":"{R}/two"},{"method":"PUT","path":"{R}/one","body":{"data":{"n":2}}},
        {"method":"GET","path":"{R}/one"},{"method":"PUT","path":"{R}/one","headers":{"If-None-Match":"*"}}]}`,
    ],
    request: 'GET {B}/history?_sort=last_modified',
    body: {
      data: [
        { uri: '{B}' },
        { uri: '{C}', action: 'create' },
        { uri: '{R}/one', action: 'create', target: { data: { n: 1 } } },
        { uri: '{G}/g' },
        { uri: '{R}/two' },
        { uri: '{R}/one', action: 'update', target: { data: { n: 2 } } },
      ],
    },
  },
  {
    name: 'A request that is rolled back leaves no entry.',
    given: [
      'collection',
      { request: 'PUT {R}/r {"data":{"last_modified":1111}}', save: 'r' },
      {
        request: `POST /batch {"requests":[{"method":"PUT","path":"{R}/s"},
          {"method":"PUT","path":"{R}/t","body":{"data":{"last_modified":1111}}}]}`,
        body: { responses: [{ status: 201 }, { status: 409 }] },
      },
    ],
    request: 'GET {B}/history?resource_name=record',
    body: ofRecords('r'),
  },
  {
    name: 'Reads, refusals and requests that change nothing leave no entry.',
    given: [
      'record',
      'GET {R}/r',
      'POST {R} {"data":{"id":"r"}}',
      { request: 'bob: PUT {R}/r', status: 403 },
      { request: 'PUT {R}/r', headers: { 'If-None-Match': '*' }, status: 412 },
      'DELETE {R}?id=none',
    ],
    request: 'HEAD {B}/history',
    gives: { 'total-records': '3', 'total-objects': '3', etag: anEtag },
  },
  {
    name: 'Numbers and keys are unchanged in the history.',
    given: ['collection', { request: 'PUT {R}/r', raw: '{"data":{"n":12345678901234567890.50,"__proto__":{"x":1}}}' }],
    request: 'GET {B}/history?_limit=1',
    text: /"target":\{"data":\{"n":12345678901234567890\.50,"__proto__":\{"x":1\},"id":"r"/,
  },
  {
    name: 'Implicit creation in the personal bucket is recorded.',
    given: ['PUT /buckets/default/collections/c/records/r'],
    request: 'GET /buckets/default/history',
    body: { data: [{ record_id: 'r' }, { collection_id: 'c' }, { resource_name: 'bucket', action: 'create' }] },
  },
  {
    name: 'Deleting a list adds an entry for each object.',
    given: ['collection', 'PUT {R}/a', 'PUT {R}/b', 'DELETE {R}?_sort=id'],
    request: 'GET {B}/history?action=delete',
    body: ofRecords('b a'),
  },
  {
    name: 'A deleted collection keeps its history.',
    given: ['record', 'DELETE {C}'],
    request: 'GET {B}/history?collection_id=c',
    body: {
      data: [{ action: 'delete', uri: '{C}', target: { data: { deleted: true } } }, { record_id: 'r' }, { uri: '{C}' }],
    },
  },
  {
    name: 'A recreated bucket starts a new history, also within one request.',
    given: [
      'record',
      `POST /batch {"requests":[{"method":"PUT","path":"{R}/s"},{"method":"DELETE","path":"{B}"},
        {"method":"PUT","path":"{B}"},{"method":"PUT","path":"{C}"},{"method":"PUT","path":"{R}/t"}]}`,
    ],
    request: 'GET {B}/history',
    body: uris('{R}/t', '{C}', '{B}'),
    then: ['DELETE {B}', 'PUT {B}', { request: 'GET {B}/history', body: uris('{B}') }],
  },
  {
    name: 'Changes of permissions are recorded.',
    given: ['bucket', 'PATCH {B} {"permissions":{"read":["{bob}"]}}'],
    request: 'GET {B}/history?_limit=1',
    body: { data: [{ action: 'update', target: { permissions: { read: ['{bob}'], write: ['{alice}'] } } }] },
  },
  {
    name: 'Entries contain the user id of the caller.',
    given: ['PUT {B} {"permissions":{"write":["system.Everyone"]}}', 'bob: PUT {C}', 'nobody: PUT {R}/r'],
    request: 'GET {B}/history',
    body: { data: [{ user_id: null }, { user_id: '{bob}' }, { user_id: '{alice}' }] },
  },
];

const access: readonly Scenario[] = [
  {
    name: 'Entries have no URL, and clients cannot write them.',
    given: [{ request: 'PUT {B}' }, { request: 'GET {B}/history', save: 'h' }],
    request: 'POST {B}/history {"data":{}}',
    status: 405,
    errno: 115,
    gives: { allow: /DELETE/i },
    then: [
      { request: 'PATCH {B}/history {"data":{}}', status: 405 },
      { request: 'PUT {B}/history/x {"data":{}}', status: 404, errno: 111 },
      { request: 'GET {B}/history/x', status: 404, errno: 111 },
    ],
  },
  {
    name: 'Callers without permission get nothing and do not learn whether a bucket exists.',
    given: ['record'],
    request: 'bob: GET {B}/history',
    status: 403,
    errno: 121,
    then: [
      { request: 'nobody: GET {B}/history', status: 401, errno: 104 },
      { request: 'bob: HEAD {B}/history', status: 403 },
      { request: 'bob: GET {B}x/history', status: 403 },
      { request: 'bob: DELETE {B}/history', status: 403 },
    ],
  },
  {
    name: 'Readers of the bucket see the whole history and cannot delete entries.',
    given: ['PUT {B} {"permissions":{"read":["{bob}"]}}', 'PUT {C}'],
    request: 'bob: GET {B}/history',
    body: uris('{C}', '{B}'),
    then: [{ request: 'bob: DELETE {B}/history', status: 403 }],
  },
  {
    name: 'Readers of a collection see its entries since they were added.',
    given: [
      'collection',
      'PUT {R}/a',
      'PATCH {C} {"permissions":{"read":["{bob}"]}}',
      'PUT {R}/b',
      'PUT {B}/collections/d',
    ],
    request: 'bob: GET {B}/history',
    body: uris('{R}/b', '{C}'),
    then: [
      { request: 'bob: HEAD {B}/history', gives: { 'total-records': '2' } },
      { request: 'bob: GET {B}/history?record_id=b', body: ofRecords('b') },
      { request: 'bob: GET {B}/history?_limit=1', body: uris('{R}/b'), save: 'page' },
      { request: 'bob: GET {page.next}', body: uris('{C}') },
    ],
  },
  {
    name: 'Readers of one record see exactly its entries, also after they lost access to it.',
    given: [
      'record',
      'PUT {R}/s',
      'PATCH {R}/r {"permissions":{"read":["system.Everyone"]}}',
      'PATCH {R}/r {"data":{"a":2}}',
      'PATCH {R}/r {"permissions":{"read":[]}}',
    ],
    request: 'nobody: GET {B}/history',
    body: {
      data: [
        { uri: '{R}/r', target: { data: { a: 2 } } },
        { uri: '{R}/r', target: { data: { a: 1 } } },
      ],
    },
  },
  {
    name: 'Readers of a group see its entries.',
    given: ['bucket', 'PUT {G}/g {"permissions":{"read":["{bob}"]}}', 'PUT {G}/h'],
    request: 'bob: GET {B}/history',
    body: uris('{G}/g'),
  },
  {
    name: 'The history of a bucket that does not exist is not found.',
    request: 'carol: GET /buckets/default/collections/none/records',
    then: [{ request: 'GET {B}/history', status: 403 }],
  },
  {
    name: 'Deleting entries requires write permission, leaves tombstones, and accepts filters.',
    given: ['record', { request: 'GET {B}/history?uri={C}', save: 'c' }, { request: 'GET {B}/history', save: 'all' }],
    request: 'DELETE {B}/history?resource_name=bucket',
    body: { data: [only({ id: aUuid, last_modified: anInteger, deleted: true })] },
    then: [
      { request: 'GET {B}/history', body: uris('{R}/r', '{C}') },
      { request: 'GET {B}/history?_since={all.time}', body: { data: [{ deleted: true }] } },
      { request: 'DELETE {B}/history?_before={all.time}', body: { data: items(1) } },
      { request: 'GET {B}/history', body: uris('{R}/r') },
      { request: 'DELETE {B}/history', body: { data: items(1) } },
      { request: 'GET {B}/history', body: { data: [] } },
      { request: 'DELETE {B}/history', body: { data: [] } },
    ],
  },
  {
    name: 'Deleted entries are also deleted for callers who saw part of the history.',
    given: ['PUT {B}', 'PUT {C} {"permissions":{"read":["{bob}"]}}', 'DELETE {B}/history'],
    request: 'bob: GET {B}/history',
    status: 403,
  },
];

const queries: readonly Scenario[] = [
  {
    name: 'Ids that look like numbers are strings.',
    given: ['collection', 'PUT {R}/1', 'PUT {R}/2', 'PUT {B}/collections/7', 'PUT {G}/8'],
    request: 'GET {B}/history?record_id=1',
    body: ofRecords('1'),
    then: [
      { request: 'GET {B}/history?target.data.id=2', body: ofRecords('2') },
      { request: 'GET {B}/history?in_record_id=1,2', body: ofRecords('2 1') },
      { request: 'GET {B}/history?not_record_id=1&resource_name=record', body: ofRecords('2') },
      { request: 'GET {B}/history?collection_id=7', body: uris('{B}/collections/7') },
      { request: 'GET {B}/history?group_id=8', body: uris('{G}/8') },
      { request: 'GET {B}/history?bucket_id={b}', body: uris('{B}') },
    ],
  },
  {
    name: 'Every field of an entry and of its object can be filtered and sorted by.',
    given: [
      'collection',
      { request: 'PUT {R}/a {"data":{"n":1}}', save: 'a' },
      'PUT {R}/b {"data":{"n":3}}',
      'PUT {R}/c {"data":{"n":2}}',
    ],
    request: 'GET {B}/history?_sort=-target.data.n&has_record_id=true',
    body: ofRecords('b c a'),
    then: [
      { request: 'GET {B}/history?min_target.data.n=2&resource_name=record&_sort=uri', body: ofRecords('b c') },
      { request: 'GET {B}/history?gt_target.data.last_modified={a.time}&resource_name=record', body: ofRecords('c b') },
      { request: 'GET {B}/history?like_uri=records/b', body: ofRecords('b') },
      { request: 'GET {B}/history?user_id={alice}&action=create&resource_name=record&_limit=1', body: ofRecords('c') },
      { request: 'GET {B}/history?exclude_resource_name=record&_sort=uri', body: uris('{B}', '{C}') },
    ],
  },
  {
    name: 'Fields that entries do not have are refused.',
    given: ['bucket'],
    request: 'GET {B}/history?colour=red',
    issues: [['querystring', 'colour']],
    then: [
      { request: 'GET {B}/history?min_data.n=2', issues: [['querystring', 'min_data.n']] },
      { request: 'DELETE {B}/history?colour=red', issues: [['querystring', 'colour']] },
      { request: 'GET {B}/history?_sort=colour', status: 400 },
      { request: 'GET {B}/history?_fields=colour', issues: [['querystring', 'Invalid _fields parameter']] },
    ],
  },
  {
    name: 'Selected fields of entries are returned in pages.',
    given: ['record'],
    request: 'GET {B}/history?_fields=uri,target.data.a&_limit=1',
    body: {
      data: [only({ id: aUuid, last_modified: anInteger, uri: '{R}/r', target: only({ data: only({ a: 1 }) }) })],
    },
    save: 'one',
    then: [
      { request: 'GET {one.next}', body: uris('{C}'), save: 'two' },
      { request: 'GET {two.next}', body: uris('{B}'), gives: { 'next-page': absent } },
    ],
  },
  {
    name: 'Polling clients get new entries, or an empty list.',
    given: ['collection', { request: 'GET {B}/history', save: 'h' }],
    request: 'GET {B}/history',
    headers: { 'If-None-Match': '{h.etag}' },
    status: 304,
    then: [
      'PUT {R}/r',
      { request: 'GET {B}/history', headers: { 'If-None-Match': '{h.etag}' }, status: 200 },
      { request: 'GET {B}/history?_since={h.etag}', body: ofRecords('r') },
      { request: 'DELETE {B}/history', headers: { 'If-Match': '{h.etag}' }, status: 412 },
    ],
  },
  {
    name: 'Responses with only changed attributes are the same as without history.',
    given: ['record'],
    request: 'PATCH {R}/r {"data":{"b":2}}',
    headers: { 'Response-Behavior': 'diff' },
    status: 200,
    then: [
      { request: 'PATCH {R}/r {"data":{"c":3}}', headers: { 'Response-Behavior': 'light' }, status: 200 },
      { request: 'GET {B}/history?_limit=1', body: { data: [{ target: { data: { a: 1, b: 2, c: 3 } } }] } },
    ],
  },
];

const root: readonly Scenario[] = [
  {
    name: 'The root view has the capability history.',
    request: 'GET /',
    body: { capabilities: { history: only({ description: /./, url: /./ }) } },
  },
  {
    name: 'Entries do not appear in the permissions list.',
    given: ['record'],
    request: 'GET /permissions?bucket_id={b}',
    body: { data: unordered({ uri: '{B}' }, { uri: '{C}' }, { uri: '{R}/r' }) },
  },
];

describeScenarios('the history', [...entries, ...access, ...queries, ...root], {
  settings: { includes: 'default_bucket history', experimental_permissions_endpoint: 'true' },
});
