// What a plugin can declare: user resources, kinds of its own, endpoints and the rest.
import { describe, expect, it } from 'vitest';
import { definePlugin } from '../../src/http/plugin.ts';
import { startTestService } from '../../src/testing/index.ts';
import { anEtag, aTimestamp, aUuid, ids, only, unordered } from './match.ts';
import { samplePlugin } from './sample-plugin.ts';
import { describeScenarios } from './scenarios.ts';

const options = {
  plugins: [samplePlugin],
  settings: { article_create_principals: 'system.Authenticated', includes: 'default_bucket' },
};

// Proves S-010.
describeScenarios(
  'user resources',
  [
    // Proves S-012.
    {
      name: 'A user resource has no permissions.',
      request: 'POST /notes {"data":{"text":"x"}}',
      status: 201,
      body: only({ data: only({ id: aUuid, last_modified: aTimestamp, text: 'x' }) }),
      gives: { etag: anEtag },
    },
    // Proves S-011.
    {
      name: 'Each user has a separate list.',
      given: [
        'PUT /notes/a {"data":{"text":"of alice"}}',
        'bob: PUT /notes/a {"data":{"text":"of bob"}}',
        'bob: PUT /notes/b',
      ],
      request: 'GET /notes',
      body: { data: [{ id: 'a', text: 'of alice' }] },
      then: [
        { request: 'bob: GET /notes?_sort=id', body: { data: ids('a b') } },
        { request: 'GET /notes/b', status: 404, body: { details: { id: 'b', resource_name: 'note' } } },
        { request: 'bob: DELETE /notes', body: { data: unordered({ id: 'a' }, { id: 'b' }) } },
        { request: 'GET /notes/a', status: 200, body: only({ data: { text: 'of alice' } }) },
      ],
    },
    // Proves S-107, S-111.
    {
      name: 'Anonymous callers get 401.',
      request: 'nobody: GET /notes',
      status: 401,
      errno: 104,
      then: [
        { request: 'nobody: POST /notes', status: 401 },
        { request: 'nobody: PUT /notes/a', status: 401 },
        { request: 'nobody: GET /notes/a', status: 401 },
        { request: 'nobody: PATCH /notes/a {"data":{}}', status: 401 },
        { request: 'nobody: DELETE /notes/a', status: 401 },
        { request: 'nobody: DELETE /notes', status: 401 },
      ],
    },
    {
      name: 'Every verb works on a user resource.',
      given: [{ request: 'PUT /notes/a {"data":{"text":"x"}}', save: 'x' }],
      request: 'PATCH /notes/a {"data":{"n":1}}',
      body: only({ data: { text: 'x', n: 1 } }),
      then: [
        { request: 'PUT /notes/a', headers: { 'If-Match': '{x.etag}' }, status: 412 },
        { request: 'HEAD /notes', gives: { 'total-objects': '1' } },
        { request: 'DELETE /notes/a', status: 200 },
        { request: 'GET /notes?_since={x.time}', body: { data: [{ id: 'a', deleted: true }] } },
      ],
    },
    // Proves S-012.
    {
      name: 'Permissions of a user resource are refused.',
      request: 'PUT /notes/a {"permissions":{"read":["{bob}"]}}',
      issues: [['body', 'permissions']],
    },
    {
      name: 'Attributes are checked as declared.',
      request: 'PUT /notes/a {"data":{"text":1}}',
      issues: [['body', 'data.text']],
    },
    { name: 'Ids are checked.', request: 'PUT /notes/a.b', issues: [['path', null]] },
    {
      name: 'Notes can be in a batch.',
      request: 'POST /batch {"requests":[{"method":"PUT","path":"/notes/a"},{"path":"/notes"}]}',
      body: { responses: [{ status: 201 }, { status: 200, body: { data: ids('a') } }] },
    },
  ],
  options,
);

// Proves S-010.
describeScenarios(
  'shareable resources of plugins',
  [
    {
      name: 'Ids are made as declared.',
      request: 'POST /articles',
      status: 201,
      body: { data: { id: /^no-\d+$/ }, permissions: only({ write: ['{alice}'] }) },
    },
    { name: 'Ids are checked as declared.', request: 'PUT /articles/abc', issues: [['path', null]] },
    // Proves S-056.
    {
      name: 'A permission of the kind is stored and grants as declared.',
      given: [{ request: 'POST /articles {"permissions":{"publish":["{bob}"]}}', save: 'x' }],
      request: 'bob: GET /articles/{x.id}',
      status: 200,
      body: { permissions: only({}) },
      then: [
        { request: 'bob: PATCH /articles/{x.id} {"data":{}}', status: 403 },
        { request: 'GET /articles/{x.id}', body: { permissions: only({ write: ['{alice}'], publish: ['{bob}'] }) } },
        { request: 'carol: GET /articles/{x.id}', status: 403 },
      ],
    },
    {
      name: 'A permission of the kind can be patched.',
      given: [{ request: 'POST /articles', save: 'x' }],
      request: 'PATCH /articles/{x.id} [{"op":"add","path":"/permissions/publish/{bob}"}]',
      headers: { 'Content-Type': 'application/json-patch+json' },
      body: { permissions: { publish: ['{bob}'] } },
    },
    {
      name: 'A permission of another kind is refused.',
      request: 'POST /articles {"permissions":{"record:create":["a"]}}',
      issues: [['body', 'permissions']],
    },
    {
      name: 'A permission of the plugin is none of the built-in kinds.',
      request: 'PUT {B} {"permissions":{"publish":["a"]}}',
      issues: [['body', 'permissions']],
    },
    {
      name: 'Lists of the kind show what is shared.',
      given: [{ request: 'POST /articles {"permissions":{"read":["{bob}"]}}', save: 'x' }, 'POST /articles'],
      request: 'bob: GET /articles',
      body: { data: ids('{x.id}') },
    },
    { name: 'The anonymous may not create.', request: 'nobody: POST /articles', status: 401 },
    {
      name: 'Methods and preflights follow from the declaration.',
      request: 'PUT /articles',
      status: 405,
      gives: { allow: 'GET, HEAD, POST, DELETE, OPTIONS' },
      then: [
        {
          request: 'nobody: OPTIONS /notes/a',
          headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'PATCH' },
          status: 200,
        },
      ],
    },
  ],
  options,
);

describeScenarios(
  'other parts of plugins',
  [
    {
      name: 'An endpoint is served.',
      request: 'GET /hello/world',
      status: 200,
      body: only({ hello: 'world', you: '{alice}' }),
    },
    { name: 'An endpoint knows the anonymous.', request: 'nobody: GET /hello/world', body: { you: null } },
    {
      name: 'A capability is shown.',
      request: 'nobody: GET /',
      body: { capabilities: { sample: { description: 'Notes and articles.', level: 3 } } },
    },
    { name: 'User information is shown.', request: 'GET /', body: { user: { shout: /^BASICAUTH:/ } } },
    {
      name: 'A health check is called, and null is healthy.',
      request: 'nobody: GET /__heartbeat__',
      status: 200,
      body: only({ storage: true, permission: true, cache: true, sample: true }),
    },
    {
      name: 'The description of the API has the kinds and endpoints of plugins.',
      request: 'nobody: GET /__api__',
      body: {
        paths: {
          '/notes': { get: { operationId: 'get_notes' }, post: { operationId: 'create_note' } },
          '/articles': { delete: { operationId: 'delete_articles' } },
        },
      },
    },
  ],
  options,
);

const failing = definePlugin({
  name: 'failing',
  setup: () => ({
    healthChecks: {
      fails: () => Promise.resolve(false),
      throws: () => Promise.reject(new Error('no')),
      hangs: () => new Promise(() => {}),
    },
    kinds: [
      {
        name: 'trap',
        path: '/traps',
        flavour: 'user',
        afterChange: () => Promise.reject(new Error('this secret stays inside')),
      },
    ],
  }),
});

describeScenarios(
  'plugins that fail',
  [
    // Proves S-144, S-145.
    {
      name: 'A failing, throwing or hanging check is unhealthy, and has no other effect.',
      request: 'nobody: GET /__heartbeat__',
      status: 503,
      gives: { 'retry-after': '3' },
      body: only({ storage: true, permission: true, cache: true, fails: false, throws: false, hangs: false }),
    },
  ],
  { plugins: [failing], settings: { heartbeat_timeout_seconds: '1' } },
);

describeScenarios(
  'hooks that throw',
  [
    // Proves S-229, S-234.
    {
      name: 'An error of a hook is a 500 that rolls everything back and reveals nothing.',
      request: 'POST /traps {"data":{"a":1}}',
      status: 500,
      errno: 999,
      body: only({
        code: 500,
        errno: 999,
        error: 'Internal Server Error',
        message: /^(?!.*secret)/,
        info: 'https://help.example.org/',
      }),
      then: [{ request: 'GET /traps?_since=0', status: 200, body: { data: [] } }],
    },
    // Proves S-021, S-150.
    {
      name: 'An error of a hook rolls the whole batch back.',
      given: ['collection'],
      request: 'POST /batch {"requests":[{"method":"PUT","path":"{R}/x"},{"method":"POST","path":"/traps"}]}',
      status: 500,
      errno: 999,
      then: [{ request: 'GET {R}?_since=0', body: { data: [] } }],
    },
  ],
  { plugins: [failing], settings: { error_info_link: 'https://help.example.org/' } },
);

describe('declarations that do not fit', () => {
  it('A capability that another plugin declares prevents the start.', async () => {
    const twin = definePlugin({
      name: 'twin',
      setup: () => ({ capabilities: { sample: { description: '', url: '' } } }),
    });
    await expect(startTestService({ plugins: [samplePlugin, twin] })).rejects.toThrow('sample');
  });

  it('A kind that is declared twice prevents the start.', async () => {
    const twin = definePlugin({
      name: 'twin',
      setup: () => ({ kinds: [{ name: 'note', path: '/more', flavour: 'user' }] }),
    });
    await expect(startTestService({ plugins: [samplePlugin, twin] })).rejects.toThrow('note');
  });

  it('An id generator that does not accept its own ids prevents the start.', async () => {
    const broken = definePlugin({
      name: 'broken',
      setup: () => ({
        kinds: [
          { name: 'odd', path: '/odds', flavour: 'user', customIds: { generate: () => 'x', match: () => false } },
        ],
      }),
    });
    await expect(startTestService({ plugins: [broken] })).rejects.toThrow('id generator');
  });

  // Proves S-012.
  it('A service without permissions serves user resources and nothing shared.', async () => {
    const notes = definePlugin({
      name: 'notes',
      setup: () => ({ kinds: [{ name: 'note', path: '/notes', flavour: 'user' }] }),
    });
    const settings = { permission_backend: '', built_in_kinds: 'false' };
    const service = await startTestService({ plugins: [notes], settings });
    try {
      const alice = service.asUser('alice');
      expect(await alice.request('POST', '/v1/notes', { body: { data: { a: 1 } } })).toMatchObject({
        status: 201,
        body: { data: { a: 1 } },
      });
      expect(await alice.request('GET', '/v1/buckets')).toMatchObject({ status: 404, body: { errno: 111 } });
    } finally {
      await service.close();
    }
  });

  // Proves S-014.
  it('A shareable kind without permission backend prevents the start.', async () => {
    const settings = { permission_backend: '', built_in_kinds: 'false' };
    await expect(startTestService({ plugins: [samplePlugin], settings })).rejects.toThrow('permission_backend');
    await expect(startTestService({ settings: { permission_backend: '' } })).rejects.toThrow('built_in_kinds');
  });
});
