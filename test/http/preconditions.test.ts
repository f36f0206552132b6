// Preconditions on objects, 304 and 412 (docs/reference/http-api/preconditions.md).
import { absent, aTimestamp, only } from './match.ts';
import { describeScenarios, type Step } from './scenarios.ts';

const one: Step = { request: 'PUT {R}/x {"data":{"a":1}}', save: 'x' };

const given = ['collection', one] as const;

const when = (value: string): Record<string, string> => ({ 'If-Match': value });

const unless = (value: string): Record<string, string> => ({ 'If-None-Match': value });

const existing = {
  errno: 114,
  error: 'Precondition Failed',
  details: only({ existing: only({ id: 'x', a: 1, last_modified: '{x.time}' }) }),
};

const bare = { errno: 114, details: absent };

describeScenarios('preconditions on objects', [
  {
    name: 'GET of an unchanged object is 304.',
    given: [...given],
    request: 'GET {R}/x',
    headers: unless('{x.etag}'),
    status: 304,
    gives: { etag: '{x.etag}', 'last-modified': '{x.modified}', 'cache-control': 'no-cache, no-store' },
  },
  {
    name: 'HEAD of an unchanged object is 304.',
    given: [...given],
    request: 'HEAD {R}/x',
    headers: unless('{x.etag}'),
    status: 304,
  },
  {
    name: 'GET of a changed object is normal.',
    given: [...given],
    request: 'GET {R}/x',
    headers: unless('"1000"'),
    status: 200,
  },
  {
    name: 'A 304 can be read across origins.',
    given: [...given],
    request: 'GET {R}/x',
    headers: { ...unless('{x.etag}'), Origin: 'https://a.example' },
    status: 304,
    gives: { 'access-control-allow-origin': '*' },
  },
  {
    name: 'GET with If-None-Match: * is 412.',
    given: [...given],
    request: 'GET {R}/x',
    headers: unless('*'),
    status: 412,
    body: existing,
  },
  {
    name: 'If-None-Match with a timestamp has no effect on writes.',
    given: [...given],
    request: 'PUT {R}/x',
    headers: unless('{x.etag}'),
    status: 200,
  },
  {
    name: 'PUT with If-None-Match: * creates.',
    given: ['collection'],
    request: 'PUT {R}/x',
    headers: unless('*'),
    status: 201,
  },
  // Proves S-170, S-171, S-225.
  {
    name: 'PUT with If-None-Match: * refuses to replace and shows the existing object.',
    given: [...given],
    request: 'PUT {R}/x',
    headers: unless('*'),
    status: 412,
    body: existing,
    gives: { etag: '{x.etag}', 'last-modified': '{x.modified}' },
  },
  {
    name: 'PUT with If-None-Match: * shows callers who may create but not read only the timestamp of the list.',
    given: [...given, 'PATCH {C} {"permissions":{"record:create":["{bob}"]}}', { request: 'PUT {R}/y', save: 'y' }],
    request: 'bob: PUT {R}/x',
    headers: unless('*'),
    status: 412,
    body: bare,
    gives: { etag: '{y.etag}', 'last-modified': '{y.modified}' },
  },
  {
    name: 'PATCH and DELETE with If-None-Match: * are refused.',
    given: [...given],
    request: 'PATCH {R}/x {"data":{}}',
    headers: unless('*'),
    status: 412,
    body: existing,
    then: [{ request: 'DELETE {R}/x', headers: unless('*'), status: 412 }],
  },
  {
    name: 'PUT with the current timestamp proceeds.',
    given: [...given],
    request: 'PUT {R}/x',
    headers: when('{x.etag}'),
    status: 200,
  },
  {
    name: 'PATCH with the current timestamp proceeds.',
    given: [...given],
    request: 'PATCH {R}/x {"data":{}}',
    headers: when('{x.etag}'),
    status: 200,
  },
  {
    name: 'DELETE with the current timestamp proceeds.',
    given: [...given],
    request: 'DELETE {R}/x',
    headers: when('{x.etag}'),
    status: 200,
  },
  {
    name: 'GET with the current timestamp proceeds.',
    given: [...given],
    request: 'GET {R}/x',
    headers: when('{x.etag}'),
    status: 200,
  },
  // Proves S-170, S-171, S-225.
  {
    name: 'An older timestamp is refused.',
    given: [...given],
    request: 'PUT {R}/x',
    headers: when('"1000"'),
    status: 412,
    body: existing,
  },
  {
    name: 'A newer timestamp is refused too.',
    given: [...given],
    request: 'PATCH {R}/x {"data":{}}',
    headers: when('"9000000000000"'),
    status: 412,
    body: existing,
  },
  {
    name: 'DELETE with another timestamp is refused.',
    given: [...given],
    request: 'DELETE {R}/x',
    headers: when('"1000"'),
    status: 412,
    body: existing,
    then: [{ request: 'GET {R}/x', status: 200 }],
  },
  {
    name: 'GET with another timestamp is refused.',
    given: [...given],
    request: 'GET {R}/x',
    headers: when('"1000"'),
    status: 412,
  },
  {
    name: 'If-Match: * holds for an existing object.',
    given: [...given],
    request: 'PUT {R}/x',
    headers: when('*'),
    status: 200,
  },
  {
    name: 'If-Match: * does not hold for a missing object.',
    given: ['collection'],
    request: 'PUT {R}/x',
    headers: when('*'),
    status: 412,
    body: bare,
  },
  {
    name: 'A timestamp does not hold for a missing object.',
    given: ['collection'],
    request: 'PUT {R}/x',
    headers: when('"1000"'),
    status: 412,
    body: bare,
  },
  {
    name: 'PATCH, DELETE and GET of a missing object are 404.',
    given: ['collection'],
    request: 'PATCH {R}/x {"data":{}}',
    headers: when('"1000"'),
    status: 404,
    then: [
      { request: 'DELETE {R}/x', headers: when('*'), status: 404 },
      { request: 'GET {R}/x', headers: when('"1000"'), status: 404 },
      { request: 'GET {R}/x', headers: unless('"1000"'), status: 404 },
      { request: 'GET {R}/x', headers: unless('*'), status: 404 },
    ],
  },
  {
    name: 'A tombstone does not count for If-None-Match: *.',
    given: [...given, 'DELETE {R}/x'],
    request: 'PUT {R}/x',
    headers: unless('*'),
    status: 201,
  },
  // Proves S-169.
  {
    name: 'The timestamp of a tombstone recreates the object.',
    given: [...given, { request: 'DELETE {R}/x', save: 'd' }],
    request: 'PUT {R}/x',
    headers: when('{d.etag}'),
    status: 201,
  },
  {
    name: 'Another timestamp does not recreate it.',
    given: [...given, 'DELETE {R}/x'],
    request: 'PUT {R}/x',
    headers: when('{x.etag}'),
    status: 412,
    body: bare,
  },
  {
    name: 'If-Match: * does not hold for a tombstone.',
    given: [...given, 'DELETE {R}/x'],
    request: 'PUT {R}/x',
    headers: when('*'),
    status: 412,
  },
  {
    name: 'Both headers: If-None-Match: * comes first.',
    given: [...given],
    request: 'PUT {R}/x',
    headers: { ...unless('*'), ...when('{x.etag}') },
    status: 412,
  },
  {
    name: 'A creator without write access gets 412, not 403, and does not see the existing object.',
    given: ['bucket', 'PUT {C} {"permissions":{"record:create":["{bob}"]}}', one],
    request: 'bob: PUT {R}/x',
    headers: unless('*'),
    status: 412,
    body: { details: absent },
  },
  {
    name: 'A creator who is a reader sees the existing object.',
    given: ['bucket', 'PUT {C} {"permissions":{"record:create":["{bob}"],"read":["{bob}"]}}', one],
    request: 'bob: PUT {R}/x',
    headers: unless('*'),
    status: 412,
    body: { details: { existing: { id: 'x' } } },
  },
  {
    name: 'Without the right to create it is 403.',
    given: [...given],
    request: 'bob: PUT {R}/x',
    headers: unless('*'),
    status: 403,
  },
  {
    name: 'A failed precondition changes nothing.',
    given: [...given],
    request: 'PUT {R}/x {"data":{"b":2}}',
    headers: when('"1000"'),
    status: 412,
    then: [{ request: 'GET {R}/x', body: { data: { a: 1, b: absent } }, gives: { etag: '{x.etag}' } }],
  },
  {
    name: 'Access comes before preconditions.',
    given: [...given],
    request: 'bob: PUT {R}/x',
    headers: when('"1000"'),
    status: 403,
  },
  {
    name: 'The precondition comes before the id in the data.',
    given: [...given],
    request: 'PUT {R}/x {"data":{"id":"y"}}',
    headers: when('"1000"'),
    status: 412,
  },
]);

describeScenarios(
  'preconditions in the default bucket',
  [
    // Proves S-171.
    {
      name: 'A 412 in the default bucket shows the existing object.',
      given: [{ request: 'PUT /buckets/default/collections/c/records/x {"data":{"a":1}}', save: 'x' }],
      request: 'PUT /buckets/default/collections/c/records/x',
      headers: unless('*'),
      status: 412,
      body: { details: { existing: { id: 'x', a: 1, last_modified: aTimestamp } } },
    },
    // Proves S-124.
    {
      name: 'A 304 in the default bucket has its ETag.',
      given: [{ request: 'PUT /buckets/default/collections/c/records/x', save: 'x' }],
      request: 'GET /buckets/default/collections/c/records/x',
      headers: { ...unless('{x.etag}'), Origin: 'https://a.example' },
      status: 304,
      gives: { etag: '{x.etag}', 'access-control-allow-origin': '*' },
    },
  ],
  { settings: { includes: 'default_bucket' } },
);
