// Ids, envelopes, creating, reading, replacing and deleting objects (protocol: overview.md §1-2, endpoints.md §4-5).
import { absent, anEtag, aTimestamp, aUuid, ids, only, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const badId = [['path', null]] as const;
const long = 'a'.repeat(512);

describeScenarios('ids', [
  { name: 'A bucket without id gets eight characters.', request: 'POST /buckets', status: 201, body: { data: { id: /^[A-Za-z0-9][\w-]{7}$/ } } },
  { name: 'A collection without id gets eight characters.', given: ['bucket'], request: 'POST {B}/collections {}', status: 201, body: { data: { id: /^[A-Za-z0-9][\w-]{7}$/ } } },
  { name: 'A group without id gets eight characters.', given: ['bucket'], request: 'POST {G}', status: 201, body: { data: { id: /^[A-Za-z0-9][\w-]{7}$/ } } },
  { name: 'A record without id gets a UUID of version 4.', given: ['collection'], request: 'POST {R}', status: 201, body: { data: { id: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/ } } },
  { name: 'Ids may hold underscores and dashes after the first character.', request: 'PUT {B}_a-B9', status: 201 },
  { name: 'Ids are case-sensitive.', given: ['collection', 'PUT {R}/ab'], request: 'PUT {R}/aB', status: 201, then: [{ request: 'HEAD {R}', gives: { 'total-objects': '2' } }] },
  { name: 'A leading underscore is refused.', given: ['collection'], request: 'PUT {R}/_a', issues: badId },
  { name: 'A leading dash is refused.', given: ['collection'], request: 'PUT {R}/-a', issues: badId },
  { name: 'A dot is refused.', given: ['collection'], request: 'PUT {R}/a.b', issues: badId },
  { name: 'An at sign is refused.', given: ['collection'], request: 'PUT {R}/a@b', issues: badId },
  { name: 'A space is refused.', given: ['collection'], request: 'PUT {R}/a%20b', issues: badId },
  { name: 'A line feed at the end is refused.', given: ['collection'], request: 'PUT {R}/a%0A', issues: badId },
  { name: 'A letter beyond ASCII is refused.', given: ['collection'], request: 'PUT {R}/%C3%A9', issues: badId },
  { name: 'The id is checked on GET too.', given: ['collection'], request: 'GET {R}/a.b', issues: badId },
  { name: 'The id is checked on DELETE too.', given: ['collection'], request: 'DELETE {R}/a.b', issues: badId },
  { name: 'The id is checked on PATCH too.', given: ['collection'], request: 'PATCH {R}/a.b {"data":{}}', issues: badId },
  { name: 'An id of 512 characters is fine.', given: ['collection'], request: `PUT {R}/${long}`, status: 201 },
  { name: 'An id of 513 characters is refused.', given: ['collection'], request: `PUT {R}/${long}a`, issues: badId },
  { name: 'A posted id is checked.', given: ['collection'], request: 'POST {R} {"data":{"id":"a b"}}', issues: badId },
  { name: 'A posted id that is a number is refused.', given: ['collection'], request: 'POST {R} {"data":{"id":1}}', issues: badId },
  { name: 'A posted id that is null is refused.', given: ['collection'], request: 'POST {R} {"data":{"id":null}}', issues: badId },
  { name: 'A posted id that is empty is refused.', given: ['collection'], request: 'POST {R} {"data":{"id":""}}', issues: badId },
  { name: 'The format of a posted id is judged before the caller.', request: 'nobody: POST {R} {"data":{"id":"a b"}}', issues: badId },
  { name: 'An unknown object with a good id is 404.', given: ['collection'], request: 'GET {R}/zz', status: 404, errno: 110, body: { details: { id: 'zz', resource_name: 'record' }, error: 'Not Found' } },
]);

describeScenarios('id generators', [
  { name: 'Records can be made to take UUIDs only.', given: ['collection'], request: 'PUT {R}/abc', issues: badId, then: [{ request: 'PUT {R}/0f0f0f0f-0000-1000-8000-000000000001', status: 201 }] },
  { name: 'Upper-case UUIDs are refused.', given: ['collection'], request: 'PUT {R}/0F0F0F0F-0000-1000-8000-000000000001', issues: badId },
  { name: 'Buckets can be made to get UUIDs.', request: 'POST /buckets', status: 201, body: { data: { id: aUuid } } },
], { settings: { record_id_generator: 'UUID4', bucket_id_generator: 'RelaxedUUID' } });

describeScenarios('creating by POST', [
  { name: 'POST without a body creates.', given: ['collection'], request: 'POST {R}', status: 201, body: { data: only({ id: aUuid, last_modified: aTimestamp }), permissions: { write: ['{alice}'] } }, gives: { etag: anEtag, 'last-modified': /GMT$/ } },
  { name: 'POST of an empty object creates.', given: ['collection'], request: 'POST {R} {}', status: 201 },
  { name: 'POST of empty data creates.', given: ['collection'], request: 'POST {R} {"data":{}}', status: 201 },
  { name: 'POST with an id creates under that id.', given: ['collection'], request: 'POST {R} {"data":{"id":"x","a":[1,{"b":null}]}}', status: 201, body: { data: only({ id: 'x', last_modified: aTimestamp, a: [1, { b: null }] }) }, then: [{ request: 'GET {R}/x', body: { data: { a: [1, { b: null }] } } }] },
  { name: 'POST with a taken id answers with the object as it is.', given: ['record'], request: 'POST {R} {"data":{"id":"r","a":2},"permissions":{"read":["{bob}"]}}', status: 200, body: { data: { id: 'r', a: 1 }, permissions: only({ write: ['{alice}'] }) } },
  { name: 'POST with a taken id takes the right to read it.', given: ['collection', 'PUT {R}/r', 'PUT {C} {"permissions":{"record:create":["{bob}"]}}'], request: 'bob: POST {R} {"data":{"id":"r"}}', status: 403 },
  { name: 'POST stores permissions and adds the caller to the writers.', given: ['collection'], request: 'POST {R} {"data":{},"permissions":{"write":["{bob}"],"read":["system.Everyone"]}}', status: 201, body: { permissions: only({ write: unordered('{alice}', '{bob}'), read: ['system.Everyone'] }) } },
  { name: 'An unknown collection is missing.', given: ['bucket'], request: 'POST {R} {}', status: 404, errno: 111, body: { details: { id: 'c', resource_name: 'collection' } } },
  { name: 'The body is judged after the collection.', given: ['bucket'], request: 'POST {R} [', status: 404 },
]);

describeScenarios('bodies', [
  { name: 'An unknown member is refused.', given: ['collection'], request: 'POST {R} {"data":{},"x":1}', issues: [['body', '']] },
  { name: 'Data that is null is refused.', given: ['collection'], request: 'POST {R} {"data":null}', issues: [['body', 'data']] },
  { name: 'Data that is a list is refused.', given: ['collection'], request: 'PUT {R}/x {"data":[]}', issues: [['body', 'data']] },
  { name: 'Permissions that are null are refused.', given: ['collection'], request: 'POST {R} {"permissions":null}', issues: [['body', 'permissions']] },
  { name: 'Permissions that are a list are refused.', given: ['collection'], request: 'POST {R} {"permissions":["read"]}', issues: [['body', 'permissions']] },
  { name: 'Principals that are no list are refused.', given: ['collection'], request: 'POST {R} {"permissions":{"read":"x"}}', issues: [['body', 'permissions.read']] },
  { name: 'A principal that is a number is refused.', given: ['collection'], request: 'POST {R} {"permissions":{"read":[1]}}', issues: [['body', 'permissions.read.0']] },
  { name: 'A principal that is empty is refused.', given: ['collection'], request: 'POST {R} {"permissions":{"read":["a",""]}}', issues: [['body', 'permissions.read.1']] },
  { name: 'A permission that the kind does not have is refused.', given: ['collection'], request: 'POST {R} {"permissions":{"record:create":["a"]}}', issues: [['body', 'permissions']] },
  { name: 'All faults are told at once, by name.', given: ['bucket'], request: 'PUT {G}/g {"data":{"members":[1]},"permissions":{"read":[2],"write":[""]},"zz":1}', issues: [['body', ''], ['body', 'data.members.0'], ['body', 'permissions.read.0'], ['body', 'permissions.write.0']] },
  { name: 'The message is built from the first fault.', given: ['bucket'], request: 'PUT {G}/g {"data":{"members":[1]}}', status: 400, body: { message: /members\.0/ } },
  { name: 'Headers, query and body are judged together.', given: ['collection'], request: 'PUT {R}/x {"data":1}', headers: { 'If-Match': 'bad' }, issues: [['header', 'If-Match'], ['body', 'data']] },
  { name: 'Cut off JSON is refused with two entries.', given: ['collection'], request: 'POST {R} {"data":', issues: [['body', ''], ['body', '']] },
  { name: 'A JSON text is no body.', given: ['collection'], request: 'POST {R} "x"', issues: [['body', ''], ['body', '']] },
  { name: 'null is no body.', given: ['collection'], request: 'POST {R} null', issues: [['body', ''], ['body', '']] },
  { name: 'A JSON list is no body, with one entry.', given: ['collection'], request: 'POST {R} []', issues: [['body', '']] },
  { name: 'The caller is judged before the body.', given: ['collection'], request: 'bob: POST {R} {"data":', status: 403 },
  { name: 'An anonymous caller is judged before the body.', given: ['collection'], request: 'nobody: PUT {R}/x {"data":', status: 401, errno: 104 },
]);

describeScenarios('fields of data', [
  { name: 'A sent mark of deletion is dropped.', given: ['collection'], request: 'PUT {R}/x {"data":{"deleted":true,"a":1}}', status: 201, body: { data: only({ id: 'x', last_modified: aTimestamp, a: 1 }) } },
  { name: 'A sent mark of deletion is dropped by POST and PATCH.', given: ['collection', 'POST {R} {"data":{"id":"x","deleted":true}}'], request: 'PATCH {R}/x {"data":{"deleted":true}}', body: { data: { deleted: absent } } },
  { name: 'A field called deleted with another value is data.', given: ['collection'], request: 'PUT {R}/x {"data":{"deleted":false}}', body: { data: { deleted: false } }, then: [{ request: 'GET {R}?deleted=false', body: { data: ids('x') } }] },
  { name: 'Sent permissions inside the data are dropped.', given: ['collection'], request: 'PUT {R}/x {"data":{"__permissions__":{"read":["{bob}"]}}}', status: 201, body: { data: { __permissions__: absent }, permissions: only({ write: ['{alice}'] }) } },
  { name: 'The id in the data has to be that of the path.', given: ['collection'], request: 'PUT {R}/x {"data":{"id":"y"}}', issues: [['body', 'id']] },
  { name: 'The id in the data may be that of the path.', given: ['collection'], request: 'PUT {R}/x {"data":{"id":"x"}}', status: 201 },
  { name: 'An id that is null is another id.', given: ['collection'], request: 'PUT {R}/x {"data":{"id":null}}', issues: [['body', 'id']] },
  { name: 'A nested null is kept.', given: ['collection'], request: 'PUT {R}/x {"data":{"a":null,"b":{"c":null}}}', body: { data: { a: null, b: { c: null } } } },
  { name: 'A cache time is made an integer.', given: ['bucket'], request: 'PUT {C} {"data":{"cache_expires":"12"}}', body: { data: { cache_expires: 12 } } },
  { name: 'A cache time is cut to an integer.', given: ['bucket'], request: 'PUT {C} {"data":{"cache_expires":12.7}}', body: { data: { cache_expires: 12 } } },
  { name: 'A cache time that is null is dropped.', given: ['bucket'], request: 'PUT {C} {"data":{"cache_expires":null}}', body: { data: { cache_expires: absent } } },
  { name: 'A cache time that is no number is refused.', given: ['bucket'], request: 'PUT {C} {"data":{"cache_expires":"soon"}}', issues: [['body', 'data.cache_expires']] },
  { name: 'A cache time that is no number is refused after a patch.', given: ['collection'], request: 'PATCH {C} {"data":{"cache_expires":[]}}', issues: [['body', 'cache_expires']] },
  { name: 'Buckets, groups and collections hold any attributes.', given: ['PUT {B} {"data":{"color":"red"}}', 'PUT {G}/g {"data":{"color":"green"}}', 'PUT {C} {"data":{"color":"blue"}}'], request: 'GET {B}', body: { data: { color: 'red' } }, then: [{ request: 'GET {G}/g', body: { data: { color: 'green', members: [] } } }, { request: 'GET {C}', body: { data: { color: 'blue' } } }] },
]);

describeScenarios('replacing by PUT', [
  { name: 'PUT without a body creates an empty object.', request: 'PUT {B}', status: 201, body: { data: only({ id: '{b}', last_modified: aTimestamp }), permissions: only({ write: ['{alice}'] }) } },
  { name: 'PUT without a body keeps the data and bumps.', given: ['collection', { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' }], request: 'PUT {R}/x', status: 200, body: { data: { a: 1 } }, save: 'y', then: [{ request: 'GET {R}/x', headers: { 'If-Match': '{x.etag}' }, status: 412 }] },
  { name: 'PUT of data replaces the attributes.', given: ['record'], request: 'PUT {R}/r {"data":{"b":2}}', status: 200, body: { data: only({ id: 'r', last_modified: aTimestamp, b: 2 }) } },
  { name: 'PUT of empty data removes the attributes.', given: ['record'], request: 'PUT {R}/r {"data":{}}', body: { data: { a: absent } } },
  { name: 'PUT of data keeps the permissions.', given: ['collection', 'PUT {R}/x {"permissions":{"read":["{bob}"]}}'], request: 'PUT {R}/x {"data":{"b":2}}', body: { permissions: only({ read: ['{bob}'], write: ['{alice}'] }) } },
  { name: 'PUT of permissions keeps the data and empties those not named.', given: ['bucket', 'PUT {C} {"data":{"a":1},"permissions":{"read":["{bob}"],"record:create":["{bob}"]}}'], request: 'PUT {C} {"permissions":{"read":["{carol}"]}}', status: 200, body: { data: { a: 1 }, permissions: only({ read: ['{carol}'], write: ['{alice}'] }) } },
  { name: 'PUT of an empty permissions mapping changes none.', given: ['collection', 'PUT {R}/x {"permissions":{"read":["{bob}"]}}'], request: 'PUT {R}/x {"permissions":{}}', status: 200, body: { permissions: { read: ['{bob}'] } } },
  { name: 'PUT of both replaces both.', given: ['collection', 'PUT {R}/x {"data":{"a":1},"permissions":{"read":["{bob}"]}}'], request: 'PUT {R}/x {"data":{"b":1},"permissions":{"write":[]}}', body: { data: { a: absent, b: 1 }, permissions: only({ write: ['{alice}'] }) } },
  { name: 'Duplicate principals are one.', given: ['collection'], request: 'PUT {R}/x {"permissions":{"read":["a","a"]}}', body: { permissions: { read: ['a'] } } },
  { name: 'PUT ignores the parameters of lists.', given: ['record'], request: 'PUT {R}/r?_fields=b&_limit=x {"data":{"a":1}}', status: 200, body: { data: { a: 1 }, permissions: {} } },
  { name: 'PUT ignores Response-Behavior.', given: ['record'], request: 'PUT {R}/r {"data":{"a":1}}', headers: { 'Response-Behavior': 'light' }, body: { data: { id: 'r', a: 1 }, permissions: {} } },
  { name: 'PUT in an unknown collection is missing its parent.', given: ['bucket'], request: 'PUT {R}/x', status: 404, errno: 111, body: { details: { id: 'c', resource_name: 'collection' } } },
  { name: 'PUT in an unknown bucket is refused.', request: 'PUT {C}', status: 403 },
]);

describeScenarios('reading and deleting objects', [
  { name: 'GET shows data and permissions with the validators of the object.', given: ['collection', { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' }], request: 'GET {R}/x', status: 200, body: only({ data: { id: 'x', a: 1, last_modified: '{x.time}' }, permissions: { write: ['{alice}'] } }), gives: { etag: '{x.etag}', 'last-modified': '{x.modified}' } },
  { name: 'Unknown parameters of an object are ignored.', given: ['record'], request: 'GET {R}/r?_since=abc&_limit=-1&a=2', status: 200 },
  { name: 'DELETE answers with the tombstone, and no permissions.', given: ['record'], request: 'DELETE {R}/r', status: 200, body: only({ data: only({ id: 'r', last_modified: aTimestamp, deleted: true }) }), gives: { etag: anEtag } },
  { name: 'A deleted object is missing.', given: ['record', 'DELETE {R}/r'], request: 'GET {R}/r', status: 404, errno: 110 },
  { name: 'A deleted object cannot be deleted again.', given: ['record', 'DELETE {R}/r'], request: 'DELETE {R}/r', status: 404, errno: 110 },
  { name: 'A deleted object cannot be patched.', given: ['record', 'DELETE {R}/r'], request: 'PATCH {R}/r {"data":{}}', status: 404, errno: 110 },
  { name: 'A bucket that is not there is forbidden to strangers.', request: 'GET {B}', status: 403, errno: 121 },
  { name: 'A collection that is not there is missing for readers of the bucket.', given: ['bucket'], request: 'GET {C}', status: 404, errno: 110, body: { details: { id: 'c', resource_name: 'collection' } } },
  { name: 'A record of a collection that is not there is missing its parent.', given: ['bucket'], request: 'GET {R}/x', status: 404, errno: 111, body: { details: { id: 'c', resource_name: 'collection' } } },
]);

describeScenarios('lists', [
  { name: 'A list shows its objects without permissions, newest first.', given: ['collection', 'PUT {R}/a', 'PUT {R}/b', 'PUT {R}/c'], request: 'GET {R}', status: 200, body: only({ data: ids('c b a') }) },
  { name: 'A list has the timestamp of its last change.', given: ['collection', 'PUT {R}/a', { request: 'DELETE {R}/a', save: 'x' }], request: 'GET {R}', body: { data: [] }, gives: { etag: '{x.etag}', 'last-modified': '{x.modified}' } },
  { name: 'An empty list has a timestamp that stays.', given: ['collection', { request: 'GET {R}', save: 'x' }], request: 'GET {R}', gives: { etag: '{x.etag}' } },
  { name: 'The list of records of an unknown collection is missing.', given: ['bucket'], request: 'GET {R}', status: 404, errno: 111, body: { details: { id: 'c', resource_name: 'collection' } } },
  { name: 'The lists of an unknown bucket are forbidden.', request: 'GET {B}/collections', status: 403 },
  { name: 'DELETE of a list answers with all tombstones.', given: ['collection', 'PUT {R}/a', 'PUT {R}/b', 'PUT {R}/c'], request: 'DELETE {R}', status: 200, body: only({ data: unordered({ id: 'a', deleted: true, last_modified: aTimestamp }, { id: 'b', deleted: true }, { id: 'c', deleted: true }) }), save: 'x', then: [{ request: 'GET {R}', body: { data: [] }, gives: { etag: '{x.etag}' } }] },
  { name: 'DELETE of a list takes filters.', given: ['collection', 'PUT {R}/a {"data":{"n":1}}', 'PUT {R}/b {"data":{"n":2}}'], request: 'DELETE {R}?n=2', body: { data: ids('b') }, then: [{ request: 'GET {R}', body: { data: ids('a') } }] },
  { name: 'DELETE of a list keeps the order asked for.', given: ['collection', 'PUT {R}/a {"data":{"n":3}}', 'PUT {R}/b {"data":{"n":1}}', 'PUT {R}/c {"data":{"n":2}}'], request: 'DELETE {R}?_sort=n', body: { data: ids('b c a') } },
  { name: 'DELETE that matches nothing leaves the timestamp.', given: ['record', { request: 'GET {R}', save: 'x' }], request: 'DELETE {R}?a=5', body: { data: [] }, gives: { etag: '{x.etag}' } },
  { name: 'Tombstones are not deleted again.', given: ['record', 'DELETE {R}/r'], request: 'DELETE {R}?_since=0', body: { data: [] } },
  { name: 'DELETE of the collections of a bucket takes their records along.', given: ['record', 'PUT {B}/collections/d'], request: 'DELETE {B}/collections', body: { data: unordered({ id: 'c' }, { id: 'd' }) }, then: ['PUT {C}', { request: 'GET {R}?_since=0', body: { data: [] } }] },
  { name: 'DELETE of buckets deletes those the caller may write.', given: ['bucket', 'bob: PUT {B}x {"permissions":{"read":["{alice}"]}}'], request: 'DELETE /buckets', body: { data: ids('{b}') }, then: [{ request: 'GET /buckets', body: { data: ids('{b}x') } }] },
]);
