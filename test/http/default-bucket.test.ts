// The personal bucket (docs/reference/http-api/default-bucket.md).
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { authorizationOf, startTestService } from '../../src/testing/index.ts';
import { anEtag, aUuid, ids, items, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const mine = '/buckets/default';
const includes = { settings: { includes: 'default_bucket' } };

describeScenarios(
  'the personal bucket',
  [
    // Proves S-015, S-036, S-037, S-038, S-097, S-132.
    {
      name: 'The first read creates it under its real id.',
      request: `GET ${mine}`,
      status: 200,
      body: { data: { id: aUuid }, permissions: only({ write: ['{alice}'] }) },
      save: 'x',
      then: [
        { request: 'GET /', body: { user: { bucket: '{x.id}' } } },
        { request: 'GET /buckets', body: { data: ids('{x.id}') } },
        { request: 'GET /buckets/{x.id}', status: 200 },
        { request: 'bob: GET /buckets/{x.id}', status: 403 },
      ],
    },
    // Proves S-015.
    {
      name: 'Each user has a different one.',
      given: [
        { request: `GET ${mine}`, save: 'x' },
        { request: `bob: GET ${mine}`, save: 'y' },
        'PUT /buckets/{x.id}/collections/c',
      ],
      request: `bob: GET ${mine}/collections`,
      body: { data: [] },
    },
    {
      name: 'Anonymous callers have none.',
      request: `nobody: GET ${mine}`,
      status: 401,
      errno: 104,
      then: [
        { request: `nobody: PUT ${mine}/collections/c`, status: 401 },
        { request: `nobody: GET ${mine}/collections/c/records`, status: 401 },
      ],
    },
    // Proves S-016.
    {
      name: 'A read creates its collection.',
      request: `GET ${mine}/collections/c/records`,
      status: 200,
      body: { data: [] },
      gives: { etag: anEtag },
      then: [{ request: `GET ${mine}/collections`, body: { data: ids('c') } }],
    },
    // Proves S-016, S-040, S-132.
    {
      name: 'A write creates its collection.',
      request: `POST ${mine}/collections/c/records {"data":{"id":"x"}}`,
      status: 201,
      then: [{ request: `GET ${mine}/collections/c`, status: 200, body: { permissions: { write: ['{alice}'] } } }],
    },
    {
      name: 'A failed write keeps objects that it created implicitly.',
      request: `PUT ${mine}/collections/c/records/x {"data":1}`,
      status: 400,
      then: [{ request: `GET ${mine}/collections`, body: { data: ids('c') } }],
    },
    {
      name: 'PUT of a collection creates it explicitly.',
      request: `PUT ${mine}/collections/c {"data":{"a":1}}`,
      status: 201,
      body: { data: { a: 1 } },
    },
    // Proves S-016.
    {
      name: 'DELETE creates nothing.',
      request: `DELETE ${mine}/collections/c`,
      status: 404,
      then: [{ request: `DELETE ${mine}/collections/c/records`, status: 404 }],
    },
    // Proves S-132.
    {
      name: 'DELETE of the bucket and its parts works.',
      given: [`PUT ${mine}/collections/c/records/x`],
      request: `DELETE ${mine}/collections/c/records/x`,
      status: 200,
      then: [
        { request: `DELETE ${mine}/collections/c`, status: 200 },
        { request: `DELETE ${mine}`, status: 200, body: { data: { id: aUuid, deleted: true } } },
      ],
    },
    {
      name: 'The invalid id of a collection is refused.',
      request: `GET ${mine}/collections/a.b/records`,
      issues: [['path', null]],
    },
    // Proves S-132.
    { name: 'Explicit creation works.', request: `PUT ${mine}`, status: 201, body: { data: { id: aUuid } } },
    // Proves S-046.
    {
      name: 'The alias is a valid id in the body.',
      request: `PUT ${mine} {"data":{"id":"default","a":1}}`,
      status: 201,
      body: { data: { id: aUuid, a: 1 } },
    },
    // Proves S-132.
    {
      name: 'The alias is a valid id in a patch.',
      given: [`PUT ${mine}`],
      request: `PATCH ${mine} {"data":{"id":"default","a":1}}`,
      status: 200,
      body: { data: { id: aUuid, a: 1 } },
    },
    // Proves S-046, S-218.
    {
      name: 'The alias is not a valid record id.',
      request: `PUT ${mine}/collections/c/records/default`,
      status: 400,
      errno: 107,
    },
    // Proves S-046, S-218.
    {
      name: 'The alias is not a valid id of a posted record.',
      request: `POST ${mine}/collections/c/records {"data":{"id":"default"}}`,
      status: 400,
      errno: 107,
    },
    // Proves S-046, S-218.
    {
      name: 'The alias is not a valid collection id.',
      request: `PUT ${mine}/collections/default`,
      status: 400,
      errno: 107,
    },
    { name: 'The alias is not a valid group id.', request: `PUT ${mine}/groups/default`, status: 400, errno: 107 },
    {
      name: 'An id that contains the alias is valid.',
      request: `POST ${mine}/collections/c/records {"data":{"id":"my-default-x"}}`,
      status: 201,
      body: { data: { id: 'my-default-x' } },
    },
    {
      name: 'The alias is case-sensitive and whole.',
      request: 'GET /buckets/defaultx',
      status: 403,
      then: [{ request: 'GET /buckets/Default', status: 403 }],
    },
    {
      name: 'The next page has the real id.',
      given: [
        { request: `GET ${mine}`, save: 'x' },
        `PUT ${mine}/collections/c/records/a`,
        `PUT ${mine}/collections/c/records/b`,
      ],
      request: `GET ${mine}/collections/c/records?_limit=1`,
      gives: { 'next-page': /^http:\/\/[\d.:]+\/v1\/buckets\/[\da-f-]{36}\/collections\/c\/records\?_limit=1&_token=/ },
      save: 'p',
      then: [{ request: 'GET {p.next}', body: { data: ids('a') } }],
    },
    {
      name: 'Entries of a batch keep the alias in their path.',
      request: `POST /batch {"requests":[{"method":"PUT","path":"${mine}/collections/c/records/x"},{"path":"${mine}"}]}`,
      body: {
        responses: [
          { status: 201, path: `/v1${mine}/collections/c/records/x` },
          { status: 200, path: `/v1${mine}`, body: { data: { id: aUuid } } },
        ],
      },
    },
    {
      name: 'A collection deleted through its list is recreated empty.',
      given: [`PUT ${mine}/collections/c/records/x`, `DELETE ${mine}/collections`],
      request: `GET ${mine}/collections/c/records?_since=0`,
      body: { data: [] },
    },
    // Proves S-133, S-224.
    { name: 'An unsupported method has a JSON body.', request: `POST ${mine} {}`, status: 405, errno: 115 },
    {
      name: 'A plain text body has a JSON response.',
      request: `POST ${mine}/collections/c/records`,
      raw: 'x',
      headers: { 'Content-Type': 'text/plain' },
      status: 415,
      errno: 107,
    },
    { name: 'An unknown path gets 404.', request: `GET ${mine}/nothing`, status: 404, errno: 111 },
    {
      name: 'A trailing slash redirects.',
      request: `GET ${mine}/`,
      status: 307,
      gives: { location: `{origin}/v1${mine}` },
    },
    {
      name: 'Preflights work without credentials.',
      request: `nobody: OPTIONS ${mine}/collections/c/records`,
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'POST' },
      status: 200,
      gives: { 'access-control-allow-origin': '*' },
    },
    { name: 'Groups are allowed.', request: `POST ${mine}/groups {"data":{"members":["a"]}}`, status: 201 },
    {
      name: 'Shared objects are accessible under the real id.',
      given: [`PUT ${mine}/collections/c {"permissions":{"read":["{bob}"]}}`, { request: `GET ${mine}`, save: 'x' }],
      request: 'bob: GET /buckets/{x.id}/collections/c',
      status: 200,
    },
    // Proves S-016, S-132.
    {
      name: 'HEAD creates like GET.',
      request: `HEAD ${mine}/collections/c/records`,
      status: 200,
      gives: { 'total-objects': '0' },
    },
    {
      name: 'No collection is created in a bucket that another user created under the id of a deleted one.',
      given: [{ request: `GET ${mine}`, save: 'x' }, `DELETE ${mine}`, 'bob: PUT /buckets/{x.id}'],
      request: `GET ${mine}/collections/c/records`,
      status: 403,
      then: [
        { request: `PUT ${mine}/collections/d/records/r`, status: 403 },
        { request: `POST ${mine}/collections/e/records {"data":{}}`, status: 403 },
        { request: 'bob: GET /buckets/{x.id}/collections', body: { data: [] } },
        { request: 'bob: PATCH /buckets/{x.id} {"permissions":{"collection:create":["{alice}"]}}', status: 200 },
        { request: `PUT ${mine}/collections/d/records/r`, status: 201 },
        { request: 'bob: GET /buckets/{x.id}/collections', body: { data: ids('d') } },
      ],
    },
    {
      name: 'A personal bucket appears in the bucket list of its owner.',
      given: [`PUT ${mine}/collections/c`],
      request: 'GET /buckets',
      body: { data: items(1) },
    },
  ],
  includes,
);

describeScenarios(
  'the personal bucket where buckets cannot be created',
  [
    { name: 'It is created by use.', request: `PUT ${mine}/collections/c/records/x`, status: 201 },
    {
      name: 'It cannot be created explicitly.',
      request: `PUT ${mine}`,
      status: 403,
      then: [`GET ${mine}`, { request: `PUT ${mine}`, status: 200 }],
    },
  ],
  { settings: { ...includes.settings, bucket_create_principals: 'account:nobody' } },
);

describeScenarios(
  'the personal bucket in read-only mode',
  [
    {
      name: 'It is refused for every method.',
      request: `GET ${mine}`,
      status: 405,
      errno: 115,
      then: [{ request: `PUT ${mine}`, status: 405, errno: 115 }],
    },
  ],
  { settings: { ...includes.settings, readonly: 'true' } },
);

describe('the id of the personal bucket', () => {
  const secrets: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ['is derived with its own secret', { default_bucket_hmac_secret: 'quartz-lantern' }, 'quartz-lantern'],
    ['falls back to the secret of user ids', { userid_hmac_secret: 'of users' }, 'of users'],
    ['can be derived as in old deployments', { default_bucket_hmac_legacy_empty: 'true' }, ''],
  ];
  for (const [title, settings, secret] of secrets) {
    // Proves S-037.
    it(`It ${title}.`, async () => {
      const service = await startTestService({ settings: { ...includes.settings, ...settings } });
      try {
        const { body } = await service.asUser('alice').request('GET', '/v1/');
        const { user } = body as { readonly user: { readonly id: string; readonly bucket: string } };
        const digest = createHmac('sha256', secret).update(user.id).digest('hex');
        expect(user.bucket.replaceAll('-', '')).toBe(digest.slice(0, 32));
      } finally {
        await service.close();
      }
    });
  }

  it('User ids are derived from the credentials alone.', async () => {
    const service = await startTestService({ settings: { userid_hmac_secret: 'quartz-lantern' } });
    try {
      const { body } = await service.asUser('alice').request('GET', '/v1/');
      const credentials = Buffer.from(authorizationOf('alice').slice('Basic '.length), 'base64');
      const digest = createHmac('sha256', 'quartz-lantern').update(credentials).digest('hex');
      expect(body).toMatchObject({ user: { id: `basicauth:${digest}` } });
    } finally {
      await service.close();
    }
  });
});
