// Accounts as a resource (docs/guides/accounts.md): permissions, visibility and passwords.
import { absent, including, only, unordered } from './match.ts';
import { describeScenarios, type Scenario, type Step } from './scenarios.ts';

const asRoot = { Authorization: `Basic ${Buffer.from('root:r').toString('base64')}` };

/** All scenarios share one administrator. */
const root: Step = { request: 'nobody: PUT /accounts/root {"data":{"password":"r"}}', status: [201, 401] };
const signUp = (user: string): string =>
  `nobody: PUT /accounts/{${user}.name} {"data":{"password":"{${user}.password}"}}`;
const [alice, bob] = [signUp('alice'), signUp('bob')];

const hash = /^\$scrypt\$/;
const mask = '**********';
const owner = only({ write: ['account:{alice.name}'] });

const settings = {
  includes: 'accounts default_bucket',
  'multiauth.policies': 'account',
  account_create_principals: 'system.Everyone',
  account_write_principals: 'account:root',
  account_read_principals: 'account:auditor',
  account_hash_cost: '10',
  account_login_failures_per_address: '0',
  account_login_failures_per_account: '0',
  experimental_permissions_endpoint: 'true',
  'user-data_delete_principals': 'account:root',
};

const creation: readonly Scenario[] = [
  // Proves S-006, S-198.
  {
    name: 'Any caller can sign up with PUT and becomes the owner.',
    request: alice,
    status: 201,
    body: only({ permissions: owner, data: { id: '{alice.name}', password: mask } }),
    then: [
      { request: 'GET /', body: { user: { id: 'account:{alice.name}' }, capabilities: { basicauth: absent } } },
      { request: 'GET /accounts/{alice.name}', body: { permissions: owner, data: { password: hash } } },
    ],
  },
  {
    name: 'Any caller can sign up with POST.',
    request: 'nobody: POST /accounts {"data":{"id":"{alice.name}","password":"{alice.password}","age":3}}',
    status: 201,
    body: only({ permissions: owner, data: { id: '{alice.name}', age: 3 } }),
    then: [{ request: 'GET /accounts/{alice.name}', body: { data: { age: 3 } } }],
  },
  {
    name: 'An administrator creates accounts without becoming a writer, and sees their writers.',
    given: [root],
    request: 'nobody: PUT /accounts/{alice.name} {"data":{"password":"{alice.password}"}}',
    headers: asRoot,
    status: 201,
    body: { permissions: owner, data: { password: hash } },
    then: [
      {
        request: 'nobody: PATCH /accounts/{alice.name} {"data":{"n":1}}',
        headers: asRoot,
        body: { permissions: owner },
      },
      { request: 'GET /accounts/{alice.name}', body: { permissions: owner, data: { n: 1 } } },
    ],
  },
  {
    name: 'The owner stays the only writer, even if a body has permissions.',
    request:
      'nobody: PUT /accounts/{alice.name} {"data":{"password":"{alice.password}"},"permissions":{"write":["system.Everyone"]}}',
    status: 201,
    body: { permissions: owner },
    then: [
      {
        request:
          'PUT /accounts/{alice.name} {"data":{"password":"{alice.password}"},"permissions":{"write":["account:{bob.name}"]}}',
        body: { permissions: owner },
      },
      { request: 'PATCH /accounts/{alice.name} {"permissions":{"write":[]}}', body: { permissions: owner } },
    ],
  },
  {
    name: 'An account requires an id.',
    request: 'nobody: POST /accounts {"data":{"password":"x"}}',
    issues: [['body', 'data.id']],
    then: [
      { request: 'nobody: POST /accounts', issues: [['body', 'data.id']] },
      { request: 'nobody: POST /accounts {"data":{"id":7,"password":"x"}}', issues: [['path', null]] },
    ],
  },
  {
    name: 'An account requires a password.',
    request: 'nobody: PUT /accounts/{alice.name}',
    issues: [['body', 'data.password']],
    then: [
      { request: 'nobody: POST /accounts {"data":{"id":"{alice.name}"}}', issues: [['body', 'data.password']] },
      ...['null', '""', '7', '{}'].map((password) => ({
        request: `nobody: PUT /accounts/{alice.name} {"data":{"password":${password}}}`,
        issues: [['body', 'data.password'] as const],
      })),
    ],
  },
  {
    name: 'Names that cannot be used in a login are refused.',
    request: 'nobody: PUT /accounts/-x {"data":{"password":"x"}}',
    issues: [['path', null]],
    then: [{ request: 'nobody: POST /accounts {"data":{"id":"a:b","password":"x"}}', issues: [['path', null]] }],
  },
  {
    name: 'Attributes named like reserved words of JavaScript are stored unchanged.',
    request: 'nobody: PUT /accounts/{alice.name} {"data":{"password":"{alice.password}","__proto__":{"a":1}}}',
    status: 201,
    text: /"__proto__":\{"a":1\}/,
  },
];

const others: readonly Scenario[] = [
  {
    name: 'A sign-up does not take over an existing account.',
    given: [alice],
    request: 'nobody: PUT /accounts/{alice.name} {"data":{"password":"mine"}}',
    status: 401,
    errno: 104,
    then: [
      { request: 'nobody: POST /accounts {"data":{"id":"{alice.name}","password":"mine"}}', status: 401 },
      { request: 'nobody: PATCH /accounts/{alice.name} {"data":{"password":"mine"}}', status: 401 },
      { request: 'nobody: DELETE /accounts/{alice.name}', status: 401 },
      { request: 'nobody: GET /accounts/{alice.name}', status: 401 },
      { request: 'GET /accounts/{alice.name}', status: 200 },
    ],
  },
  {
    name: 'Posting an existing account returns it to its owner and administrators.',
    given: [root, alice],
    request: 'POST /accounts {"data":{"id":"{alice.name}","password":"other"}}',
    status: 200,
    body: { permissions: owner, data: { id: '{alice.name}', password: hash } },
    then: [
      {
        request: 'nobody: POST /accounts {"data":{"id":"{alice.name}","password":"other"}}',
        headers: asRoot,
        status: 200,
        body: { permissions: owner },
      },
      { request: 'GET /accounts/{alice.name}', status: 200 },
    ],
  },
  {
    name: 'An authenticated user cannot find out whether the account of another user exists.',
    given: [alice, bob],
    request: 'PUT /accounts/{bob.name} {"data":{"password":"x"}}',
    issues: [['body', 'data.id']],
    then: [
      { request: 'PUT /accounts/{carol.name} {"data":{"password":"x"}}', issues: [['body', 'data.id']] },
      {
        request: 'PUT /accounts/{bob.name} {"data":{"password":"x"}}',
        headers: { 'If-None-Match': '*' },
        issues: [['body', 'data.id']],
      },
      { request: 'POST /accounts {"data":{"id":"{bob.name}","password":"x"}}', issues: [['body', 'data.id']] },
      { request: 'POST /accounts {"data":{"id":"{carol.name}","password":"x"}}', issues: [['body', 'data.id']] },
      ...['{bob.name}', '{carol.name}'].flatMap((name) => [
        { request: `GET /accounts/${name}`, status: 403, errno: 121 },
        { request: `PATCH /accounts/${name} {"data":{"password":"x"}}`, status: 403 },
        { request: `DELETE /accounts/${name}`, status: 403 },
      ]),
    ],
  },
  {
    name: 'Administrators change and delete every account, and get 404 for missing ones.',
    given: [root, alice],
    request: 'nobody: PATCH /accounts/{alice.name} {"data":{"password":"new"}}',
    headers: asRoot,
    status: 200,
    then: [
      { request: 'GET /accounts/{alice.name}', status: 401 },
      { request: 'nobody: GET /accounts/{carol.name}', headers: asRoot, status: 404, errno: 110 },
      { request: 'nobody: DELETE /accounts/{carol.name}', headers: asRoot, status: 404 },
      { request: 'nobody: DELETE /accounts/{alice.name}', headers: asRoot, body: { data: { deleted: true } } },
    ],
  },
  {
    name: 'Readers of accounts do not see passwords and cannot derive them.',
    given: [root, alice, { request: 'nobody: PUT /accounts/auditor {"data":{"password":"a"}}', headers: asRoot }],
    request: 'nobody: GET /accounts/{alice.name}',
    headers: { Authorization: `Basic ${Buffer.from('auditor:a').toString('base64')}` },
    status: 200,
    body: { permissions: only({}), data: { password: mask } },
    then: (
      [
        { request: 'nobody: GET /accounts?id={alice.name}', body: { data: [{ password: mask }] } },
        { request: 'nobody: GET /accounts?id={alice.name}&_fields=password', body: { data: [{ password: mask }] } },
        { request: 'nobody: GET /accounts?like_password=scrypt', issues: [['querystring', 'like_password']] },
        { request: 'nobody: GET /accounts?min_password=$scrypt$a', issues: [['querystring', 'min_password']] },
        { request: 'nobody: GET /accounts?_sort=password', issues: [['querystring', null]] },
        { request: 'nobody: HEAD /accounts?has_password=true', status: 400 },
        { request: 'nobody: PATCH /accounts/{alice.name} {"data":{"a":1}}', status: 403 },
        { request: 'nobody: DELETE /accounts?id={alice.name}', status: 200, body: { data: [] } },
      ] as const
    ).map((step): Step => ({
      ...step,
      headers: { Authorization: `Basic ${Buffer.from('auditor:a').toString('base64')}` },
    })),
  },
  {
    name: 'A failed precondition does not reveal the password.',
    given: [alice, 'PATCH /accounts/{alice.name} {"permissions":{"read":["account:{bob.name}"]}}', bob],
    request: 'bob: GET /accounts/{alice.name}',
    headers: { 'If-Match': '"1"' },
    status: 412,
    body: { details: { existing: { id: '{alice.name}', password: mask } } },
    then: [
      {
        request: 'bob: GET /accounts',
        body: { data: unordered({ id: '{alice.name}', password: mask }, { password: hash }) },
      },
      { request: 'bob: PATCH /accounts/{alice.name} {"data":{}}', status: 403 },
      'PATCH /accounts/{alice.name} {"permissions":{"read":["system.Everyone"]}}',
      {
        request: 'nobody: GET /accounts/{alice.name}',
        status: 200,
        body: { permissions: only({}), data: { password: mask } },
      },
    ],
  },
];

const lists: readonly Scenario[] = [
  {
    name: 'Anonymous callers cannot read the list of accounts.',
    request: 'nobody: GET /accounts',
    status: 401,
    errno: 999,
    body: { error: /account.*authentication/i },
    then: [
      { request: 'nobody: HEAD /accounts', status: 401 },
      { request: 'nobody: DELETE /accounts', status: 401, errno: 999, body: { error: /account.*authentication/i } },
    ],
  },
  {
    name: 'Users find their own account in the list.',
    given: [alice, bob],
    request: 'GET /accounts',
    body: only({ data: [{ id: '{alice.name}' }] }),
    then: [
      { request: 'HEAD /accounts', gives: { 'total-objects': '1' } },
      { request: 'GET /accounts?_since=0', body: { data: [{ id: '{alice.name}' }] } },
    ],
  },
  {
    name: 'Administrators find every account in the list, page by page.',
    given: [root, alice, bob],
    request: 'nobody: GET /accounts?in_id={alice.name},{bob.name}&_limit=1&_sort=id',
    headers: asRoot,
    body: { data: [{ id: '{alice.name}' }] },
    save: 'p',
    then: [{ request: 'nobody: GET {p.next}', headers: asRoot, body: { data: [{ id: '{bob.name}' }] } }],
  },
  {
    name: 'Deleting the list deletes the own account of a user, or the selected ones of an administrator.',
    given: [root, alice, bob],
    request: 'DELETE /accounts',
    body: { data: [{ id: '{alice.name}', deleted: true }] },
    then: [
      { request: 'GET /accounts', status: 401 },
      { request: 'bob: GET /accounts', body: { data: [{ id: '{bob.name}' }] } },
      { request: 'nobody: DELETE /accounts?id={bob.name}', headers: asRoot, body: { data: [{ id: '{bob.name}' }] } },
      { request: 'bob: GET /accounts', status: 401 },
    ],
  },
  {
    name: 'The permissions list contains the own account.',
    given: [alice, bob],
    request: 'GET /permissions',
    body: {
      data: [
        {
          uri: '/accounts/{alice.name}',
          resource_name: 'account',
          account_id: '{alice.name}',
          permissions: ['write', 'read'],
        },
        { uri: '/', permissions: unordered('bucket:create', 'account:create') },
      ],
    },
    then: [
      {
        request: 'nobody: GET /permissions',
        body: { data: [only({ uri: '/', resource_name: 'root', permissions: ['account:create'] })] },
      },
    ],
  },
];

const changes: readonly Scenario[] = [
  // Proves S-006.
  {
    name: 'PATCH changes the password, and the old one is invalid at once.',
    given: [signUp('alice').replace('"}}', '","age":3}}'), 'GET /accounts/{alice.name}'],
    request: 'PATCH /accounts/{alice.name} {"data":{"password":"new"}}',
    body: { data: { age: 3, password: hash } },
    then: [{ request: 'GET /accounts/{alice.name}', status: 401 }],
  },
  {
    name: 'PATCH without a password keeps it.',
    given: [alice],
    request: 'PATCH /accounts/{alice.name} {"data":{"age":4}}',
    body: { data: { age: 4, password: hash } },
    then: [{ request: 'GET /accounts/{alice.name}', status: 200, body: { data: { age: 4 } } }],
  },
  {
    name: 'PUT replaces everything, including the password.',
    given: [signUp('alice').replace('"}}', '","age":3}}')],
    request: 'PUT /accounts/{alice.name} {"data":{"password":"{alice.password}","name":"A"}}',
    body: { data: { name: 'A', age: absent, password: hash } },
    then: [{ request: 'GET /accounts/{alice.name}', status: 200 }],
  },
  {
    name: 'A password set by JSON Patch is hashed like any other.',
    given: [alice],
    request: 'PATCH /accounts/{alice.name} [{"op":"replace","path":"/data/password","value":"{alice.password}"}]',
    headers: { 'Content-Type': 'application/json-patch+json' },
    body: { data: { password: hash } },
    then: [
      { request: 'GET /accounts/{alice.name}', status: 200 },
      {
        request: 'PATCH /accounts/{alice.name} [{"op":"remove","path":"/data/password"}]',
        headers: { 'Content-Type': 'application/json-patch+json' },
        issues: [['body', 'password']],
      },
    ],
  },
  {
    name: 'A password set by a merge patch is hashed like any other, and cannot be removed.',
    given: [alice],
    request: 'PATCH /accounts/{alice.name} {"data":{"password":"{alice.password}"}}',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: { data: { password: hash } },
    then: [
      {
        request: 'PATCH /accounts/{alice.name} {"data":{"password":null}}',
        headers: { 'Content-Type': 'application/merge-patch+json' },
        issues: [['body', 'password']],
      },
      { request: 'GET /accounts/{alice.name}', status: 200 },
    ],
  },
  {
    name: 'A light response to a patch never contains the password.',
    given: [alice],
    request: 'PATCH /accounts/{alice.name} {"data":{"password":"{alice.password}"}}',
    headers: { 'Response-Behavior': 'light' },
    body: only({ data: only({ password: hash }) }),
    then: [
      {
        request: 'PATCH /accounts/{alice.name} {"data":{"password":"{alice.password}"}}',
        headers: { 'Response-Behavior': 'diff' },
        body: only({ data: only({ password: hash }) }),
      },
    ],
  },
  {
    name: 'A batch can change the own account.',
    given: [alice],
    request:
      'POST /batch {"requests":[{"method":"PATCH","path":"/accounts/{alice.name}","body":{"data":{"password":"x"}}},{"path":"/accounts"}]}',
    body: { responses: [{ status: 200 }, { status: 200, body: { data: [{ id: '{alice.name}' }] } }] },
    then: [{ request: 'GET /accounts', status: 401 }],
  },
  {
    name: 'An account is a principal like any other, and its objects remain when it is deleted.',
    given: [alice, bob, 'PUT {B}', 'PUT {B}/groups/g {"data":{"members":["account:{bob.name}"]}}'],
    request: 'PATCH {B} {"permissions":{"read":["{B}/groups/g"]}}',
    then: [
      { request: 'bob: GET {B}', status: 200 },
      { request: 'DELETE /accounts/{alice.name}', status: 200 },
      { request: 'bob: GET {B}', status: 200 },
      { request: 'GET {B}', status: 401 },
    ],
  },
  {
    name: 'A hash or mask that is sent back leaves the password unchanged.',
    given: [alice],
    request: 'PUT /accounts/{alice.name} {"data":{"password":"**********","n":1}}',
    body: { data: { n: 1, password: hash } },
    then: [{ request: 'GET /accounts/{alice.name}', status: 200 }],
  },
];

const userData: readonly Scenario[] = [
  {
    name: 'Removing a user deletes objects that only they can write, and removes them from other permissions.',
    given: [
      root,
      alice,
      bob,
      'PUT {B}',
      'PUT {C}',
      'PUT {R}/r',
      'PUT /buckets/default/collections/mine',
      'bob: PUT {B}x {"permissions":{"write":["account:{alice.name}"],"read":["account:{alice.name}"]}}',
      'bob: PUT {B}x/groups/g {"data":{"members":["account:{alice.name}","account:{bob.name}"],"n":1}}',
      'bob: PUT {B}x/collections/c',
      'PUT {B}x/collections/c/records/hers',
      'bob: PUT {B}x/collections/c/records/his',
    ],
    request: 'nobody: DELETE /__user_data__/account:{alice.name}',
    headers: asRoot,
    status: 200,
    body: only({ data: only({ principal: 'account:{alice.name}' }) }),
    then: [
      { request: 'GET /', body: { user: absent } },
      {
        request: 'nobody: GET /accounts?id={alice.name}&_since=0',
        headers: asRoot,
        body: { data: including({ id: '{alice.name}', deleted: true }) },
      },
      { request: 'bob: GET {B}', status: 403 },
      {
        request: 'bob: GET {B}x',
        body: { permissions: only({ write: ['account:{bob.name}'] }) },
      },
      { request: 'bob: GET {B}x/groups/g', body: { data: { members: ['account:{bob.name}'], n: 1 } } },
      {
        request: 'bob: GET {B}x/collections/c/records?_since=0&_sort=id',
        body: {
          data: [
            { id: 'hers', deleted: true },
            { id: 'his', deleted: absent },
          ],
        },
      },
      // Another user can take the name and gets no access.
      alice,
      { request: 'GET {B}x', status: 403 },
      { request: 'GET {B}', status: 403 },
      { request: 'GET /buckets', body: { data: [] } },
    ],
  },
  {
    name: 'Only administrators can remove users.',
    given: [alice],
    request: 'DELETE /__user_data__/account:{alice.name}',
    status: 403,
    then: [
      { request: 'nobody: DELETE /__user_data__/account:{alice.name}', status: 401 },
      { request: 'GET /__user_data__/account:{alice.name}', status: 405, gives: { allow: 'DELETE, OPTIONS' } },
      { request: 'GET /accounts/{alice.name}', status: 200 },
    ],
  },
  {
    name: 'The path without a user has no methods.',
    request: 'nobody: DELETE /__user_data__',
    status: 405,
    errno: 115,
    gives: { allow: 'OPTIONS' },
    then: [
      { request: 'GET /__user_data__', status: 405, gives: { allow: 'OPTIONS' } },
      { request: 'DELETE /__user_data__/', status: 307 },
    ],
  },
];

describeScenarios('creating accounts', creation, { settings });
describeScenarios('accounts of others', others, { settings });
describeScenarios('lists of accounts', lists, { settings });
describeScenarios('changing accounts', changes, { settings });
describeScenarios('removing users', userData, { settings });

describeScenarios(
  'accounts without passwords in answers',
  [
    {
      name: 'Hashes are hidden from all callers.',
      given: [root, alice],
      request: 'GET /accounts/{alice.name}',
      body: { data: { password: mask } },
      then: [
        { request: 'nobody: GET /accounts/{alice.name}', headers: asRoot, body: { data: { password: mask } } },
        {
          request: 'PATCH /accounts/{alice.name} [{"op":"copy","from":"/data/password","path":"/data/shown"}]',
          headers: { 'Content-Type': 'application/json-patch+json' },
          body: { data: { shown: mask } },
        },
        { request: 'PATCH /accounts/{alice.name} {"data":{"n":1}}', body: { data: { password: mask, n: 1 } } },
        { request: 'GET /accounts', body: { data: [{ password: mask }] } },
      ],
    },
  ],
  { settings: { ...settings, account_hide_password: 'true' } },
);

describeScenarios(
  'lengths of passwords',
  [
    {
      name: 'A password that is too short or too long is refused, and an existing one stays valid.',
      given: [
        {
          request: 'nobody: PUT /accounts/{alice.name} {"data":{"password":"short"}}',
          issues: [['body', 'data.password']],
        },
        {
          request: `nobody: PUT /accounts/{alice.name} {"data":{"password":"${'x'.repeat(61)}"}}`,
          issues: [['body', 'data.password']],
        },
        alice,
      ],
      request: 'PATCH /accounts/{alice.name} {"data":{"n":1}}',
      status: 200,
      then: [{ request: 'PATCH /accounts/{alice.name} {"data":{"password":"short"}}', issues: [['body', 'password']] }],
    },
  ],
  { settings: { ...settings, account_password_min_length: '10', account_password_max_length: '60' } },
);

const bio = (length: number): string => `"bio":"${'x'.repeat(length)}"`;
describeScenarios(
  'lengths of accounts',
  [
    {
      name: 'An account that is too long is refused, because each request reads it.',
      given: [
        {
          request: `nobody: PUT /accounts/{alice.name} {"data":{"password":"{alice.password}",${bio(66_000)}}}`,
          issues: [['body', 'data']],
        },
        alice,
      ],
      request: `PATCH /accounts/{alice.name} {"data":{${bio(60_000)}}}`,
      status: 200,
      then: [{ request: `PATCH /accounts/{alice.name} {"data":{"more":"${'y'.repeat(6_000)}"}}`, status: 400 }],
    },
  ],
  { settings },
);

describeScenarios(
  'accounts that only administrators create',
  [
    {
      name: 'Anonymous callers cannot sign up and learn nothing.',
      given: [],
      request: 'nobody: PUT /accounts/{alice.name} {"data":{"password":"x"}}',
      status: 401,
      then: [{ request: 'nobody: POST /accounts {"data":{"id":"{alice.name}","password":"x"}}', status: 401 }],
    },
    {
      name: 'Credentials without an account are checked by the next policy.',
      request: 'GET /',
      body: { user: { id: /^basicauth:/ }, capabilities: { basicauth: {}, accounts: { validation_enabled: false } } },
      then: [
        { request: 'PUT /accounts/{bob.name} {"data":{"password":"{bob.password}"}}', status: 201 },
        { request: 'bob: GET /', body: { user: { id: 'account:{bob.name}' } } },
      ],
    },
  ],
  {
    settings: {
      ...settings,
      'multiauth.policies': 'account basicauth',
      account_create_principals: 'system.Authenticated',
      account_write_principals: 'system.Authenticated',
      account_login_failures_per_account: '3',
      account_login_failures_per_address: '3',
    },
  },
);
