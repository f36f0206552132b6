// Ids, envelopes and what may stand in the data of an object (docs/reference/http-api/README.md#ids).
import { absent, aTimestamp, aUuid, ids, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const badId = [['path', null]] as const;

const long = 'a'.repeat(512);

describeScenarios('ids', [
  // Proves S-125.
  {
    name: 'A bucket without id gets eight characters.',
    request: 'POST /buckets',
    status: 201,
    body: { data: { id: /^[A-Za-z0-9][\w-]{7}$/ } },
  },
  // Proves S-129.
  {
    name: 'A collection without id gets eight characters.',
    given: ['bucket'],
    request: 'POST {B}/collections {}',
    status: 201,
    body: { data: { id: /^[A-Za-z0-9][\w-]{7}$/ } },
  },
  {
    name: 'A group without id gets eight characters.',
    given: ['bucket'],
    request: 'POST {G}',
    status: 201,
    body: { data: { id: /^[A-Za-z0-9][\w-]{7}$/ } },
  },
  {
    name: 'A record without id gets a UUID of version 4.',
    given: ['collection'],
    request: 'POST {R}',
    status: 201,
    body: { data: { id: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/ } },
  },
  // Proves S-025.
  { name: 'Ids may contain underscores and dashes after the first character.', request: 'PUT {B}_a-B9', status: 201 },
  {
    name: 'Ids are case-sensitive.',
    given: ['collection', 'PUT {R}/ab'],
    request: 'PUT {R}/aB',
    status: 201,
    then: [{ request: 'HEAD {R}', gives: { 'total-objects': '2' } }],
  },
  // Proves S-053.
  { name: 'A leading underscore is refused.', given: ['collection'], request: 'PUT {R}/_a', issues: badId },
  { name: 'A leading dash is refused.', given: ['collection'], request: 'PUT {R}/-a', issues: badId },
  // Proves S-053.
  { name: 'A dot is refused.', given: ['collection'], request: 'PUT {R}/a.b', issues: badId },
  { name: 'An at sign is refused.', given: ['collection'], request: 'PUT {R}/a@b', issues: badId },
  { name: 'A space is refused.', given: ['collection'], request: 'PUT {R}/a%20b', issues: badId },
  { name: 'A line feed at the end is refused.', given: ['collection'], request: 'PUT {R}/a%0A', issues: badId },
  { name: 'A letter beyond ASCII is refused.', given: ['collection'], request: 'PUT {R}/%C3%A9', issues: badId },
  { name: 'The id is checked on GET too.', given: ['collection'], request: 'GET {R}/a.b', issues: badId },
  { name: 'The id is checked on DELETE too.', given: ['collection'], request: 'DELETE {R}/a.b', issues: badId },
  {
    name: 'The id is checked on PATCH too.',
    given: ['collection'],
    request: 'PATCH {R}/a.b {"data":{}}',
    issues: badId,
  },
  // Proves S-053.
  { name: 'An id of 512 characters is accepted.', given: ['collection'], request: `PUT {R}/${long}`, status: 201 },
  // Proves S-053.
  { name: 'An id of 513 characters is refused.', given: ['collection'], request: `PUT {R}/${long}a`, issues: badId },
  { name: 'A posted id is checked.', given: ['collection'], request: 'POST {R} {"data":{"id":"a b"}}', issues: badId },
  {
    name: 'A posted id that is a number is refused.',
    given: ['collection'],
    request: 'POST {R} {"data":{"id":1}}',
    issues: badId,
  },
  {
    name: 'A posted id that is null is refused.',
    given: ['collection'],
    request: 'POST {R} {"data":{"id":null}}',
    issues: badId,
  },
  {
    name: 'A posted id that is empty is refused.',
    given: ['collection'],
    request: 'POST {R} {"data":{"id":""}}',
    issues: badId,
  },
  {
    name: 'The format of a posted id is checked before the caller.',
    request: 'nobody: POST {R} {"data":{"id":"a b"}}',
    issues: badId,
  },
  {
    name: 'An unknown object with a good id is 404.',
    given: ['collection'],
    request: 'GET {R}/zz',
    status: 404,
    errno: 110,
    body: { details: { id: 'zz', resource_name: 'record' }, error: 'Not Found' },
  },
]);

describeScenarios(
  'id generators',
  [
    // Proves S-044, S-045.
    {
      name: 'A setting restricts ids of records to UUIDs.',
      given: ['collection'],
      request: 'PUT {R}/abc',
      issues: badId,
      then: [{ request: 'PUT {R}/0f0f0f0f-0000-1000-8000-000000000001', status: 201 }],
    },
    // Proves S-044.
    {
      name: 'Upper-case UUIDs are refused.',
      given: ['collection'],
      request: 'PUT {R}/0F0F0F0F-0000-1000-8000-000000000001',
      issues: badId,
    },
    // Proves S-045.
    {
      name: 'A setting generates UUIDs as ids of buckets.',
      request: 'POST /buckets',
      status: 201,
      body: { data: { id: aUuid } },
    },
  ],
  { settings: { record_id_generator: 'UUID4', bucket_id_generator: 'RelaxedUUID' } },
);

describeScenarios('bodies', [
  // Proves S-121.
  {
    name: 'An unknown member is refused.',
    given: ['collection'],
    request: 'POST {R} {"data":{},"x":1}',
    issues: [['body', '']],
  },
  {
    name: 'Data that is null is refused.',
    given: ['collection'],
    request: 'POST {R} {"data":null}',
    issues: [['body', 'data']],
  },
  {
    name: 'Data that is a list is refused.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":[]}',
    issues: [['body', 'data']],
  },
  {
    name: 'Permissions that are null are refused.',
    given: ['collection'],
    request: 'POST {R} {"permissions":null}',
    issues: [['body', 'permissions']],
  },
  {
    name: 'Permissions that are a list are refused.',
    given: ['collection'],
    request: 'POST {R} {"permissions":["read"]}',
    issues: [['body', 'permissions']],
  },
  {
    name: 'Principals that are no list are refused.',
    given: ['collection'],
    request: 'POST {R} {"permissions":{"read":"x"}}',
    issues: [['body', 'permissions.read']],
  },
  {
    name: 'A principal that is a number is refused.',
    given: ['collection'],
    request: 'POST {R} {"permissions":{"read":[1]}}',
    issues: [['body', 'permissions.read.0']],
  },
  {
    name: 'A principal that is empty is refused.',
    given: ['collection'],
    request: 'POST {R} {"permissions":{"read":["a",""]}}',
    issues: [['body', 'permissions.read.1']],
  },
  {
    name: 'A permission that the kind does not have is refused.',
    given: ['collection'],
    request: 'POST {R} {"permissions":{"record:create":["a"]}}',
    issues: [['body', 'permissions']],
  },
  {
    name: 'All faults are reported at once, by name.',
    given: ['bucket'],
    request: 'PUT {G}/g {"data":{"members":[1]},"permissions":{"read":[2],"write":[""]},"zz":1}',
    issues: [
      ['body', ''],
      ['body', 'data.members.0'],
      ['body', 'permissions.read.0'],
      ['body', 'permissions.write.0'],
    ],
  },
  {
    name: 'The message is built from the first fault.',
    given: ['bucket'],
    request: 'PUT {G}/g {"data":{"members":[1]}}',
    status: 400,
    body: { message: /members\.0/ },
  },
  {
    name: 'Headers, query and body are checked together.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":1}',
    headers: { 'If-Match': 'bad' },
    issues: [
      ['header', 'If-Match'],
      ['body', 'data'],
    ],
  },
  {
    name: 'Cut off JSON is refused with one entry.',
    given: ['collection'],
    request: 'POST {R} {"data":',
    issues: [['body', '']],
  },
  {
    name: 'A JSON text is no body.',
    given: ['collection'],
    request: 'POST {R} "x"',
    issues: [['body', '']],
  },
  {
    name: 'null is no body.',
    given: ['collection'],
    request: 'POST {R} null',
    issues: [['body', '']],
  },
  {
    name: 'A JSON list is no body, with one entry.',
    given: ['collection'],
    request: 'POST {R} []',
    issues: [['body', '']],
  },
  {
    name: 'The caller is checked before the body.',
    given: ['collection'],
    request: 'bob: POST {R} {"data":',
    status: 403,
  },
  {
    name: 'An anonymous caller is refused before the body is checked.',
    given: ['collection'],
    request: 'nobody: PUT {R}/x {"data":',
    status: 401,
    errno: 104,
  },
]);

describeScenarios('fields of data', [
  {
    name: 'A sent mark of deletion is dropped.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"deleted":true,"a":1}}',
    status: 201,
    body: { data: only({ id: 'x', last_modified: aTimestamp, a: 1 }) },
  },
  {
    name: 'A sent mark of deletion is dropped by POST and PATCH.',
    given: ['collection', 'POST {R} {"data":{"id":"x","deleted":true}}'],
    request: 'PATCH {R}/x {"data":{"deleted":true}}',
    body: { data: { deleted: absent } },
  },
  {
    name: 'A field called deleted with another value is data.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"deleted":false}}',
    body: { data: { deleted: false } },
    then: [{ request: 'GET {R}?deleted=false', body: { data: ids('x') } }],
  },
  {
    name: 'Sent permissions inside the data are dropped.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"__permissions__":{"read":["{bob}"]}}}',
    status: 201,
    body: { data: { __permissions__: absent }, permissions: only({ write: ['{alice}'] }) },
  },
  {
    name: 'The id in the data has to be that of the path.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"id":"y"}}',
    issues: [['body', 'id']],
  },
  {
    name: 'The id in the data may be that of the path.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"id":"x"}}',
    status: 201,
  },
  {
    name: 'An id that is null is another id.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"id":null}}',
    issues: [['body', 'id']],
  },
  {
    name: 'A nested null is kept.',
    given: ['collection'],
    request: 'PUT {R}/x {"data":{"a":null,"b":{"c":null}}}',
    body: { data: { a: null, b: { c: null } } },
  },
  // Proves S-041.
  {
    name: 'A cache time is converted to an integer.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"cache_expires":"12"}}',
    body: { data: { cache_expires: 12 } },
  },
  {
    name: 'A cache time is cut to an integer.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"cache_expires":12.7}}',
    body: { data: { cache_expires: 12 } },
  },
  {
    name: 'A cache time that is null is dropped.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"cache_expires":null}}',
    body: { data: { cache_expires: absent } },
  },
  {
    name: 'A cache time that is no number is refused.',
    given: ['bucket'],
    request: 'PUT {C} {"data":{"cache_expires":"soon"}}',
    issues: [['body', 'data.cache_expires']],
  },
  {
    name: 'A cache time that is no number is refused after a patch.',
    given: ['collection'],
    request: 'PATCH {C} {"data":{"cache_expires":[]}}',
    issues: [['body', 'cache_expires']],
  },
  // Proves S-004, S-024, S-026, S-027, S-030, S-031, S-252, S-253.
  {
    name: 'Buckets, groups and collections accept any attributes.',
    given: [
      'PUT {B} {"data":{"color":"red"}}',
      'PUT {G}/g {"data":{"color":"green"}}',
      'PUT {C} {"data":{"color":"blue"}}',
    ],
    request: 'GET {B}',
    body: { data: { color: 'red' } },
    then: [
      { request: 'GET {G}/g', body: { data: { color: 'green', members: [] } } },
      { request: 'GET {C}', body: { data: { color: 'blue' } } },
    ],
  },
]);
