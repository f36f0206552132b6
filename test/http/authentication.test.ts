// Basic credentials and the ids they give (docs/reference/http-api/permissions.md#principals).
import { absent, aText, ids, only, optional } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const basic = (credentials: string, encoding: BufferEncoding = 'utf8'): Readonly<Record<string, string>> => ({
  Authorization: `Basic ${Buffer.from(credentials, encoding).toString('base64')}`,
});

const vectors: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  ['a user and a password', basic('alice:wonder'), 'a3d9a94e230295a1dc39ed3fa4d0f7ddbf7f6e5de634d0ff29949a9aa984e242'],
  ['an empty password', basic('token:'), 'd0454998563c7e04dc2c86ae283d2564d9cf4094d269e2527a0134c89a3230de'],
  ['another user', basic('bob:builder'), '95de70a477a0687bd15c5bb11a8101073db5cd3959bd7fdd0d02496814627d1d'],
  ['letters beyond ASCII in UTF-8', basic('ü:ß'), '3be8e89c1491309a7c1b2aaaec02d0747c34d36d0ff03cf7da713167b2d113d5'],
  [
    'letters beyond ASCII in Latin-1',
    basic('ü:ß', 'latin1'),
    '3be8e89c1491309a7c1b2aaaec02d0747c34d36d0ff03cf7da713167b2d113d5',
  ],
  ['a token', basic('token:6f1c2a9e-0d'), 'c4c5827f59f0b58ebfcc75a37eb060978989e44af4072e9c7319a6f2a5234bb0'],
];

describeScenarios(
  'user ids',
  [
    // Proves S-008, S-180, S-183, S-186, S-187, S-188, S-189, S-190.
    ...vectors.map(([title, headers, digest]) => ({
      name: `The id is the documented one for ${title}.`,
      request: 'nobody: GET /',
      headers,
      status: 200,
      body: { user: { id: `basicauth:${digest}` } },
    })),
    {
      name: 'The personal bucket has the documented id.',
      request: 'nobody: GET /',
      headers: basic('alice:wonder'),
      body: { user: { bucket: '1cae8e46-3654-9001-1f75-afad2eb81490' } },
    },
    {
      name: 'The personal bucket of another user has the documented id.',
      request: 'nobody: GET /',
      headers: basic('token:'),
      body: { user: { bucket: 'a8675495-cf62-ebfd-0b00-ac39cb42bccb' } },
    },
    {
      name: 'Only the first colon divides.',
      request: 'nobody: GET /',
      headers: basic('a:b:c'),
      body: { user: { id: /^basicauth:/ } },
    },
    // Proves S-191.
    {
      name: 'A different password is a different user.',
      given: [{ request: 'nobody: PUT {B}', headers: basic('x:one') }],
      request: 'nobody: GET {B}',
      headers: basic('x:two'),
      status: 403,
      then: [{ request: 'nobody: GET {B}', headers: basic('x:one'), status: 200 }],
    },
  ],
  { settings: { userid_hmac_secret: 'quartz-lantern', includes: 'default_bucket' } },
);

describeScenarios(
  'the older name of the secret',
  [
    // Proves S-189.
    {
      name: 'It means the same.',
      request: 'nobody: GET /',
      headers: basic('alice:wonder'),
      body: { user: { id: 'basicauth:a3d9a94e230295a1dc39ed3fa4d0f7ddbf7f6e5de634d0ff29949a9aa984e242' } },
    },
  ],
  { settings: { user_hmac_secret: 'quartz-lantern', userid_hmac_secret: 'quartz-lantern' } },
);

describeScenarios(
  'a renamed policy',
  [
    // Proves S-182.
    {
      name: 'The name of the policy is the prefix, in lower case.',
      request: 'GET /',
      body: {
        user: { id: /^mine:[\da-f]{64}$/ },
        capabilities: only({ indexes: {}, live: {}, resync: {}, selectors: {}, 'text-search': optional({}) }),
      },
    },
    {
      name: 'The realm is a parameter.',
      request: 'nobody: GET {B}',
      status: 401,
      gives: { 'www-authenticate': 'Basic realm="ours"' },
    },
  ],
  {
    settings: {
      'multiauth.policies': 'Mine',
      'multiauth.policy.Mine.use': 'kinto.core.authentication.BasicAuthAuthenticationPolicy',
      'multiauth.policy.Mine.realm': 'ours',
    },
  },
);

describeScenarios('old clients', [
  {
    name: 'A list of values may end with a comma.',
    given: [
      'collection',
      'PUT {R}/a {"data":{"s":"x"}}',
      'PUT {R}/b {"data":{"s":""}}',
      'PUT {R}/c {"data":{"s":"y"}}',
    ],
    request: 'GET {R}?in_s=x,&_sort=id',
    body: { data: ids('a b') },
  },
  {
    name: 'Fifty ids can be excluded.',
    given: ['collection', 'PUT {R}/keep'],
    request: `GET {R}?exclude_id=${Array.from({ length: 50 }, (_, index) => `a${index}`).join(',')}`,
    body: { data: ids('keep') },
  },
  {
    name: 'The mark of deletion can be selected.',
    given: ['record', 'DELETE {R}/r'],
    request: 'GET {R}?_since=0&_fields=deleted',
    body: { data: [{ id: 'r', deleted: true }] },
  },
  {
    name: 'Responses other than errors have no Retry-After.',
    given: ['collection'],
    request: 'GET {R}',
    gives: { 'retry-after': absent, etag: aText },
  },
  {
    name: 'Preflights allow what clients send.',
    request: 'nobody: OPTIONS {R}',
    headers: {
      Origin: 'https://a.example',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type,if-match,if-none-match',
    },
    status: 200,
    gives: { 'access-control-allow-headers': /authorization.*content-type.*if-match.*if-none-match/i },
  },
  {
    name: 'A batch may carry credentials in its defaults.',
    given: ['bucket'],
    request: 'nobody: POST /batch {"defaults":{"headers":{"Authorization":"Basic eDp5"}},"requests":[{"path":"/"}]}',
    body: { responses: [{ body: { user: { id: /^basicauth:/ } } }] },
  },
]);
