// Cross-origin requests and request ids (docs/reference/http-api/README.md#cross-origin-requests).
import { absent, including, words } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const origin = { Origin: 'https://app.example' };

const preflight = (method: string): Record<string, string> => ({ ...origin, 'Access-Control-Request-Method': method });

describeScenarios('cross-origin requests', [
  {
    name: 'Any origin may read responses.',
    request: 'GET /buckets',
    headers: origin,
    gives: { 'access-control-allow-origin': '*', 'access-control-allow-credentials': absent },
  },
  {
    name: 'Without an origin there is no allowance.',
    request: 'GET /buckets',
    gives: { 'access-control-allow-origin': absent },
  },
  {
    name: 'Errors are readable too.',
    request: 'nobody: GET {B}',
    headers: origin,
    status: 401,
    gives: { 'access-control-allow-origin': '*' },
  },
  // Proves S-177.
  {
    name: 'A list exposes the headers of lists.',
    request: 'GET /buckets',
    headers: origin,
    gives: {
      'access-control-expose-headers': words(
        'Backoff Retry-After Alert Content-Length Content-Type Next-Page Last-Modified ETag Cache-Control Expires Pragma',
      ),
    },
  },
  {
    name: 'HEAD of a list exposes the totals.',
    request: 'HEAD /buckets',
    headers: origin,
    gives: { 'access-control-expose-headers': words('Total-Objects Total-Records Next-Page ETag') },
  },
  {
    name: 'An object exposes its validators.',
    given: ['bucket'],
    request: 'GET {B}',
    headers: origin,
    gives: { 'access-control-expose-headers': words('Last-Modified ETag Cache-Control Expires Pragma Alert') },
  },
  {
    name: 'Writes expose the new ETag.',
    request: 'PUT {B}',
    headers: origin,
    gives: { 'access-control-expose-headers': words('ETag Last-Modified') },
  },
  {
    name: 'List deletions expose the next page.',
    given: ['collection'],
    request: 'DELETE {R}',
    headers: origin,
    gives: { 'access-control-expose-headers': words('ETag Last-Modified Next-Page') },
  },
  {
    name: 'A preflight returns the methods and allows the requested headers.',
    request: 'nobody: OPTIONS /buckets',
    headers: { ...preflight('POST'), 'Access-Control-Request-Headers': 'Authorization, X-Mine' },
    status: 200,
    text: 'null',
    gives: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': words('GET HEAD POST DELETE'),
      'access-control-allow-headers': words('Authorization X-Mine'),
      'access-control-max-age': '3600',
    },
  },
  {
    name: 'A preflight of an object returns its methods.',
    request: 'nobody: OPTIONS {B}',
    headers: preflight('PATCH'),
    status: 200,
    gives: { 'access-control-allow-methods': words('GET HEAD PUT PATCH DELETE') },
  },
  {
    name: 'A preflight of a utility works.',
    request: 'nobody: OPTIONS /batch',
    headers: preflight('POST'),
    status: 200,
  },
  {
    name: 'A preflight without origin and method is refused with both faults.',
    request: 'nobody: OPTIONS /buckets',
    status: 400,
    errno: 107,
    body: { details: including({ name: 'Origin' }, { name: 'Access-Control-Request-Method' }) },
  },
  {
    name: 'A preflight for a method that is not served is refused.',
    request: 'nobody: OPTIONS /buckets',
    headers: preflight('PUT'),
    issues: [['header', 'Access-Control-Request-Method']],
  },
  {
    name: 'A preflight without version gets the response of its target.',
    request: 'nobody: OPTIONS ^/buckets',
    headers: preflight('POST'),
    status: 200,
    gives: { 'access-control-allow-origin': '*' },
  },
  {
    name: 'A preflight of an unknown path is 404.',
    request: 'nobody: OPTIONS /nothing',
    headers: preflight('GET'),
    status: 404,
  },
]);

describeScenarios(
  'chosen origins',
  [
    {
      name: 'An allowed origin is echoed.',
      request: 'GET /buckets',
      headers: { Origin: 'https://app.example.org' },
      status: 200,
      gives: { 'access-control-allow-origin': 'https://app.example.org' },
    },
    {
      name: 'A pattern allows origins.',
      request: 'GET /buckets',
      headers: { Origin: 'https://x.test.example' },
      status: 200,
      gives: { 'access-control-allow-origin': 'https://x.test.example' },
    },
    {
      name: 'A refused origin is 400, and nothing is done.',
      request: 'PUT {B}',
      headers: { Origin: 'https://evil.example' },
      issues: [['header', 'Origin']],
      gives: { 'access-control-allow-origin': absent },
      then: [{ request: 'GET {B}', status: 403 }],
    },
    {
      name: 'A refused origin is 400 on utilities.',
      request: 'nobody: GET /',
      headers: { Origin: 'https://evil.example' },
      issues: [['header', 'Origin']],
    },
    {
      name: 'A refused origin at an unknown path is a plain 404.',
      request: 'nobody: GET /nothing',
      headers: { Origin: 'https://evil.example' },
      status: 404,
      gives: { 'access-control-allow-origin': absent },
    },
    {
      name: 'The dot of a pattern is a dot.',
      request: 'GET /buckets',
      headers: { Origin: 'https://appXexample.org' },
      status: 400,
    },
    {
      name: 'Without a maximum age there is no such header.',
      request: 'nobody: OPTIONS /buckets',
      headers: { Origin: 'https://app.example.org', 'Access-Control-Request-Method': 'GET' },
      status: 200,
      gives: { 'access-control-max-age': absent, 'access-control-allow-origin': 'https://app.example.org' },
    },
  ],
  { settings: { cors_origins: 'https://app.example.org https://*.test.example', cors_max_age_seconds: '' } },
);

describeScenarios('request ids', [
  {
    name: 'The request id of the client is echoed.',
    request: 'nobody: GET /',
    headers: { 'X-Request-Id': 'abc-1' },
    gives: { 'x-request-id': 'abc-1' },
  },
  {
    name: 'A request id unfit for a log is replaced.',
    request: 'nobody: GET /',
    headers: { 'X-Request-Id': 'two words' },
    gives: { 'x-request-id': /^\S+$/ },
  },
]);
