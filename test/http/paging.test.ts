// Paging and field selection (docs/reference/http-api/lists.md#pages).
import { absent, aTimestamp, ids, items, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const five = [
  'collection',
  ...['a', 'b', 'c', 'd', 'e'].map((id, index) => `PUT {R}/${id} {"data":{"n":${index % 2},"s":"${id}"}}`),
] as const;

const long = 'x'.repeat(60_000);
const twoLong = ['collection', `PUT {R}/a {"data":{"s":"${long}"}}`, `PUT {R}/b {"data":{"s":"${long}b"}}`] as const;

describeScenarios('paging', [
  {
    name: 'No page ends at a value that is too long for an address.',
    given: [...twoLong],
    request: 'GET {R}?_sort=s&_limit=1&_fields=id',
    status: 400,
    gives: { 'next-page': absent },
    then: [{ request: 'GET {R}?_sort=s&_fields=id', body: { data: ids('a b') } }],
  },
  {
    name: 'A deletion whose page ends at such a value deletes nothing.',
    given: [...twoLong],
    request: 'DELETE {R}?_sort=s&_limit=1',
    status: 400,
    then: [{ request: 'GET {R}?_sort=s&_fields=id', body: { data: ids('a b') } }],
  },
  // Proves S-165, S-167.
  {
    name: 'Pages follow each other until the end.',
    given: [...five],
    request: 'GET {R}?_limit=2',
    body: { data: ids('e d') },
    gives: {
      'next-page': /^http:\/\/127\.0\.0\.1:\d+\/v1\/buckets\/\w+\/collections\/c\/records\?_limit=2&_token=[\w%.=-]+$/,
    },
    save: 'p',
    then: [
      { request: 'GET {p.next}', body: { data: ids('c b') }, save: 'q' },
      { request: 'GET {q.next}', body: { data: ids('a') }, gives: { 'next-page': absent } },
    ],
  },
  {
    name: 'A page that is exactly full is the last.',
    given: [...five],
    request: 'GET {R}?_limit=5',
    body: { data: items(5) },
    gives: { 'next-page': absent },
  },
  // Proves S-167.
  {
    name: 'Pages keep filters and order.',
    given: [...five],
    request: 'GET {R}?_sort=n,s&_limit=2&not_s=c',
    body: { data: ids('a e') },
    save: 'p',
    then: [{ request: 'GET {p.next}', body: { data: ids('b d') }, gives: { 'next-page': absent } }],
  },
  {
    name: 'Pages go through ties and missing values.',
    given: [
      'collection',
      'PUT {R}/a {"data":{"n":1}}',
      'PUT {R}/b',
      'PUT {R}/c {"data":{"n":1}}',
      'PUT {R}/d',
      'PUT {R}/e {"data":{"n":null}}',
    ],
    request: 'GET {R}?_sort=-n&_limit=1',
    body: { data: ids('d') },
    save: 'p',
    then: [
      { request: 'GET {p.next}', body: { data: ids('b') }, save: 'p' },
      { request: 'GET {p.next}', body: { data: ids('c') }, save: 'p' },
      { request: 'GET {p.next}', body: { data: ids('a') }, save: 'p' },
      { request: 'GET {p.next}', body: { data: ids('e') }, gives: { 'next-page': absent } },
    ],
  },
  {
    name: 'A deletion of the last object does not disturb the walk.',
    given: [...five, { request: 'GET {R}?_limit=2', save: 'p' }, 'DELETE {R}/d'],
    request: 'GET {p.next}',
    body: { data: ids('c b') },
  },
  {
    name: 'Sort values come from the stored object, whatever is shown.',
    given: [...five],
    request: 'GET {R}?_sort=s&_fields=n&_limit=2',
    body: { data: ids('a b') },
    save: 'p',
    then: [
      { request: 'GET {p.next}', body: { data: [only({ id: 'c', n: 0, last_modified: aTimestamp }), { id: 'd' }] } },
    ],
  },
  {
    name: 'A token cannot exceed the permissions of the caller.',
    given: [...five, { request: 'GET {R}?_limit=2', save: 'p' }],
    request: 'bob: GET {p.next}',
    status: 403,
  },
  {
    name: 'An empty limit and token count as absent.',
    given: [...five],
    request: 'GET {R}?_limit=&_token=',
    body: { data: items(5) },
  },
  {
    name: 'A limit of zero counts as absent.',
    given: [...five],
    request: 'GET {R}?_limit=0',
    body: { data: items(5) },
  },
  { name: 'A limit may be quoted.', given: [...five], request: 'GET {R}?_limit="2"', body: { data: items(2) } },
  {
    name: 'Totals ignore limit and token.',
    given: [...five, { request: 'GET {R}?_limit=2', save: 'p' }],
    request: 'HEAD {p.next}',
    gives: { 'total-objects': '5' },
  },
  {
    name: 'The timestamp of a page is that of the list.',
    given: [...five, { request: 'HEAD {R}', save: 'l' }],
    request: 'GET {R}?_limit=2&_sort=s',
    gives: { etag: '{l.etag}' },
  },
  {
    name: 'A deletion proceeds page by page, with each token once.',
    given: [...five],
    request: 'DELETE {R}?_limit=2&_sort=s',
    body: { data: ids('a b') },
    save: 'p',
    then: [
      { request: 'DELETE {p.next}', body: { data: ids('c d') }, save: 'q' },
      { request: 'DELETE {p.next}', issues: [['querystring', null]] },
      { request: 'DELETE {q.next}', body: { data: ids('e') }, gives: { 'next-page': absent } },
    ],
  },
  {
    name: 'A token of GET is no token for DELETE.',
    given: [...five, { request: 'GET {R}?_limit=2', save: 'p' }],
    request: 'DELETE {p.next}',
    issues: [['querystring', null]],
    then: [{ request: 'HEAD {R}', gives: { 'total-objects': '5' } }],
  },
  {
    name: 'A token of DELETE works for GET.',
    given: [...five, { request: 'DELETE {R}?_limit=2', save: 'p' }],
    request: 'GET {p.next}',
    body: { data: ids('c b') },
  },
  {
    name: 'A token of the documented form is understood.',
    given: [
      ...five,
      'PUT {R}/x {"data":{"n":7,"last_modified":1000}}',
      'PUT {R}/y {"data":{"n":6,"last_modified":1001}}',
    ],
    request: `GET {R}?_sort=-n&_limit=1&_token=${Buffer.from('{"last_object":{"n":7,"last_modified":1000},"offset":2,"nonce":"pagination-token-a"}').toString('base64')}`,
    body: { data: ids('y') },
  },
]);

describeScenarios(
  'forced pages',
  [
    {
      name: 'The page size is the default.',
      given: [...five],
      request: 'GET {R}',
      body: { data: items(2) },
      gives: { 'next-page': /_limit=2/ },
    },
    // Proves S-166.
    {
      name: 'The page size overrides a larger limit.',
      given: [...five],
      request: 'GET {R}?_limit=4',
      body: { data: items(2) },
    },
    { name: 'A smaller limit is kept.', given: [...five], request: 'GET {R}?_limit=1', body: { data: items(1) } },
    // Proves S-166.
    {
      name: 'A limit of zero does not bypass the page size.',
      given: [...five],
      request: 'GET {R}?_limit=0',
      body: { data: items(2) },
    },
    {
      name: 'A deletion has pages too.',
      given: [...five],
      request: 'DELETE {R}',
      body: { data: items(2) },
      gives: { 'next-page': /_token=/ },
    },
  ],
  { settings: { paginate_by: '2' } },
);

describeScenarios(
  'the largest fetch',
  [
    // Proves S-246.
    {
      name: 'No list is longer than the largest fetch.',
      given: [...five],
      request: 'GET {R}?_limit=100',
      body: { data: items(3) },
      gives: { 'next-page': /_limit=3/ },
    },
  ],
  { settings: { storage_max_fetch_size: '3' } },
);

describeScenarios(
  'signed tokens',
  [
    {
      name: 'Signed tokens work.',
      given: [...five],
      request: 'GET {R}?_limit=2',
      save: 'p',
      then: [{ request: 'GET {p.next}', body: { data: ids('c b') } }],
    },
    {
      name: 'A token that is not signed is refused.',
      given: [...five],
      request: `GET {R}?_token=${Buffer.from('{"last_object":{"last_modified":1000},"offset":2,"nonce":"pagination-token-a"}').toString('base64url')}`,
      issues: [['querystring', null]],
    },
  ],
  { settings: { pagination_token_signed: 'true' } },
);

const nested = ['collection', 'PUT {R}/x {"data":{"a":1,"o":{"k":1,"l":2,"m":{"n":3}},"i":6}}'] as const;

describeScenarios('field selection', [
  // Proves S-153, S-155, S-251.
  {
    name: 'Chosen fields come with id and timestamp, without permissions.',
    given: [...nested],
    request: 'GET {R}/x?_fields=a',
    status: 200,
    body: only({ data: only({ id: 'x', last_modified: aTimestamp, a: 1 }) }),
  },
  // Proves S-155.
  {
    name: 'Lists are projected too.',
    given: [...nested],
    request: 'GET {R}?_fields=i',
    body: { data: [only({ id: 'x', last_modified: aTimestamp, i: 6 })] },
  },
  // Proves S-154.
  {
    name: 'Nested fields are merged.',
    given: [...nested],
    request: 'GET {R}/x?_fields=o.k,o.m.n',
    body: { data: { o: only({ k: 1, m: only({ n: 3 }) }) } },
  },
  {
    name: 'A nested field of a scalar is the scalar.',
    given: [...nested],
    request: 'GET {R}/x?_fields=i.x',
    body: { data: { i: 6 } },
  },
  {
    name: 'Unknown fields are ignored.',
    given: [...nested],
    request: 'GET {R}/x?_fields=zz,a',
    body: { data: only({ id: 'x', last_modified: aTimestamp, a: 1 }) },
  },
  {
    name: 'Empty fields are absent.',
    given: [...nested],
    request: 'GET {R}/x?_fields=',
    body: { data: { a: 1, i: 6 }, permissions: {} },
  },
  // Proves S-153.
  {
    name: 'Tombstones keep `deleted` with chosen fields.',
    given: [...nested, 'DELETE {R}/x'],
    request: 'GET {R}?_since=0&_fields=a',
    body: { data: [only({ id: 'x', last_modified: aTimestamp, deleted: true })] },
  },
  {
    name: 'Validators do not depend on the projection.',
    given: ['collection', { request: 'PUT {R}/x', save: 'x' }],
    request: 'GET {R}/x?_fields=a',
    gives: { etag: '{x.etag}' },
  },
]);
