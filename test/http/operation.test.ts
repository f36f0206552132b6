// Errors, read-only mode, back-off and end of service (docs/reference/http-api/errors.md).
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';
import { absent, aText, ids, only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const origin = { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' };

// Proves S-235.
describeScenarios('error bodies', [
  // Proves S-222.
  {
    name: 'A missing object has a message and details.',
    given: ['collection'],
    request: 'GET {R}/zz',
    status: 404,
    body: only({
      code: 404,
      errno: 110,
      error: 'Not Found',
      message: 'The record "zz" does not exist.',
      details: only({ id: 'zz', resource_name: 'record' }),
    }),
  },
  // Proves S-234.
  {
    name: 'A refusal is short.',
    request: 'GET {B}',
    status: 403,
    body: only({ code: 403, errno: 121, error: 'Forbidden', message: aText }),
  },
  {
    name: 'Missing credentials are reported.',
    request: 'nobody: GET {B}',
    status: 401,
    body: only({ code: 401, errno: 104, error: 'Unauthorized', message: aText }),
  },
  // Proves S-224.
  {
    name: 'An unsupported method is reported.',
    request: 'PUT /buckets',
    status: 405,
    body: only({ code: 405, errno: 115, error: 'Method Not Allowed', message: aText }),
  },
  {
    name: 'An invalid parameter is reported with its location.',
    given: ['collection'],
    request: 'GET {R}?_since=x',
    status: 400,
    body: only({
      code: 400,
      errno: 107,
      error: 'Invalid parameters',
      message: /^_since in querystring: /,
      details: [only({ location: 'querystring', name: '_since', description: aText })],
    }),
  },
  {
    name: 'An error without a name has only the location.',
    given: ['collection'],
    request: 'GET {R}/a.b',
    status: 400,
    body: { message: /^path: / },
  },
]);

describeScenarios(
  'links in errors',
  [
    // Proves S-234.
    {
      name: 'All errors can have a link.',
      request: 'GET {B}',
      status: 403,
      body: { info: 'https://help.example.org/' },
    },
  ],
  { settings: { error_info_link: 'https://help.example.org/', error_info_all: 'true' } },
);

describeScenarios(
  'back-off',
  [
    { name: 'Every answer asks to back off.', request: 'GET /', gives: { backoff: '10' } },
    { name: 'Errors ask to back off.', request: 'nobody: GET {B}', status: 401, gives: { backoff: '10' } },
    { name: 'Redirects ask to back off.', request: 'nobody: GET ^/', status: 307, gives: { backoff: '10' } },
    {
      name: 'A 304 has the Backoff header.',
      given: [{ request: 'PUT {B}', save: 'x' }],
      request: 'GET {B}',
      headers: { 'If-None-Match': '{x.etag}' },
      status: 304,
      gives: { backoff: '10' },
    },
    {
      name: 'Batch entries have the Backoff header.',
      request: 'POST /batch {"requests":[{"path":"/"}]}',
      body: { responses: [{ headers: { Backoff: '10' } }] },
    },
  ],
  { settings: { backoff: '10' } },
);

describeScenarios(
  'no back-off',
  [{ name: 'A share of nothing never asks.', request: 'GET /', gives: { backoff: absent, alert: absent } }],
  { settings: { backoff: '10', backoff_percentage: '0' } },
);

describeScenarios(
  'an announced end',
  [
    {
      name: 'Every response announces the end of service.',
      request: 'GET /',
      body: { eos: '2099-01-01' },
      gives: { alert: /"code":"soft-eol".*"message":"closing soon".*"url":"https:\/\/example\.org\/eos"/ },
    },
    { name: 'Errors announce the end.', request: 'nobody: GET {B}', status: 401, gives: { alert: /soft-eol/ } },
    { name: 'Redirects announce the end.', request: 'nobody: GET ^/', status: 307, gives: { alert: /soft-eol/ } },
  ],
  { settings: { eos: '2099-01-01', eos_message: 'closing soon', eos_url: 'https://example.org/eos' } },
);

describeScenarios(
  'the end',
  [
    ...[
      'GET /',
      'GET ^/',
      'GET ^/unknown',
      'GET /__lbheartbeat__',
      'GET /__heartbeat__',
      'POST /buckets',
      'GET /nothing',
      'POST /batch {"requests":[]}',
    ].map((request) => ({
      name: `${request} is gone.`,
      request: `nobody: ${request}`,
      status: 410,
      errno: 202,
      gives: { alert: /"code":"hard-eol"/ },
    })),
    { name: 'A preflight is gone.', request: 'nobody: OPTIONS /buckets', headers: origin, status: 410, errno: 202 },
  ],
  { settings: { eos: '2015-01-01', eos_message: 'closed' } },
);

describeScenarios(
  'read-only mode',
  [
    // Proves S-018, S-092.
    {
      name: 'The root view shows it and can be cached.',
      request: 'nobody: GET /',
      body: { settings: { readonly: true } },
      gives: { 'cache-control': 'max-age=86400', expires: aText },
    },
    ...[
      'POST /buckets',
      'PUT {B}',
      'PATCH {B} {"data":{}}',
      'DELETE {B}',
      'DELETE /buckets',
      'POST /batch {"requests":[]}',
      'POST /__flush__',
      'POST /nothing',
    ].map((request) => ({
      // Proves S-018.
      name: `${request.split(' {')[0]} is not allowed.`,
      request,
      status: 405,
      errno: 115,
    })),
    {
      name: 'The heartbeat stays healthy.',
      request: 'nobody: GET /__heartbeat__',
      status: 200,
      body: only({ storage: true, permission: true, cache: true }),
    },
    { name: 'Unknown paths are missing.', request: 'GET /nothing', status: 404 },
    { name: 'Redirects work.', request: 'GET ^/buckets', status: 307 },
    {
      name: 'Preflights work.',
      request: 'nobody: OPTIONS {B}',
      headers: { ...origin, 'Access-Control-Request-Method': 'PUT' },
      status: 200,
    },
  ],
  { settings: { readonly: 'true', flush_endpoint_enabled: 'true', bucket_read_principals: 'system.Everyone' } },
);

describe('a list without a timestamp in read-only mode', () => {
  for (const backend of allBackends) {
    const isAnswered = backend.name === 'memory';
    // Proves S-232.
    it(`It is ${isAnswered ? 'answered from' : 'refused, with what to do about it, on'} ${backend.name}.`, async () => {
      const service = await backend.start({
        settings: { readonly: 'true', bucket_read_principals: 'system.Everyone' },
      });
      try {
        const response = await service.request('GET', '/v1/buckets');
        if (isAnswered) expect(response).toMatchObject({ status: 200, body: { data: [] } });
        else {
          expect(response).toMatchObject({ status: 503, headers: { 'retry-after': '3' }, body: { errno: 201 } });
          expect(response.text).toContain('writable');
        }
      } finally {
        await service.close();
      }
    });
  }
});

describe('requests that are no HTTP', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ settings: { max_header_size: '2048' } });
  });
  afterAll(() => service.close());

  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['Nonsense is answered with 400 and a JSON body.', 'nonsense\r\n\r\n', /^HTTP\/1\.1 400 .*"code":400,"errno":107/s],
    [
      'Headers that are too large are answered with 431.',
      `GET /v1/ HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(4096)}\r\n\r\n`,
      /^HTTP\/1\.1 431 .*"code":431/s,
    ],
    [
      'Raw UTF-8 in a path is read as such.',
      'GET /v1/buckets/é HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      /^HTTP\/1\.1 (?:400|401) /,
    ],
    ['A request without Host is refused.', 'GET /v1/ HTTP/1.1\r\nConnection: close\r\n\r\n', /^HTTP\/1\.1 400 /],
    [
      'A body of two lengths is refused.',
      'POST /v1/buckets HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 400 /,
    ],
    [
      'Two requests on one connection get two answers.',
      'GET /v1/__lbheartbeat__ HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/__lbheartbeat__ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      /200 OK.*200 OK/s,
    ],
  ];
  for (const [name, bytes, expected] of cases) {
    it(name, async () => {
      expect(await exchangeRaw(service.origin, bytes)).toMatch(expected);
    });
  }
});

/** Sends bytes and collects what comes back until the server closes. */
function exchangeRaw(address: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.write(bytes);
  });
}

describeScenarios(
  'the retry hint',
  [
    // Proves S-233, S-237.
    {
      name: 'A retry hint comes with conflicts.',
      given: ['collection', 'PUT {R}/a {"data":{"last_modified":1}}', 'PUT {R}/b'],
      request: 'PUT {R}/c {"data":{"last_modified":1}}',
      status: 409,
      gives: { 'retry-after': '7' },
      then: [{ request: 'GET {R}?_sort=id', body: { data: ids('a b') } }],
    },
  ],
  { settings: { retry_after_seconds: '7' } },
);
