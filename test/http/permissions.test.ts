// Who may do what, groups, settings that grant, ownership and disclosure (protocol: permissions.md).
import { absent, ids, including, only, unordered } from './match.ts';
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

/** Requests of bob's in an order that spoils nothing; each has a letter in the rows below. */
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
    name: `This is what somebody may do who holds ${title}.`,
    ...(given === undefined ? {} : { given }),
    request: 'GET {B}',
    then: requests.map(([, request], index) => ({ request, status: Number(statuses.split(' ')[index]) })),
  })),
);

describeScenarios('shared lists', [
  {
    name: 'Somebody with single records sees and deletes those alone.',
    given: ['collection', `PUT {R}/shared ${toBob('read')}`, `PUT {R}/sharedw ${toBob('write')}`, 'PUT {R}/hid'],
    request: 'bob: GET {R}?_sort=id',
    status: 200,
    body: { data: ids('shared sharedw') },
    then: [
      { request: 'bob: HEAD {R}', gives: { 'total-objects': '2' } },
      { request: 'bob: GET {R}/hid', status: 403 },
      { request: 'bob: GET {R}/shared', body: { permissions: only({}) } },
      { request: 'bob: GET {R}/sharedw', body: { permissions: { write: unordered('{alice}', '{bob}') } } },
      { request: 'bob: PUT {R}/shared', status: 403 },
      { request: 'bob: PUT {R}/unknown', status: 403 },
      { request: 'bob: DELETE {R}/unknown', status: 403 },
      { request: 'carol: GET {R}', status: 403 },
      { request: 'carol: DELETE {R}', status: 403 },
      { request: 'nobody: GET {R}', status: 401, errno: 104 },
      { request: 'bob: DELETE {R}', status: 200, body: { data: ids('sharedw') } },
      { request: 'bob: DELETE {R}', status: 403 },
      { request: 'bob: GET {R}?_since=0', body: { data: ids('shared') } },
      { request: 'GET {R}?_sort=id', body: { data: ids('hid shared') } },
    ],
  },
  {
    name: 'Somebody who may create collections sees their own alone.',
    given: [`PUT {B} ${toBob('collection:create')}`, 'PUT {C}'],
    request: 'bob: GET {B}/collections',
    body: { data: [] },
    then: [
      { request: 'bob: PUT {B}/collections/mine', status: 201 },
      { request: 'bob: GET {B}/collections', body: { data: ids('mine') } },
      { request: 'bob: PUT {C}', status: 403 },
      { request: 'bob: GET {G}', status: 403 },
      { request: 'bob: GET /buckets', body: { data: ids('{b}') } },
    ],
  },
  {
    name: 'Somebody who may create records finds the collection in its list.',
    given: ['bucket', `PUT {C} ${toBob('record:create')}`, 'PUT {B}/collections/d'],
    request: 'bob: GET {B}/collections',
    body: { data: ids('c') },
  },
  {
    name: 'A shared collection is no reason to see its bucket.',
    given: ['bucket', `PUT {C} ${toBob('read')}`],
    request: 'bob: GET /buckets',
    status: 200,
    body: { data: [] },
  },
  {
    name: 'Authenticated callers always get a list of buckets.',
    request: 'carol: GET /buckets',
    status: 200,
    body: { data: [] },
  },
  {
    name: 'Deleting no bucket at all is fine for those who may create.',
    request: 'carol: DELETE /buckets',
    status: 200,
    body: { data: [] },
  },
  {
    name: 'Deeper objects do not leak into a list.',
    given: ['bucket', 'PUT {C}', `PUT {R}/r ${toBob('read')}`],
    request: 'bob: GET {B}/collections',
    status: 403,
  },
]);

describeScenarios('the anonymous', [
  {
    name: 'An anonymous caller needs credentials for the list of buckets.',
    request: 'nobody: GET /buckets',
    status: 401,
    errno: 104,
    gives: { 'www-authenticate': /^Basic / },
    body: { error: 'Unauthorized' },
  },
  { name: 'An anonymous caller cannot create.', request: 'nobody: PUT {B}', status: 401 },
  {
    name: 'Everyone includes the anonymous.',
    given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}', 'PUT {C}', 'PUT {R}/r'],
    request: 'nobody: GET {R}/r',
    status: 200,
    body: { permissions: only({}) },
    then: [
      { request: 'nobody: GET /buckets?id={b}', body: { data: ids('{b}') } },
      { request: 'nobody: PUT {R}/r', status: 401 },
    ],
  },
  {
    name: 'Authenticated does not include the anonymous.',
    given: ['PUT {B} {"permissions":{"read":["system.Authenticated"]}}'],
    request: 'nobody: GET {B}',
    status: 401,
    then: [{ request: 'carol: GET {B}', status: 200 }],
  },
  {
    name: 'What the anonymous may do is done for wrong credentials too.',
    given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}'],
    request: 'nobody: GET {B}',
    headers: { Authorization: 'Bearer nothing' },
    status: 200,
  },
  {
    name: 'Somebody who creates anonymously lets everyone write.',
    given: ['PUT {B}', 'PUT {C} {"permissions":{"record:create":["system.Everyone"]}}'],
    request: 'nobody: PUT {R}/x',
    status: 201,
    body: { permissions: only({ write: ['system.Everyone'] }) },
  },
  ...['Basic', 'Basic ???', 'Basic bm9jb2xvbg==', 'Basic OnB3', 'Bearer abc', 'nonsense', ''].map((value) => ({
    name: `Credentials that say "${value}" are none.`,
    request: 'nobody: GET {B}',
    headers: { Authorization: value },
    status: 401,
    errno: 104,
  })),
  {
    name: 'An empty password is a password.',
    request: 'nobody: GET /',
    headers: { Authorization: `Basic ${Buffer.from('somebody:').toString('base64')}` },
    body: { user: { id: /^basicauth:/ } },
  },
  {
    name: 'The scheme is read in any case.',
    request: 'nobody: GET /',
    headers: { Authorization: `basic ${Buffer.from('a:b').toString('base64')}` },
    body: { user: { id: /^basicauth:/ } },
  },
]);

describeScenarios('ownership and disclosure', [
  {
    name: 'The creator is a writer whatever the body says.',
    request: 'PUT {B} {"permissions":{"write":[]}}',
    body: { permissions: only({ write: ['{alice}'] }) },
  },
  {
    name: 'Permissions are shown to writers of the object alone.',
    given: [`PUT {B} ${toBob('write')}`, 'PUT {C}'],
    request: 'bob: GET {C}',
    body: { permissions: only({}) },
    then: [{ request: 'bob: PATCH {C} {"data":{}}', body: { permissions: { write: unordered('{alice}', '{bob}') } } }],
  },
  {
    name: 'A member of a writing group sees permissions.',
    given: ['PUT {B} {"permissions":{"write":["{G}/g"]}}', 'PUT {G}/g {"data":{"members":["{bob}"]}}'],
    request: 'bob: GET {B}',
    body: { permissions: { write: unordered('{alice}', '{G}/g') } },
  },
  {
    name: 'Unknown principals are kept as they are.',
    request: 'PUT {B} {"permissions":{"read":["ldap:team","group:x","a"]}}',
    body: { permissions: { read: unordered('ldap:team', 'group:x', 'a') } },
  },
  {
    name: 'The unprefixed user id is no principal.',
    given: ['PUT {B} {"permissions":{"read":["bob"]}}'],
    request: 'bob: GET {B}',
    status: 403,
  },
]);

describeScenarios('groups', [
  {
    name: 'Members gain what the group holds, and lose it with the membership.',
    given: ['PUT {B} {"permissions":{"read":["{G}/g"]}}', 'PUT {G}/g {"data":{"members":["{bob}"]}}'],
    request: 'bob: GET {B}',
    status: 200,
    then: [
      'PATCH {G}/g {"data":{"members":["{carol}"]}}',
      { request: 'bob: GET {B}', status: 403 },
      { request: 'carol: GET {B}', status: 200 },
      'PATCH {G}/g {"data":{"color":1}}',
      { request: 'carol: GET {B}', status: 200 },
      'PUT {G}/g {"data":{}}',
      { request: 'carol: GET {B}', status: 403 },
    ],
  },
  {
    name: 'A group of the authenticated holds for all of them.',
    given: ['PUT {B} {"permissions":{"read":["{G}/g"]}}', 'PUT {G}/g {"data":{"members":["system.Authenticated"]}}'],
    request: 'carol: GET {B}',
    status: 200,
    then: [{ request: 'nobody: GET {B}', status: 401 }],
  },
  {
    name: 'A recreated group revives what names it.',
    given: [
      'PUT {B} {"permissions":{"read":["{G}/g"]}}',
      'PUT {G}/g {"data":{"members":["{bob}"]}}',
      'DELETE {G}/g',
      'PUT {G}/g {"data":{"members":["{carol}"]}}',
    ],
    request: 'bob: GET {B}',
    status: 403,
    then: [{ request: 'carol: GET {B}', status: 200 }],
  },
  {
    name: 'A new group has no members.',
    given: ['bucket'],
    request: 'PUT {G}/g',
    status: 201,
    body: { data: { members: [] } },
    then: [{ request: 'POST {G} {"data":{}}', body: { data: { members: [] } } }],
  },
  {
    name: 'Duplicate members stay.',
    given: ['bucket'],
    request: 'PUT {G}/g {"data":{"members":["a","a"]}}',
    body: { data: { members: ['a', 'a'] } },
  },
  {
    name: 'An empty member is refused.',
    given: ['bucket'],
    request: 'PUT {G}/g {"data":{"members":["a",""]}}',
    issues: [['body', 'data.members.1']],
  },
  {
    name: 'Everyone is no member.',
    given: ['bucket'],
    request: 'PUT {G}/g {"data":{"members":["system.Everyone"]}}',
    issues: [['body', 'data.members.0']],
  },
  {
    name: 'A group is no member.',
    given: ['bucket'],
    request: 'POST {G} {"data":{"members":["/buckets/b/groups/g"]}}',
    issues: [['body', 'data.members.0']],
  },
  {
    name: 'Members that are no list are refused.',
    given: ['bucket'],
    request: 'PUT {G}/g {"data":{"members":"a"}}',
    issues: [['body', 'data.members']],
  },
  {
    name: 'Members that are null are refused.',
    given: ['bucket'],
    request: 'PUT {G}/g {"data":{"members":null}}',
    issues: [['body', 'data.members']],
  },
  {
    name: 'A failed change of a group changes no membership.',
    given: ['PUT {B} {"permissions":{"read":["{G}/g"]}}', 'PUT {G}/g {"data":{"members":["{bob}"]}}'],
    request: 'PUT {G}/g {"data":{"members":["{carol}",1]}}',
    status: 400,
    then: [{ request: 'bob: GET {B}', status: 200 }],
  },
]);

describeScenarios(
  'settings that grant',
  [
    {
      name: 'Readers of buckets by setting read buckets, not what is in them.',
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
    {
      name: 'Creators of collections by setting create, and own what they create.',
      given: ['bucket'],
      request: 'bob: PUT {B}/collections/mine',
      status: 201,
      body: { permissions: only({ write: ['{bob}'] }) },
    },
    {
      name: 'Readers of groups by setting may be everyone.',
      given: ['bucket', 'PUT {G}/g'],
      request: 'nobody: GET {G}/g',
      status: 200,
      then: [{ request: 'nobody: GET {G}', body: { data: ids('g') } }],
    },
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
      name: 'The lists of an unknown bucket are missing for those whom settings let in.',
      request: 'bob: GET {G}',
      status: 404,
      errno: 111,
      body: { details: { id: '{b}', resource_name: 'bucket' } },
    },
    {
      name: 'A setting stands beside the stored permissions.',
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
    {
      name: 'The list of buckets is empty all the same.',
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
      name: 'Without explicit permissions creators get nothing of their own.',
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

const entry = (uri: string, kind: string, permissions: readonly string[]): object => ({
  uri,
  resource_name: kind,
  permissions: unordered(...permissions),
});

describeScenarios(
  'the list of own permissions',
  [
    {
      name: 'The list shows what the caller holds on each object, expanded on that object.',
      given: [
        'record',
        'PUT {G}/g',
        'bob: PUT {B}x',
        `bob: PUT {B}x/collections/d {"permissions":{"record:create":["{alice}"]}}`,
      ],
      request: 'GET /permissions?uri="{B}"',
      status: 200,
      body: {
        data: [
          only({
            uri: '{B}',
            resource_name: 'bucket',
            id: '{b}',
            bucket_id: '{b}',
            permissions: unordered('read', 'read:attributes', 'write', 'collection:create', 'group:create'),
          }),
        ],
      },
      gives: { etag: absent, 'last-modified': absent },
      then: [
        {
          request: 'GET /permissions?resource_name=record',
          body: {
            data: [
              only({
                uri: '{R}/r',
                resource_name: 'record',
                id: 'r',
                bucket_id: '{b}',
                collection_id: 'c',
                record_id: 'r',
                permissions: unordered('read', 'write'),
              }),
            ],
          },
        },
        {
          request: 'GET /permissions?resource_name=group',
          body: { data: [entry('{G}/g', 'group', ['read', 'write'])] },
        },
        {
          request: 'GET /permissions?collection_id=d',
          body: { data: [entry('{B}x/collections/d', 'collection', ['read:attributes', 'record:create'])] },
        },
        {
          request: 'GET /permissions?collection_id=c&resource_name=collection',
          body: { data: [entry('{C}', 'collection', ['read:attributes', 'read', 'write', 'record:create'])] },
        },
        {
          request: 'GET /permissions',
          body: {
            data: [
              { uri: '{B}x/collections/d' },
              { uri: '{G}/g' },
              { uri: '{R}/r' },
              { uri: '{C}' },
              { uri: '{B}' },
              only({ uri: '/', resource_name: 'root', permissions: ['bucket:create'] }),
            ],
          },
        },
        { request: 'HEAD /permissions', gives: { 'total-objects': '6', 'total-records': '6' } },
        { request: 'GET /permissions?_sort=uri&_limit=2', body: { data: [{ uri: '/' }, { uri: '{B}' }] }, save: 'p' },
        { request: 'GET {p.next}', body: { data: [{ uri: '{C}' }, { uri: '{R}/r' }] } },
        { request: 'GET /permissions?contains_permissions=group:create', body: { data: [{ uri: '{B}' }] } },
        {
          request: 'GET /permissions?contains_any_permissions=["bucket:create","group:create"]',
          body: { data: unordered({ uri: '/' }, { uri: '{B}' }) },
        },
        {
          request: 'GET /permissions?_fields=uri&resource_name=bucket',
          body: { data: [only({ uri: '{B}', id: '{b}' })] },
        },
        { request: 'GET /permissions?resource_name=bucket', headers: { 'If-None-Match': '"1"' }, status: 200 },
      ],
    },
    { name: 'Everyone may read the list.', request: 'nobody: GET /permissions', status: 200, body: { data: [] } },
    {
      name: 'What everyone may read is in the list of the anonymous.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}'],
      request: 'nobody: GET /permissions',
      body: { data: including(entry('{B}', 'bucket', ['read', 'read:attributes'])) },
    },
    {
      name: 'Permissions through groups are in the list.',
      given: ['PUT {B}', 'PUT {G}/g {"data":{"members":["{bob}"]}}', 'PUT {C} {"permissions":{"write":["{G}/g"]}}'],
      request: 'bob: GET /permissions?resource_name=collection',
      body: { data: [{ uri: '{C}' }] },
    },
    { name: 'An unknown field is refused.', request: 'GET /permissions?color=1', issues: [['querystring', 'color']] },
    {
      name: 'An unknown selected field is refused.',
      request: 'GET /permissions?_fields=color',
      status: 400,
      errno: 107,
    },
    { name: 'The list is for reading only.', request: 'DELETE /permissions', status: 405, errno: 115 },
  ],
  { settings: { experimental_permissions_endpoint: 'true' } },
);
