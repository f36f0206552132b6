// Single shared objects, the anonymous, ownership and groups (docs/reference/http-api/permissions.md).
import { ids, only, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

/** The permissions of an object as a JSON body that gives bob one of them. */
function toBob(permission: string): string {
  return `{"permissions":{"${permission}":["{bob}"]}}`;
}

describeScenarios('shared lists', [
  // Proves S-109, S-114.
  {
    name: 'A caller with access to single records sees and deletes only those.',
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
    name: 'A caller who may create collections sees only its own.',
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
    name: 'A caller who may create records finds the collection in its list.',
    given: ['bucket', `PUT {C} ${toBob('record:create')}`, 'PUT {B}/collections/d'],
    request: 'bob: GET {B}/collections',
    body: { data: ids('c') },
  },
  {
    name: 'A shared collection does not reveal its bucket.',
    given: ['bucket', `PUT {C} ${toBob('read')}`],
    request: 'bob: GET /buckets',
    status: 200,
    body: { data: [] },
  },
  // Proves S-127.
  {
    name: 'Authenticated callers always get a list of buckets.',
    request: 'carol: GET /buckets',
    status: 200,
    body: { data: [] },
  },
  {
    name: 'Callers who may create get an empty deletion of buckets.',
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
  // Proves S-057.
  {
    name: 'Everyone includes anonymous callers.',
    given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}', 'PUT {C}', 'PUT {R}/r'],
    request: 'nobody: GET {R}/r',
    status: 200,
    body: { permissions: only({}) },
    then: [
      { request: 'nobody: GET /buckets?id={b}', body: { data: ids('{b}') } },
      { request: 'nobody: PUT {R}/r', status: 401 },
    ],
  },
  // Proves S-058.
  {
    name: 'Authenticated does not include anonymous callers.',
    given: ['PUT {B} {"permissions":{"read":["system.Authenticated"]}}'],
    request: 'nobody: GET {B}',
    status: 401,
    then: [{ request: 'carol: GET {B}', status: 200 }],
  },
  {
    name: 'Wrong credentials have the access of anonymous callers.',
    given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}'],
    request: 'nobody: GET {B}',
    headers: { Authorization: 'Bearer nothing' },
    status: 200,
  },
  {
    name: 'An anonymous creator lets everyone write.',
    given: ['PUT {B}', 'PUT {C} {"permissions":{"record:create":["system.Everyone"]}}'],
    request: 'nobody: PUT {R}/x',
    status: 201,
    body: { permissions: only({ write: ['system.Everyone'] }) },
  },
  // Proves S-187, S-192, S-221.
  ...['Basic', 'Basic ???', 'Basic bm9jb2xvbg==', 'Basic OnB3', 'Bearer abc', 'nonsense', ''].map((value) => ({
    name: `Malformed credentials "${value}" count as none.`,
    request: 'nobody: GET {B}',
    headers: { Authorization: value },
    status: 401,
    errno: 104,
  })),
  // Proves S-188.
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
  // Proves S-062, S-063, S-099.
  {
    name: 'The creator is a writer whatever the body contains.',
    request: 'PUT {B} {"permissions":{"write":[]}}',
    body: { permissions: only({ write: ['{alice}'] }) },
  },
  // Proves S-122.
  {
    name: 'Permissions are shown to writers of the object only.',
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
  // Proves S-009, S-061.
  {
    name: 'Unknown principals are kept as they are.',
    request: 'PUT {B} {"permissions":{"read":["ldap:team","group:x","a"]}}',
    body: { permissions: { read: unordered('ldap:team', 'group:x', 'a') } },
  },
  // Proves S-059.
  {
    name: 'The unprefixed user id is not a principal.',
    given: ['PUT {B} {"permissions":{"read":["bob"]}}'],
    request: 'bob: GET {B}',
    status: 403,
  },
]);

describeScenarios('groups', [
  // Proves S-028, S-029, S-060.
  {
    name: 'Members have the permissions of the group, and lose them with the membership.',
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
    name: 'A group with system.Authenticated applies to all authenticated callers.',
    given: ['PUT {B} {"permissions":{"read":["{G}/g"]}}', 'PUT {G}/g {"data":{"members":["system.Authenticated"]}}'],
    request: 'carol: GET {B}',
    status: 200,
    then: [{ request: 'nobody: GET {B}', status: 401 }],
  },
  {
    name: 'A recreated group regains its permission entries.',
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
  // Proves S-028, S-041.
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
  // Proves S-041.
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
