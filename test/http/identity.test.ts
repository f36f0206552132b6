// That requests stand for themselves: who calls is in their headers, and nothing else is remembered or asked for
// (docs/guides/authentication.md).
import { describe, expect, it, onTestFinished } from 'vitest';
import { definePlugin } from '../../src/http/plugin.ts';
import { authorizationOf, startTestService } from '../../src/testing/index.ts';
import { absent } from './match.ts';
import { describeScenarios } from './scenarios.ts';

describeScenarios('requests that stand for themselves', [
  // Proves S-007, S-180.
  {
    name: 'A request without credentials is anonymous, regardless of earlier requests on its connection.',
    given: ['bucket', { request: 'GET {B}', status: 200, gives: { 'set-cookie': absent } }],
    request: 'nobody: GET {B}',
    headers: { Cookie: 'session=1; user=alice' },
    status: 401,
    gives: { 'set-cookie': absent },
    then: [
      { request: 'nobody: GET /', body: { user: absent }, gives: { 'set-cookie': absent } },
      { request: 'bob: GET /', body: { user: { id: '{bob}' } } },
      { request: 'GET /', body: { user: { id: '{alice}' } } },
    ],
  },
  // Proves S-006.
  {
    name: 'Signing up requires a plugin with accounts.',
    request: 'PUT /accounts/alice {"data":{"password":"secret"}}',
    status: 404,
    errno: 111,
    then: [
      { request: 'nobody: POST /accounts {"data":{"id":"alice","password":"secret"}}', status: 404, errno: 111 },
      { request: 'PATCH /accounts/alice {"data":{"password":"other"}}', status: 404, errno: 111 },
      { request: 'GET /', body: { capabilities: { accounts: absent } } },
    ],
  },
]);

const labels = definePlugin({
  name: 'labels',
  setup: () => ({ principals: () => Promise.resolve(['ldap:team']) }),
});

describeScenarios(
  'principals that are no users',
  [
    // Proves S-009, S-061.
    {
      name: 'Labels from a plugin are compared unchanged.',
      given: [
        'bucket',
        'PUT {C} {"permissions":{"read":["ldap:team"]}}',
        'PUT {B}/collections/d {"permissions":{"read":["ldap:Team","ldap","ldap:team "]}}',
      ],
      request: 'bob: GET {C}',
      status: 200,
      then: [
        { request: 'bob: GET {B}/collections/d', status: 403 },
        { request: 'nobody: GET {C}', status: 401 },
        { request: 'bob: GET {B}', status: 403 },
      ],
    },
  ],
  { plugins: [labels] },
);

describeScenarios(
  'a service that is not for Basic credentials',
  [
    // Proves S-185, S-221.
    {
      name: 'Basic credentials have no effect when the policy is not configured.',
      request: 'nobody: GET /buckets/b',
      headers: { Authorization: authorizationOf('alice') },
      status: 401,
      errno: 104,
      gives: { 'www-authenticate': /^Bearer / },
      then: [
        { request: 'GET /buckets', status: 401 },
        { request: 'PUT {B}', status: 401 },
        { request: 'GET /', status: 200, body: { user: absent, capabilities: { basicauth: absent } } },
      ],
    },
  ],
  {
    settings: {
      'multiauth.policies': 'api',
      'multiauth.policy.api.use': 'BearerPolicy',
      'multiauth.policy.api.userinfo_url': 'https://login.example.org/me',
    },
  },
);

describe('many requests of one caller', () => {
  // Proves S-245.
  it('are all served, however fast they arrive.', async () => {
    const service = await startTestService();
    try {
      const alice = service.asUser('alice');
      const answers = await Promise.all(Array.from({ length: 150 }, () => alice.request('GET', '/v1/buckets')));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      const names = new Set(answers.flatMap(({ headers }) => Object.keys(headers)));
      expect([...names].filter((name) => name.includes('ratelimit') || name === 'retry-after')).toEqual([]);
    } finally {
      await service.close();
    }
  });
});

describe('entries of a batch', () => {
  const badges = definePlugin({
    name: 'badges',
    setup: () => ({
      policies: {
        BadgePolicy: ({ name }) => ({
          name,
          challenge: 'Badge',
          usesAuthorizationHeader: false,
          authenticate: ({ headers }) => headers['x-badge'],
        }),
      },
    }),
  });

  it.each([{}, { Authorization: authorizationOf('gateway') }])(
    'have the identity of their own headers, where a policy reads others than Authorization: %j.',
    async (headers) => {
      const service = await startTestService({
        plugins: [badges],
        settings: { 'multiauth.policies': 'badge basicauth', 'multiauth.policy.badge.use': 'BadgePolicy' },
      });
      onTestFinished(() => service.close());
      const own = ['alice', 'bob', undefined, 'alice'];
      const requests = own.map((name) => ({ path: '/', headers: name === undefined ? {} : { 'X-Badge': name } }));
      const outer = { ...headers, 'X-Badge': 'outer' };
      const { body } = await service.request('POST', '/v1/batch', { headers: outer, body: { requests } });
      const { responses } = body as { responses: readonly { body: { user: { id: string } } }[] };
      expect(responses.map((each) => each.body.user.id)).toEqual(own.map((name) => `badge:${name ?? 'outer'}`));
    },
  );
});
