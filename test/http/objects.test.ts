// Creating, reading, replacing and deleting objects and lists (docs/reference/http-api/objects.md).
import { absent, anEtag, aTimestamp, aUuid, ids, only, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

describeScenarios('creating by POST', [
  // Proves S-047, S-050, S-062, S-099.
  {
    name: 'POST without a body creates an object.',
    given: ['collection'],
    request: 'POST {R}',
    status: 201,
    body: { data: only({ id: aUuid, last_modified: aTimestamp }), permissions: { write: ['{alice}'] } },
    gives: { etag: anEtag, 'last-modified': /GMT$/ },
  },
  { name: 'POST of an empty object creates.', given: ['collection'], request: 'POST {R} {}', status: 201 },
  { name: 'POST of empty data creates.', given: ['collection'], request: 'POST {R} {"data":{}}', status: 201 },
  // Proves S-002, S-043, S-098, S-255.
  {
    name: 'POST with an id creates under that id.',
    given: ['collection'],
    request: 'POST {R} {"data":{"id":"x","a":[1,{"b":null}]}}',
    status: 201,
    body: { data: only({ id: 'x', last_modified: aTimestamp, a: [1, { b: null }] }) },
    then: [{ request: 'GET {R}/x', body: { data: { a: [1, { b: null }] } } }],
  },
  {
    name: 'POST with an existing id returns the object unchanged.',
    given: ['record'],
    request: 'POST {R} {"data":{"id":"r","a":2},"permissions":{"read":["{bob}"]}}',
    status: 200,
    body: { data: { id: 'r', a: 1 }, permissions: only({ write: ['{alice}'] }) },
  },
  {
    name: 'POST with an existing id requires the right to read it.',
    given: ['collection', 'PUT {R}/r', 'PUT {C} {"permissions":{"record:create":["{bob}"]}}'],
    request: 'bob: POST {R} {"data":{"id":"r"}}',
    status: 403,
  },
  // Proves S-005, S-013, S-051, S-062, S-099.
  {
    name: 'POST stores permissions and adds the caller to the writers.',
    given: ['collection'],
    request: 'POST {R} {"data":{},"permissions":{"write":["{bob}"],"read":["system.Everyone"]}}',
    status: 201,
    body: { permissions: only({ write: unordered('{alice}', '{bob}'), read: ['system.Everyone'] }) },
  },
  // Proves S-039.
  {
    name: 'An unknown collection returns 404.',
    given: ['bucket'],
    request: 'POST {R} {}',
    status: 404,
    errno: 111,
    body: { details: { id: 'c', resource_name: 'collection' } },
  },
  { name: 'The body is judged after the collection.', given: ['bucket'], request: 'POST {R} [', status: 404 },
]);

describeScenarios('replacing by PUT', [
  // Proves S-023, S-098.
  {
    name: 'PUT without a body creates an empty object.',
    request: 'PUT {B}',
    status: 201,
    body: { data: only({ id: '{b}', last_modified: aTimestamp }), permissions: only({ write: ['{alice}'] }) },
  },
  {
    name: 'PUT without a body keeps the data and bumps.',
    given: ['collection', { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' }],
    request: 'PUT {R}/x',
    status: 200,
    body: { data: { a: 1 } },
    save: 'y',
    then: [{ request: 'GET {R}/x', headers: { 'If-Match': '{x.etag}' }, status: 412 }],
  },
  {
    name: 'PUT of data replaces the attributes.',
    given: ['record'],
    request: 'PUT {R}/r {"data":{"b":2}}',
    status: 200,
    body: { data: only({ id: 'r', last_modified: aTimestamp, b: 2 }) },
  },
  {
    name: 'PUT of empty data removes the attributes.',
    given: ['record'],
    request: 'PUT {R}/r {"data":{}}',
    body: { data: { a: absent } },
  },
  {
    name: 'PUT of data keeps the permissions.',
    given: ['collection', 'PUT {R}/x {"permissions":{"read":["{bob}"]}}'],
    request: 'PUT {R}/x {"data":{"b":2}}',
    body: { permissions: only({ read: ['{bob}'], write: ['{alice}'] }) },
  },
  // Proves S-067.
  {
    name: 'PUT of permissions keeps the data and empties those not named.',
    given: ['bucket', 'PUT {C} {"data":{"a":1},"permissions":{"read":["{bob}"],"record:create":["{bob}"]}}'],
    request: 'PUT {C} {"permissions":{"read":["{carol}"]}}',
    status: 200,
    body: { data: { a: 1 }, permissions: only({ read: ['{carol}'], write: ['{alice}'] }) },
  },
  {
    name: 'PUT of an empty permissions mapping changes none.',
    given: ['collection', 'PUT {R}/x {"permissions":{"read":["{bob}"]}}'],
    request: 'PUT {R}/x {"permissions":{}}',
    status: 200,
    body: { permissions: { read: ['{bob}'] } },
  },
  {
    name: 'PUT of both replaces both.',
    given: ['collection', 'PUT {R}/x {"data":{"a":1},"permissions":{"read":["{bob}"]}}'],
    request: 'PUT {R}/x {"data":{"b":1},"permissions":{"write":[]}}',
    body: { data: { a: absent, b: 1 }, permissions: only({ write: ['{alice}'] }) },
  },
  {
    name: 'Duplicate principals are one.',
    given: ['collection'],
    request: 'PUT {R}/x {"permissions":{"read":["a","a"]}}',
    body: { permissions: { read: ['a'] } },
  },
  {
    name: 'PUT ignores the parameters of lists.',
    given: ['record'],
    request: 'PUT {R}/r?_fields=b&_limit=x {"data":{"a":1}}',
    status: 200,
    body: { data: { a: 1 }, permissions: {} },
  },
  {
    name: 'PUT ignores Response-Behavior.',
    given: ['record'],
    request: 'PUT {R}/r {"data":{"a":1}}',
    headers: { 'Response-Behavior': 'light' },
    body: { data: { id: 'r', a: 1 }, permissions: {} },
  },
  // Proves S-003, S-039.
  {
    name: 'PUT in an unknown collection returns 404 for the parent.',
    given: ['bucket'],
    request: 'PUT {R}/x',
    status: 404,
    errno: 111,
    body: { details: { id: 'c', resource_name: 'collection' } },
  },
  { name: 'PUT in an unknown bucket is refused.', request: 'PUT {C}', status: 403 },
]);

describeScenarios('reading and deleting objects', [
  // Proves S-035, S-042, S-052.
  {
    name: 'GET returns data and permissions, with ETag and Last-Modified of the object.',
    given: ['collection', { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' }],
    request: 'GET {R}/x',
    status: 200,
    body: only({ data: { id: 'x', a: 1, last_modified: '{x.time}' }, permissions: { write: ['{alice}'] } }),
    gives: { etag: '{x.etag}', 'last-modified': '{x.modified}' },
  },
  {
    name: 'Unknown parameters of an object are ignored.',
    given: ['record'],
    request: 'GET {R}/r?_since=abc&_limit=-1&a=2',
    status: 200,
  },
  // Proves S-101.
  {
    name: 'DELETE returns the tombstone, and no permissions.',
    given: ['record'],
    request: 'DELETE {R}/r',
    status: 200,
    body: only({ data: only({ id: 'r', last_modified: aTimestamp, deleted: true }) }),
    gives: { etag: anEtag },
  },
  {
    name: 'A deleted object is missing.',
    given: ['record', 'DELETE {R}/r'],
    request: 'GET {R}/r',
    status: 404,
    errno: 110,
  },
  {
    name: 'A deleted object cannot be deleted again.',
    given: ['record', 'DELETE {R}/r'],
    request: 'DELETE {R}/r',
    status: 404,
    errno: 110,
  },
  {
    name: 'A deleted object cannot be patched.',
    given: ['record', 'DELETE {R}/r'],
    request: 'PATCH {R}/r {"data":{}}',
    status: 404,
    errno: 110,
  },
  { name: 'A bucket that is not there is forbidden to strangers.', request: 'GET {B}', status: 403, errno: 121 },
  {
    name: 'A missing collection is 404 for readers of the bucket.',
    given: ['bucket'],
    request: 'GET {C}',
    status: 404,
    errno: 110,
    body: { details: { id: 'c', resource_name: 'collection' } },
  },
  {
    name: 'A record of a missing collection is a missing parent.',
    given: ['bucket'],
    request: 'GET {R}/x',
    status: 404,
    errno: 111,
    body: { details: { id: 'c', resource_name: 'collection' } },
  },
]);

describeScenarios('lists', [
  // Proves S-164, S-252.
  {
    name: 'A list shows its objects without permissions, newest first.',
    given: ['collection', 'PUT {R}/a', 'PUT {R}/b', 'PUT {R}/c'],
    request: 'GET {R}',
    status: 200,
    body: only({ data: ids('c b a') }),
  },
  {
    name: 'A list has the timestamp of its last change.',
    given: ['collection', 'PUT {R}/a', { request: 'DELETE {R}/a', save: 'x' }],
    request: 'GET {R}',
    body: { data: [] },
    gives: { etag: '{x.etag}', 'last-modified': '{x.modified}' },
  },
  {
    name: 'An empty list has a timestamp that stays.',
    given: ['collection', { request: 'GET {R}', save: 'x' }],
    request: 'GET {R}',
    gives: { etag: '{x.etag}' },
  },
  {
    name: 'The list of records of an unknown collection is missing.',
    given: ['bucket'],
    request: 'GET {R}',
    status: 404,
    errno: 111,
    body: { details: { id: 'c', resource_name: 'collection' } },
  },
  { name: 'The lists of an unknown bucket are forbidden.', request: 'GET {B}/collections', status: 403 },
  // Proves S-113, S-252.
  {
    name: 'DELETE of a list returns all tombstones.',
    given: ['collection', 'PUT {R}/a', 'PUT {R}/b', 'PUT {R}/c'],
    request: 'DELETE {R}',
    status: 200,
    body: only({
      data: unordered(
        { id: 'a', deleted: true, last_modified: aTimestamp },
        { id: 'b', deleted: true },
        { id: 'c', deleted: true },
      ),
    }),
    save: 'x',
    then: [{ request: 'GET {R}', body: { data: [] }, gives: { etag: '{x.etag}' } }],
  },
  {
    name: 'DELETE of a list takes filters.',
    given: ['collection', 'PUT {R}/a {"data":{"n":1}}', 'PUT {R}/b {"data":{"n":2}}'],
    request: 'DELETE {R}?n=2',
    body: { data: ids('b') },
    then: [{ request: 'GET {R}', body: { data: ids('a') } }],
  },
  {
    name: 'DELETE of a list keeps the requested order.',
    given: ['collection', 'PUT {R}/a {"data":{"n":3}}', 'PUT {R}/b {"data":{"n":1}}', 'PUT {R}/c {"data":{"n":2}}'],
    request: 'DELETE {R}?_sort=n',
    body: { data: ids('b c a') },
  },
  {
    name: 'DELETE that matches nothing leaves the timestamp.',
    given: ['record', { request: 'GET {R}', save: 'x' }],
    request: 'DELETE {R}?a=5',
    body: { data: [] },
    gives: { etag: '{x.etag}' },
  },
  {
    name: 'Tombstones are not deleted again.',
    given: ['record', 'DELETE {R}/r'],
    request: 'DELETE {R}?_since=0',
    body: { data: [] },
  },
  {
    name: 'DELETE of the collections of a bucket deletes their records.',
    given: ['record', 'PUT {B}/collections/d'],
    request: 'DELETE {B}/collections',
    body: { data: unordered({ id: 'c' }, { id: 'd' }) },
    then: ['PUT {C}', { request: 'GET {R}?_since=0', body: { data: [] } }],
  },
  // Proves S-126, S-252.
  {
    name: 'DELETE of buckets deletes those the caller may write.',
    given: ['bucket', 'bob: PUT {B}x {"permissions":{"read":["{alice}"]}}'],
    request: 'DELETE /buckets',
    body: { data: ids('{b}') },
    then: [{ request: 'GET /buckets', body: { data: ids('{b}x') } }],
  },
]);
