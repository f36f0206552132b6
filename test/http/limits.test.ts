// Limits that have a setting, and the version in the addresses (docs/guides/operating.md#limits).
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startTestService, type TestRequest } from '../../src/testing/index.ts';
import { ids } from './match.ts';
import { describeScenarios } from './scenarios.ts';

describeScenarios(
  'limits',
  [
    {
      name: 'An id of the maximum length is accepted.',
      given: ['collection'],
      request: `PUT {R}/${'a'.repeat(40)}`,
      status: 201,
    },
    {
      name: 'A longer id is refused.',
      given: ['collection'],
      request: `PUT {R}/${'a'.repeat(41)}`,
      issues: [['path', null]],
    },
    {
      name: 'A longer posted id is refused.',
      given: ['collection'],
      request: `POST {R} {"data":{"id":"${'a'.repeat(41)}"}}`,
      issues: [['path', null]],
    },
    {
      name: 'The maximum number of filters is accepted.',
      given: ['record'],
      request: 'GET {R}?a=1&min_a=1',
      status: 200,
      body: { data: ids('r') },
    },
    {
      name: 'More filters are refused.',
      given: ['record'],
      request: 'GET {R}?a=1&min_a=1&max_a=1',
      status: 400,
      errno: 107,
    },
    {
      name: 'The maximum depth is accepted.',
      given: ['collection'],
      request: 'PUT {R}/x {"data":{"a":[[[]]]}}',
      status: 201,
    },
    {
      name: 'A greater depth is refused.',
      given: ['collection'],
      request: 'PUT {R}/x {"data":{"a":[[[[]]]]}}',
      status: 400,
      errno: 107,
    },
    {
      name: 'A greater depth is refused in a batch.',
      given: ['collection'],
      request: 'POST /batch {"requests":[{"method":"PUT","path":"{R}/x","body":{"data":{"a":[[[[]]]]}}}]}',
      status: 400,
      errno: 107,
    },
    {
      name: 'The maximum number of principals is accepted, including the caller.',
      given: ['collection'],
      request: 'PUT {R}/x {"permissions":{"read":["a:a","a:b","a:c"],"write":["a:a","a:b"]}}',
      status: 201,
    },
    {
      name: 'More principals are refused.',
      given: ['collection'],
      request: 'PUT {R}/x {"permissions":{"read":["a:a","a:b","a:c","a:d"]}}',
      issues: [['body', 'permissions.read']],
    },
    {
      name: 'More principals are refused when a patch adds the last.',
      given: ['record'],
      request: 'PATCH {R}/r {"permissions":{"read":["a:a","a:b","a:c","a:d"]}}',
      issues: [['body', 'permissions.read']],
    },
    {
      name: 'More principals are refused in a posted object.',
      given: ['collection'],
      request: 'POST {R} {"permissions":{"write":["a:a","a:b","a:c"]}}',
      issues: [['body', 'permissions.write']],
    },
    {
      name: 'The maximum number of members is accepted.',
      given: ['bucket'],
      request: 'PUT {B}/groups/g {"data":{"members":["a:a","a:b","a:c"]}}',
      status: 201,
    },
    {
      name: 'More members are refused.',
      given: ['bucket'],
      request: 'PUT {B}/groups/g {"data":{"members":["a:a","a:b","a:c","a:d"]}}',
      issues: [['body', 'data.members']],
    },
  ],
  { settings: { max_id_length: '40', max_filters: '2', max_json_depth: '5', max_principals: '3', max_members: '3' } },
);

describeScenarios(
  'another major version',
  [
    // Proves S-247, S-248, S-250.
    {
      name: 'The addresses begin with the major number.',
      request: 'nobody: GET ^/v2/',
      status: 200,
      body: { http_api_version: '2.5', url: '{origin}/v2/' },
    },
    // Proves S-248, S-249.
    {
      name: 'The first version redirects.',
      request: 'nobody: GET ^/v1/buckets',
      status: 307,
      gives: { location: '{origin}/v2/buckets' },
    },
    {
      name: 'Entries of a batch go to the served version.',
      request: 'POST ^/v2/batch {"requests":[{"method":"PUT","path":"/buckets/{b}"},{"path":"/v2/buckets/{b}"}]}',
      status: 200,
      body: { responses: [{ status: 201, path: '/v2/buckets/{b}' }, { status: 200 }] },
    },
  ],
  { settings: { http_api_version: '2.5' } },
);

describe('what is larger than a limit that came later', () => {
  it('can be changed and shrink, but not grow.', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'coffer-test-'));
    const file = path.join(folder, 'coffer.sqlite3');
    const settings = Object.fromEntries(
      ['storage', 'permission', 'cache'].flatMap((kind) => [
        [`${kind}_backend`, 'sqlite'],
        [`${kind}_url`, file],
      ]),
    );
    const five = ['a:a', 'a:b', 'a:c', 'a:d', 'a:e'];
    const group = (members: readonly string[]): TestRequest => ({ body: { data: { members } } });
    try {
      const before = await startTestService({ settings: { ...settings, max_principals: '0', max_members: '0' } });
      const owner = before.asUser('owner');
      await owner.request('PUT', '/v1/buckets/b', { body: { permissions: { read: five } } });
      expect((await owner.request('PUT', '/v1/buckets/b/groups/g', group(five))).status).toBe(201);
      await before.close();
      const after = await startTestService({ settings: { ...settings, max_principals: '3', max_members: '3' } });
      try {
        const later = after.asUser('owner');
        const named = await later.request('PATCH', '/v1/buckets/b/groups/g', { body: { data: { title: 'all' } } });
        expect(named).toMatchObject({ status: 200, body: { data: { title: 'all', members: five } } });
        const larger = await later.request('PUT', '/v1/buckets/b/groups/g', group([...five, 'a:f']));
        expect(larger).toMatchObject({ status: 400, body: { details: [{ name: 'data.members' }] } });
        expect((await later.request('PUT', '/v1/buckets/b/groups/g', group(five.slice(1)))).status).toBe(200);
        const read = await later.request('PATCH', '/v1/buckets/b', { body: { permissions: { read: five.slice(1) } } });
        expect(read.status).toBe(200);
        const again = await later.request('PATCH', '/v1/buckets/b', { body: { permissions: { read: five } } });
        expect(again.status).toBe(400);
      } finally {
        await after.close();
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
