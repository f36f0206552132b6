// What each method needs, by permissions or by settings, and what it leaves behind
// (docs/reference/http-api/permissions.md).
import { anEtag, anything, ids, only, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

/** The permissions of an object as a JSON body that gives bob one of them. */
function toBob(permission: string): string {
  return `{"permissions":{"${permission}":["{bob}"]}}`;
}

describeScenarios('what each method needs', [
  // Proves S-064.
  {
    name: 'A caller who may only create replaces and deletes its own objects, and no others.',
    given: ['bucket', `PUT {C} ${toBob('record:create')}`, 'PUT {R}/of-alice', 'bob: PUT {R}/x', 'bob: PUT {R}/y'],
    request: 'bob: PUT {R}/x {"data":{"a":1}}',
    status: 200,
    then: [
      { request: 'bob: DELETE {R}/x', status: 200 },
      { request: 'bob: PATCH {R}/y {"data":{"a":1}}', status: 200 },
      { request: 'bob: PUT {R}/of-alice {"data":{"a":1}}', status: 403 },
      { request: 'bob: DELETE {R}/of-alice', status: 403 },
    ],
  },
  // Proves S-065.
  {
    name: 'Only writers change permissions.',
    given: ['collection', `PUT {R}/x ${toBob('read')}`],
    request: `bob: PATCH {R}/x ${toBob('write')}`,
    status: 403,
    then: [
      { request: `bob: PUT {R}/x ${toBob('write')}`, status: 403 },
      `PATCH {R}/x ${toBob('write')}`,
      {
        request: 'bob: PATCH {R}/x {"permissions":{"read":["{carol}"]}}',
        status: 200,
        body: { permissions: only({ read: ['{carol}'], write: unordered('{alice}', '{bob}') }) },
      },
    ],
  },
  // Proves S-117.
  {
    name: 'PUT needs write for an existing object, and create for a new one.',
    given: ['bucket', `PUT {C} ${toBob('record:create')}`, `PUT {R}/x {"permissions":{"write":["{carol}"]}}`],
    request: 'carol: PUT {R}/x',
    status: 200,
    then: [
      { request: 'carol: PUT {R}/new', status: 403 },
      { request: 'bob: PUT {R}/x', status: 403 },
      { request: 'bob: PUT {R}/new', status: 201 },
    ],
  },
  // Proves S-120.
  {
    name: 'DELETE of an object needs write, on the object or inherited.',
    given: ['bucket', 'PUT {C}', `PUT {R}/x ${toBob('read')}`, `PUT {R}/y ${toBob('write')}`, 'PUT {R}/z'],
    request: 'bob: DELETE {R}/x',
    status: 403,
    then: [
      { request: 'bob: DELETE {R}/y', status: 200 },
      { request: 'bob: DELETE {R}/z', status: 403 },
      `PATCH {C} ${toBob('write')}`,
      { request: 'bob: DELETE {R}/z', status: 200 },
      { request: 'bob: DELETE {C}', status: 200 },
    ],
  },
  // Proves S-113.
  {
    name: 'DELETE of a list needs write on the parent, reading it is not enough.',
    given: ['bucket', `PUT {C} ${toBob('read')}`, 'PUT {R}/x'],
    request: 'bob: DELETE {R}',
    status: 403,
    then: [
      { request: 'bob: GET {R}', body: { data: ids('x') } },
      `PATCH {C} ${toBob('write')}`,
      { request: 'bob: DELETE {R}', status: 200, body: { data: ids('x') } },
    ],
  },
  // Proves S-130.
  {
    name: 'DELETE of collections deletes those that the caller may write.',
    given: ['bucket', `PUT {C} ${toBob('write')}`, `PUT {B}/collections/d ${toBob('read')}`, 'PUT {B}/collections/e'],
    request: 'bob: DELETE {B}/collections',
    status: 200,
    body: { data: ids('c') },
    then: [
      { request: 'GET {B}/collections?_sort=id', body: { data: ids('d e') } },
      { request: 'DELETE {B}/collections', body: { data: unordered({ id: 'd' }, { id: 'e' }) } },
    ],
  },
  // Proves S-108, S-116.
  {
    name: 'HEAD needs what GET needs.',
    given: ['bucket', `PUT {C} ${toBob('read')}`, 'PUT {R}/x'],
    request: 'bob: HEAD {R}/x',
    status: 200,
    then: [
      { request: 'bob: HEAD {R}', status: 200, gives: { 'total-objects': '1' } },
      { request: 'carol: HEAD {R}/x', status: 403 },
      { request: 'carol: HEAD {R}', status: 403 },
    ],
  },
]);

describeScenarios(
  'permissions of all callers by settings',
  [
    // Proves S-110, S-116, S-118.
    {
      name: 'A setting grants reading.',
      given: ['collection', 'PUT {R}/x'],
      request: 'bob: GET {R}',
      status: 200,
      body: { data: ids('x') },
      then: [
        { request: 'bob: GET {R}/x', status: 200, body: { permissions: only({}) } },
        { request: 'bob: HEAD {R}/x', status: 200 },
        { request: 'bob: DELETE {R}/x', status: 403 },
      ],
    },
    // Proves S-098, S-111, S-112, S-117.
    {
      name: 'A setting grants creating.',
      given: ['bucket'],
      request: 'bob: POST {G}',
      status: 201,
      body: { permissions: only({ write: ['{bob}'] }) },
      then: [
        { request: 'bob: PUT {G}/g', status: 201 },
        'PUT {G}/of-alice',
        { request: 'bob: PUT {G}/of-alice', status: 403 },
      ],
    },
    // Proves S-115, S-117, S-119, S-120.
    {
      name: 'A setting grants writing.',
      given: ['collection', 'PUT {B}/collections/d', 'PUT {B}/collections/e'],
      request: 'bob: PUT {C} {"data":{"a":1}}',
      status: 200,
      then: [
        { request: 'bob: PATCH {B}/collections/d {"data":{"a":1}}', status: 200 },
        { request: 'bob: DELETE {B}/collections/d', status: 200 },
        { request: 'bob: DELETE {B}/collections', body: { data: unordered({ id: 'c' }, { id: 'e' }) } },
        { request: 'bob: DELETE {B}', status: 403 },
      ],
    },
  ],
  {
    settings: {
      record_read_principals: 'system.Authenticated',
      group_create_principals: 'system.Authenticated',
      collection_write_principals: 'system.Authenticated',
    },
  },
);

describeScenarios('what each method leaves behind', [
  // Proves S-034.
  {
    name: 'Ids of collections may contain underscores.',
    given: ['bucket'],
    request: 'PUT {B}/collections/a_b',
    status: 201,
    body: { data: { id: 'a_b' } },
    then: [{ request: 'POST {B}/collections/a_b/records', status: 201 }],
  },
  // Proves S-123.
  {
    name: 'The response to every method has an ETag.',
    given: ['collection'],
    request: 'POST {R} {"data":{"id":"x"}}',
    status: 201,
    gives: { etag: anEtag },
    then: [
      { request: 'POST {R} {"data":{"id":"x"}}', status: 200, gives: { etag: anEtag } },
      { request: 'PUT {R}/x', status: 200, gives: { etag: anEtag } },
      { request: 'PATCH {R}/x {"data":{}}', gives: { etag: anEtag } },
      { request: 'GET {R}/x', gives: { etag: anEtag } },
      { request: 'HEAD {R}/x', gives: { etag: anEtag } },
      { request: 'GET {R}', gives: { etag: anEtag } },
      { request: 'HEAD {R}', gives: { etag: anEtag } },
      { request: 'DELETE {R}/x', gives: { etag: anEtag } },
      { request: 'DELETE {R}', gives: { etag: anEtag } },
    ],
  },
  // Proves S-062, S-063, S-100.
  {
    name: 'PUT and PATCH by a writer raise the timestamp and make the caller a writer of the object itself.',
    given: [`PUT {B} {"permissions":{"write":["{bob}","{carol}"]}}`, 'PUT {C}', { request: 'PUT {R}/x', save: 'x' }],
    request: 'bob: PUT {R}/x',
    headers: { 'If-Match': '{x.etag}' },
    status: 200,
    body: { permissions: { write: unordered('{alice}', '{bob}') } },
    save: 'y',
    then: [
      { request: 'PUT {R}/x', headers: { 'If-Match': '{x.etag}' }, status: 412 },
      {
        request: 'carol: PATCH {R}/x {"permissions":{"write":[]}}',
        headers: { 'If-Match': '{y.etag}' },
        status: 200,
        body: { permissions: { write: ['{carol}'] } },
      },
      { request: 'PUT {R}/x', headers: { 'If-Match': '{y.etag}' }, status: 412 },
      { request: 'GET {R}?_since={y.time}', body: { data: ids('x') } },
    ],
  },
  ...(
    [
      ['buckets', '/buckets', '{b}'],
      ['collections', '{B}/collections', 'c'],
      ['groups', '{G}', 'g'],
    ] as const
  ).map(([kind, list, id]) => ({
    // Proves S-102, S-104.
    name: `${kind} are created, changed and deleted like records.`,
    given: [
      ...(kind === 'buckets' ? [] : ['bucket' as const]),
      { request: `PUT ${list}/${id} {"data":{"a":1}}`, save: 'x' },
    ],
    request: `PUT ${list}/${id} {"data":{"a":2}}`,
    status: 200,
    then: [
      { request: `GET ${list}/${id}`, headers: { 'If-Match': '{x.etag}' }, status: 412 },
      { request: `DELETE ${list}/${id}`, status: 200, body: { data: { id, deleted: true } } },
      {
        request: `PUT ${list}/${id}`,
        headers: { 'If-None-Match': '*' },
        status: 201,
        body: { data: only({ id, last_modified: anything, ...members(kind) }) },
      },
    ],
  })),
]);

/** Attributes that a group has by default. */
function members(kind: string): object {
  return kind === 'groups' ? { members: [] } : {};
}
