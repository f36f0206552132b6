// Methods and media types (docs/reference/http-api/README.md#methods-and-media-types).
import { absent, anEtag, words } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const origin = { Origin: 'https://app.example' };

const preflight = (method: string): Record<string, string> => ({ ...origin, 'Access-Control-Request-Method': method });

describeScenarios('methods', [
  // Proves S-224.
  {
    name: 'A list serves GET, HEAD, POST and DELETE.',
    request: 'PUT /buckets {}',
    status: 405,
    errno: 115,
    gives: { allow: words('GET HEAD POST DELETE OPTIONS') },
  },
  {
    name: 'An object serves GET, HEAD, PUT, PATCH and DELETE.',
    request: 'POST {B} {}',
    status: 405,
    errno: 115,
    gives: { allow: words('GET HEAD PUT PATCH DELETE OPTIONS') },
  },
  { name: 'TRACE is not allowed.', request: 'TRACE {B}', status: 405, errno: 115 },
  { name: 'Unknown verbs are not allowed.', request: 'nobody: PROPFIND {B}', status: 405, errno: 115 },
  {
    name: 'The batch endpoint serves POST only.',
    request: 'GET /batch',
    status: 405,
    gives: { allow: words('POST OPTIONS') },
  },
  { name: 'The method is judged before the caller.', request: 'nobody: PUT /buckets {}', status: 405 },
  {
    name: 'HEAD of an object has the headers of GET and no body.',
    given: ['record'],
    request: 'HEAD {R}/r',
    status: 200,
    gives: { etag: anEtag, 'content-length': /^[1-9]/ },
  },
  {
    name: 'HEAD of a list has totals.',
    given: ['record'],
    request: 'HEAD {R}',
    gives: { 'total-objects': '1', 'total-records': '1', 'next-page': absent },
  },
  {
    name: 'GET of a list has no totals.',
    given: ['record'],
    request: 'GET {R}',
    gives: { 'total-objects': absent, 'total-records': absent },
  },
  { name: 'HEAD of an object that is not there is 404.', given: ['collection'], request: 'HEAD {R}/none', status: 404 },
]);

describeScenarios('media types', [
  // Proves S-106, S-226, S-227, S-252.
  {
    name: 'A body of another type is refused on POST.',
    given: ['collection'],
    request: 'POST {R}',
    raw: 'hello',
    headers: { 'Content-Type': 'text/plain' },
    status: 415,
    issues: [['header', 'Content-Type']],
  },
  // Proves S-106, S-226.
  {
    name: 'A body of another type is refused on PUT.',
    given: ['collection'],
    request: 'PUT {R}/x',
    raw: '{}',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    status: 415,
    issues: [['header', 'Content-Type']],
  },
  {
    name: 'A wrong type is refused with an empty body too.',
    given: ['collection'],
    request: 'POST {R}',
    headers: { 'Content-Type': 'text/plain' },
    status: 415,
    errno: 107,
  },
  // Proves S-106, S-226.
  {
    name: 'A body of another type is refused on PATCH.',
    given: ['record'],
    request: 'PATCH {R}/r',
    raw: '{"data":{}}',
    headers: { 'Content-Type': 'application/xml' },
    status: 415,
    issues: [['header', 'Content-Type']],
  },
  ...['application/json', 'multipart/form-data; boundary=x', 'text/plain'].map((type) => ({
    name: `A compressed body of the type ${type} is refused.`,
    given: ['record'],
    request: 'POST {R}/r/attachment',
    raw: 'compressed',
    headers: { 'Content-Type': type, 'Content-Encoding': 'gzip' },
    status: 415,
    issues: [['header', 'Content-Encoding'] as const],
    body: { message: /Content-Encoding/ },
  })),
  {
    name: 'A body whose encoding changes nothing is accepted.',
    given: ['collection'],
    request: 'POST {R} {"data":{"a":1}}',
    headers: { 'Content-Encoding': 'Identity, ' },
    status: 201,
  },
  {
    name: 'An encoding without a body is accepted.',
    given: ['collection'],
    request: 'POST {R}',
    headers: { 'Content-Encoding': 'gzip' },
    status: 201,
  },
  ...['GET', 'DELETE', 'OPTIONS'].map((method) => ({
    name: `The body of ${method} is ignored, whatever its type, encoding and length.`,
    given: ['record'],
    request: `${method} {R}/r`,
    raw: 'x'.repeat(1_500_000),
    headers: {
      'Content-Type': 'application/xml',
      'Content-Encoding': 'gzip',
      Origin: 'https://app.example',
      'Access-Control-Request-Method': 'GET',
    },
    status: 200,
  })),
  {
    name: 'Patch types are for PATCH only.',
    given: ['collection'],
    request: 'PUT {R}/x',
    raw: '{}',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    status: 415,
    errno: 107,
  },
  {
    name: 'Parameters of the type are accepted.',
    given: ['collection'],
    request: 'POST {R} {"data":{"a":1}}',
    headers: { 'Content-Type': 'application/json; charset=utf-8' },
    status: 201,
  },
  {
    name: 'The letter case of the type does not matter.',
    given: ['collection'],
    request: 'POST {R} {"data":{"a":1}}',
    headers: { 'Content-Type': 'Application/JSON' },
    status: 201,
  },
  {
    name: 'Without a type the body is read as JSON.',
    given: ['collection'],
    request: 'POST {R}',
    raw: '{"data":{"a":1}}',
    status: 201,
    body: { data: { a: 1 } },
  },
  {
    name: 'PATCH without a type is a plain patch.',
    given: ['record'],
    request: 'PATCH {R}/r',
    raw: '{"data":{"b":2}}',
    status: 200,
    body: { data: { a: 1, b: 2 } },
  },
  {
    name: 'The media type is checked before the caller.',
    request: 'nobody: PUT {B}',
    raw: 'x',
    headers: { 'Content-Type': 'text/plain' },
    status: 415,
  },
  {
    name: 'The batch wants JSON.',
    request: 'POST /batch',
    raw: '{}',
    headers: { 'Content-Type': 'text/plain' },
    status: 415,
    issues: [['header', 'Content-Type']],
  },
  {
    name: 'A body on GET is ignored.',
    given: ['bucket'],
    request: 'GET {B}',
    raw: 'not json',
    headers: { 'Content-Type': 'application/json' },
    status: 200,
  },
  {
    name: 'A body on DELETE is ignored.',
    given: ['bucket'],
    request: 'DELETE {B}',
    raw: 'not json',
    headers: { 'Content-Type': 'text/plain' },
    status: 200,
  },
  // Proves S-228.
  {
    name: 'A client that does not accept JSON gets 415.',
    given: ['bucket'],
    request: 'GET {B}',
    headers: { Accept: 'text/html' },
    status: 415,
    issues: [['header', 'Accept']],
    body: { code: 415 },
  },
  {
    name: 'A client that refuses JSON gets 415.',
    given: ['bucket'],
    request: 'GET {B}',
    headers: { Accept: 'application/json;q=0' },
    status: 415,
  },
  { name: 'An empty Accept is any type.', given: ['bucket'], request: 'GET {B}', headers: { Accept: '' }, status: 200 },
  {
    name: 'Accept may have parameters.',
    given: ['bucket'],
    request: 'GET {B}',
    headers: { Accept: 'application/json;charset=utf-8' },
    status: 200,
  },
  {
    name: 'Accept may name JSON among others.',
    given: ['bucket'],
    request: 'GET {B}',
    headers: { Accept: 'text/html, application/*;q=0.2' },
    status: 200,
  },
  {
    name: 'Accept may be a wildcard.',
    given: ['bucket'],
    request: 'GET {B}',
    headers: { Accept: 'text/html,*/*;q=0.1' },
    status: 200,
  },
]);

describeScenarios(
  'strict negotiation',
  [
    // Proves S-228.
    {
      name: 'The status for clients that do not accept JSON can be 406.',
      request: 'GET /buckets',
      headers: { Accept: 'text/html' },
      status: 406,
      issues: [['header', 'Accept']],
    },
  ],
  { settings: { not_acceptable_status: '406' } },
);

describeScenarios(
  'switched off operations',
  [
    {
      name: 'A list method can be disabled.',
      request: 'DELETE /buckets',
      status: 405,
      errno: 115,
      gives: { allow: 'GET, HEAD, POST, OPTIONS' },
    },
    {
      name: 'An object method can be disabled.',
      given: ['record'],
      request: 'PATCH {R}/r {"data":{}}',
      status: 405,
      errno: 115,
    },
    {
      name: 'GET and HEAD are disabled separately.',
      given: ['bucket'],
      request: 'GET {B}/collections',
      status: 405,
      then: [{ request: 'HEAD {B}/collections', status: 200 }],
    },
    {
      name: 'A disabled method is no preflight target.',
      request: 'nobody: OPTIONS /buckets',
      headers: preflight('DELETE'),
      status: 400,
    },
  ],
  {
    settings: {
      plural_bucket_delete_enabled: 'false',
      object_record_patch_enabled: 'false',
      plural_collection_get_enabled: 'false',
    },
  },
);
