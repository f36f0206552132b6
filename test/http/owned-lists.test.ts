// Lists that belong to callers: at one address each caller has a list of their own, whose objects carry permissions.
import { aTimestamp, ids, only, unordered } from './match.ts';
import { ownedKindsPlugin } from './owned-kinds.ts';
import { describeScenarios } from './scenarios.ts';

const options = {
  plugins: [ownedKindsPlugin(new Map())],
  settings: { includes: 'default_bucket', experimental_permissions_endpoint: 'true' },
};

describeScenarios(
  'lists of one user each',
  [
    {
      name: 'responses contain permissions, with the creator as writer',
      request: 'PUT /tasks/a {"data":{"text":"x"},"permissions":{"read":["{bob}"]}}',
      status: 201,
      body: only({
        data: only({ id: 'a', last_modified: aTimestamp, text: 'x' }),
        permissions: only({ write: ['{alice}'], read: ['{bob}'] }),
      }),
    },
    {
      name: 'each user has a list of their own, with ids of its own',
      given: [
        'PUT /tasks/a {"data":{"text":"of alice"}}',
        'bob: PUT /tasks/a {"data":{"text":"of bob"}}',
        'bob: PUT /tasks/b',
      ],
      request: 'GET /tasks',
      body: { data: [{ id: 'a', text: 'of alice' }] },
      then: [
        { request: 'bob: GET /tasks?_sort=id', body: { data: ids('a b') } },
        { request: 'bob: GET /tasks/a', body: { data: { text: 'of bob' }, permissions: only({ write: ['{bob}'] }) } },
        { request: 'GET /tasks/b', status: 404 },
        { request: 'bob: HEAD /tasks', gives: { 'total-objects': '2' } },
        { request: 'bob: DELETE /tasks', body: { data: unordered({ id: 'a' }, { id: 'b' }) } },
        { request: 'GET /tasks/a', body: { data: { text: 'of alice' }, permissions: only({ write: ['{alice}'] }) } },
      ],
    },
    {
      name: 'every verb works, with preconditions and tombstones',
      given: [{ request: 'PUT /tasks/a {"data":{"n":1}}', save: 'x' }],
      request: 'PATCH /tasks/a {"data":{"m":2}}',
      body: { data: { n: 1, m: 2 } },
      then: [
        { request: 'PUT /tasks/a', headers: { 'If-Match': '{x.etag}' }, status: 412 },
        { request: 'PUT /tasks/a {"permissions":{"read":["{bob}"]}}', body: { data: { n: 1, m: 2 } } },
        { request: 'DELETE /tasks/a', status: 200 },
        { request: 'GET /tasks?_since={x.time}', body: { data: [{ id: 'a', deleted: true }] } },
        { request: 'GET /tasks/a', status: 404 },
      ],
    },
    {
      name: 'an anonymous caller never has a list',
      given: ['PUT /tasks/a {"permissions":{"read":["system.Everyone"],"write":["system.Everyone"]}}'],
      request: 'nobody: GET /tasks',
      status: 401,
      then: [
        { request: 'nobody: HEAD /tasks', status: 401 },
        { request: 'nobody: POST /tasks', status: 401 },
        { request: 'nobody: DELETE /tasks', status: 401 },
        { request: 'nobody: GET /tasks/a', status: 401 },
        { request: 'nobody: PUT /tasks/a', status: 401 },
        { request: 'nobody: PATCH /tasks/a {"data":{}}', status: 401 },
        { request: 'nobody: DELETE /tasks/a', status: 401 },
        { request: 'nobody: PUT /tasks/a/steps/s', status: 401 },
      ],
    },
    {
      name: 'callers with a list get a refused id, and callers without one no access',
      request: 'PUT /tasks/a.b',
      issues: [['path', null]],
      then: [
        { request: 'nobody: PUT /tasks/a.b', status: 401 },
        { request: 'GET /tasks/a.b', issues: [['path', null]] },
      ],
    },
    {
      name: 'objects below belong to the list of the same user, and inherit its permissions',
      given: ['PUT /tasks/a', 'PUT /tasks/a/steps/s {"data":{"of":"alice"}}', 'bob: PUT /tasks/a'],
      request: 'GET /tasks/a/steps/s',
      body: { data: { of: 'alice' } },
      then: [
        { request: 'bob: GET /tasks/a/steps', body: { data: [] } },
        { request: 'bob: GET /tasks/a/steps/s', status: 404 },
        { request: 'carol: GET /tasks/a/steps/s', status: 404 },
        { request: 'carol: PUT /tasks/a/steps/s', status: 404 },
        { request: 'bob: PUT /tasks/a/steps/s {"data":{"of":"bob"}}', status: 201 },
        { request: 'bob: DELETE /tasks/a', status: 200 },
        { request: 'bob: GET /tasks/a/steps/s', status: 404 },
        { request: 'GET /tasks/a/steps/s', body: { data: { of: 'alice' } } },
      ],
    },
    {
      name: 'batches write to the list of their caller',
      request: 'POST /batch {"requests":[{"method":"PUT","path":"/tasks/a"},{"path":"/tasks"}]}',
      body: { responses: [{ status: 201 }, { status: 200, body: { data: ids('a') } }] },
    },
    {
      name: 'the list of own permissions shows what the caller can reach, at its address',
      given: ['PUT /tasks/a {"permissions":{"read":["{bob}"]}}', 'PUT /tasks/a/steps/s'],
      request: 'GET /permissions?_sort=uri',
      body: {
        data: [
          { uri: '/' },
          only({
            uri: '/tasks/a',
            resource_name: 'task',
            id: 'a',
            task_id: 'a',
            permissions: unordered('read', 'write', 'step:create'),
          }),
          only({
            uri: '/tasks/a/steps/s',
            resource_name: 'step',
            id: 's',
            task_id: 'a',
            step_id: 's',
            permissions: unordered('read', 'write'),
          }),
        ],
      },
      then: [{ request: 'bob: GET /permissions', body: { data: [{ uri: '/' }] } }],
    },
    {
      name: 'default principals of the kind have access in their own list only',
      given: ['PUT /vaults/a {"data":{"of":"alice"}}', 'PUT /vaults/b', 'bob: PUT /vaults/a {"data":{"of":"bob"}}'],
      request: 'GET /vaults/missing',
      status: 404,
      then: [
        { request: 'GET /vaults?_sort=id', body: { data: ids('a b') } },
        { request: 'bob: GET /vaults', body: { data: [{ id: 'a', of: 'bob' }] } },
        { request: 'bob: GET /vaults/b', status: 404 },
        { request: 'bob: DELETE /vaults', body: { data: ids('a') } },
        { request: 'GET /vaults?_sort=id', body: { data: ids('a b') } },
        { request: 'nobody: GET /vaults', status: 401 },
      ],
    },
    {
      name: 'a list below a shared object is one for each object and user',
      given: [
        'PUT /boards/{b}',
        'PUT /boards/{b}2',
        'PUT /boards/{b}/marks/m {"data":{"of":"alice"}}',
        'bob: PUT /boards/{b}/marks/m {"data":{"of":"bob"}}',
      ],
      request: 'bob: GET /boards/{b}/marks',
      body: { data: [{ of: 'bob' }] },
      then: [
        { request: 'GET /boards/{b}/marks/m', body: { data: { of: 'alice' } } },
        { request: 'GET /boards/{b}2/marks', body: { data: [] } },
        { request: 'PUT /boards/{b}3/marks/m', status: 404 },
      ],
    },
  ],
  options,
);
