// What permissions and settings grant (docs/reference/http-api/permissions.md).
import { ids, only, unordered } from './match.ts';
import { describeScenarios, type Scenario } from './scenarios.ts';

/** The permissions of an object as a JSON body that gives bob one of them. */
function toBob(permission: string): string {
  return `{"permissions":{"${permission}":["{bob}"]}}`;
}

const tree = (bucket: string, collection: string, record: string, group: string): NonNullable<Scenario['given']> => [
  `PUT {B} ${bucket === '' ? '{}' : toBob(bucket)}`,
  `PUT {C} ${collection === '' ? '{}' : toBob(collection)}`,
  `PUT {R}/r ${record === '' ? '{}' : toBob(record)}`,
  `PUT {G}/g ${group === '' ? '{}' : toBob(group)}`,
];

/** Requests of bob's, harmless ones first, so that none spoils the next. */
const requests: readonly (readonly [string, string])[] = [
  ['GET bucket', 'bob: GET {B}'],
  ['GET collections', 'bob: GET {B}/collections'],
  ['GET groups', 'bob: GET {G}'],
  ['GET collection', 'bob: GET {C}'],
  ['GET group', 'bob: GET {G}/g'],
  ['GET records', 'bob: GET {R}'],
  ['GET record', 'bob: GET {R}/r'],
  ['GET unknown record', 'bob: GET {R}/none'],
  ['PATCH unknown record', 'bob: PATCH {R}/none {"data":{}}'],
  ['POST collection', 'bob: POST {B}/collections'],
  ['POST group', 'bob: POST {G}'],
  ['POST record', 'bob: POST {R}'],
  ['PUT new record', 'bob: PUT {R}/new'],
  ['PATCH record', 'bob: PATCH {R}/r {"data":{}}'],
  ['PATCH group', 'bob: PATCH {G}/g {"data":{}}'],
  ['PATCH collection', 'bob: PATCH {C} {"data":{}}'],
  ['PATCH bucket', 'bob: PATCH {B} {"data":{}}'],
];

/** Holding one permission on one object: the statuses of the requests above, in their order. */
const matrix: readonly (readonly [string, Scenario['given'], string])[] = [
  ['nothing', tree('', '', '', ''), '403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403'],
  [
    'read on the bucket',
    tree('read', '', '', ''),
    '200 200 200 200 200 200 200 404 404 403 403 403 403 403 403 403 403',
  ],
  [
    'write on the bucket',
    tree('write', '', '', ''),
    '200 200 200 200 200 200 200 404 404 201 201 201 201 200 200 200 200',
  ],
  [
    'collection:create on the bucket',
    tree('collection:create', '', '', ''),
    '200 200 403 403 403 403 403 403 403 201 403 403 403 403 403 403 403',
  ],
  [
    'group:create on the bucket',
    tree('group:create', '', '', ''),
    '200 403 200 403 403 403 403 403 403 403 201 403 403 403 403 403 403',
  ],
  [
    'read on the collection',
    tree('', 'read', '', ''),
    '403 200 403 200 403 200 200 404 404 403 403 403 403 403 403 403 403',
  ],
  [
    'write on the collection',
    tree('', 'write', '', ''),
    '403 200 403 200 403 200 200 404 404 403 403 201 201 200 403 200 403',
  ],
  [
    'record:create on the collection',
    tree('', 'record:create', '', ''),
    '403 200 403 200 403 200 403 403 403 403 403 201 201 403 403 403 403',
  ],
  [
    'read on the record',
    tree('', '', 'read', ''),
    '403 403 403 403 403 200 200 403 403 403 403 403 403 403 403 403 403',
  ],
  [
    'write on the record',
    tree('', '', 'write', ''),
    '403 403 403 403 403 200 200 403 403 403 403 403 403 200 403 403 403',
  ],
  [
    'read on the group',
    tree('', '', '', 'read'),
    '403 403 200 403 200 403 403 403 403 403 403 403 403 403 403 403 403',
  ],
  [
    'write on the group',
    tree('', '', '', 'write'),
    '403 403 200 403 200 403 403 403 403 403 403 403 403 403 200 403 403',
  ],
];

describeScenarios(
  'what each permission grants',
  matrix.map(([title, given, statuses]) => ({
    // Proves S-005, S-013, S-054, S-055, S-059, S-098, S-108, S-111, S-116, S-117, S-119.
    name: `Exactly the documented requests are allowed with ${title}.`,
    ...(given === undefined ? {} : { given }),
    request: 'GET {B}',
    then: requests.map(([, request], index) => ({ request, status: Number(statuses.split(' ')[index]) })),
  })),
);

// Proves S-199.
describeScenarios(
  'settings that grant',
  [
    // Proves S-116.
    {
      name: 'Readers of buckets by setting read buckets, but not their contents.',
      given: ['record'],
      request: 'bob: GET {B}',
      status: 200,
      body: { permissions: only({}) },
      then: [
        { request: 'bob: GET {B}/collections', status: 200, body: { data: [] } },
        { request: 'bob: GET {C}', status: 403 },
        { request: 'bob: PUT {B}', status: 403 },
        { request: 'bob: GET /buckets?id={b}', body: { data: ids('{b}') } },
      ],
    },
    // Proves S-098.
    {
      name: 'Creators of collections by setting create, and own what they create.',
      given: ['bucket'],
      request: 'bob: PUT {B}/collections/mine',
      status: 201,
      body: { permissions: only({ write: ['{bob}'] }) },
    },
    // Proves S-110.
    {
      name: 'Readers of groups by setting may be everyone.',
      given: ['bucket', 'PUT {G}/g'],
      request: 'nobody: GET {G}/g',
      status: 200,
      then: [{ request: 'nobody: GET {G}', body: { data: ids('g') } }],
    },
    // Proves S-119.
    {
      name: 'Writers of records by setting create, change and read them.',
      given: ['collection'],
      request: 'bob: PUT {R}/x',
      status: 201,
      then: [
        { request: 'carol: PATCH {R}/x {"data":{}}', body: { permissions: { write: unordered('{bob}', '{carol}') } } },
        { request: 'carol: GET {R}', body: { data: ids('x') } },
        { request: 'bob: GET {C}', status: 403 },
      ],
    },
    {
      name: 'The lists of an unknown bucket are 404 for callers with access by settings.',
      request: 'bob: GET {G}',
      status: 404,
      errno: 111,
      body: { details: { id: '{b}', resource_name: 'bucket' } },
    },
    // Proves S-118.
    {
      name: 'A setting adds to the stored permissions.',
      given: ['PUT {B} {"permissions":{"write":["{carol}"]}}'],
      request: 'carol: PUT {B}',
      status: 200,
    },
  ],
  {
    settings: {
      bucket_read_principals: 'system.Authenticated',
      collection_create_principals: 'system.Authenticated',
      group_read_principals: 'system.Everyone',
      record_write_principals: 'system.Authenticated',
    },
  },
);

describeScenarios(
  'nobody may create buckets',
  [
    { name: 'Without the right no bucket is created.', request: 'PUT {B}', status: 403 },
    // Proves S-127.
    {
      name: 'The list of buckets is still empty.',
      request: 'GET /buckets',
      status: 200,
      body: { data: [] },
      then: [
        { request: 'HEAD /buckets', status: 200, gives: { 'total-objects': '0' } },
        { request: 'DELETE /buckets', status: 403 },
      ],
    },
    { name: 'Anonymous callers are refused.', request: 'nobody: GET /buckets', status: 401 },
  ],
  { settings: { bucket_create_principals: 'account:nobody' } },
);

describeScenarios(
  'implicit ownership',
  [
    {
      name: 'Without explicit permissions creators are not added as writers.',
      request: 'PUT {B}',
      status: 201,
      body: { permissions: only({}) },
      then: [
        { request: 'PUT {C}', status: 201, body: { permissions: only({}) } },
        { request: 'bob: GET {C}', status: 403 },
        { request: 'GET /', body: { settings: { explicit_permissions: false } } },
        { request: 'bob: PATCH {B} {"data":{"a":1}}', status: 200 },
      ],
    },
  ],
  {
    settings: {
      explicit_permissions: 'false',
      bucket_write_principals: 'system.Authenticated',
      collection_create_principals: 'system.Authenticated',
    },
  },
);
