// Methods, redirects, media types, cross-origin requests and headers (protocol: overview.md §4).
import { absent, anEtag, aText, including, words } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const origin = { Origin: 'https://app.example' };
const preflight = (method: string): Record<string, string> => ({ ...origin, 'Access-Control-Request-Method': method });

describeScenarios('methods', [
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
  {
    name: 'A body of another type is refused on POST.',
    given: ['collection'],
    request: 'POST {R}',
    raw: 'hello',
    headers: { 'Content-Type': 'text/plain' },
    status: 415,
    issues: [['header', 'Content-Type']],
  },
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
  {
    name: 'A body of another type is refused on PATCH.',
    given: ['record'],
    request: 'PATCH {R}/r',
    raw: '{"data":{}}',
    headers: { 'Content-Type': 'application/xml' },
    status: 415,
    issues: [['header', 'Content-Type']],
  },
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
    name: 'Parameters of the type are fine.',
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
    name: 'The type is judged before the caller.',
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
  {
    name: 'A client that takes no JSON gets 415.',
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
    {
      name: 'The status for clients that take no JSON can be 406.',
      request: 'GET /buckets',
      headers: { Accept: 'text/html' },
      status: 406,
      issues: [['header', 'Accept']],
    },
  ],
  { settings: { not_acceptable_status: '406' } },
);

describeScenarios('redirects', [
  {
    name: 'The bare root redirects.',
    request: 'nobody: GET ^/',
    status: 307,
    gives: { location: '{origin}/v1/', 'cache-control': absent, 'content-type': /^text\/plain/ },
  },
  {
    name: 'A path without version redirects with its query.',
    request: 'nobody: GET ^/buckets?a=1&b',
    status: 307,
    gives: { location: '{origin}/v1/buckets?a=1&b' },
  },
  {
    name: 'A strange path without version redirects.',
    request: 'nobody: GET ^/favicon.ico',
    status: 307,
    gives: { location: '{origin}/v1/favicon.ico' },
  },
  {
    name: 'A path that looks like a host redirects on this host.',
    request: 'nobody: GET ^//evil.example/x',
    status: 307,
    gives: { location: '{origin}/v1//evil.example/x' },
  },
  { name: 'Any method redirects.', request: 'POST ^/buckets {}', status: 307 },
  {
    name: 'A lower version redirects.',
    request: 'nobody: GET ^/v0/buckets?x=1',
    status: 307,
    gives: { location: '{origin}/v1/buckets?x=1' },
  },
  {
    name: 'A higher version redirects.',
    request: 'nobody: GET ^/v2/buckets',
    status: 307,
    gives: { location: '{origin}/v1/buckets' },
  },
  {
    name: 'A version that begins like the served one redirects.',
    request: 'nobody: GET ^/v12/',
    status: 307,
    gives: { location: '{origin}/v1/' },
  },
  {
    name: 'A bare other version redirects to the root.',
    request: 'nobody: GET ^/v2',
    status: 307,
    gives: { location: '{origin}/v1/' },
  },
  {
    name: 'The bare prefix redirects to the root view, for an hour.',
    request: 'nobody: GET ^/v1?a=b',
    status: 307,
    gives: { location: '{origin}/v1/?a=b', 'cache-control': 'max-age=3600', expires: aText },
  },
  {
    name: 'A slash at the end redirects.',
    request: 'nobody: GET /buckets/?a=1',
    status: 307,
    gives: { location: '{origin}/v1/buckets?a=1', 'cache-control': 'max-age=3600' },
  },
  {
    name: 'Several slashes at the end redirect.',
    request: 'nobody: GET /buckets///',
    status: 307,
    gives: { location: '{origin}/v1/buckets' },
  },
  {
    name: 'A slash redirects whether or not anything is there.',
    request: 'nobody: GET /nothing/',
    status: 307,
    gives: { location: '{origin}/v1/nothing' },
  },
  { name: 'An empty segment inside is no path.', request: 'GET {B}//collections', status: 404, errno: 111 },
  { name: 'An empty first segment is no path.', request: 'GET //buckets', status: 404, errno: 111 },
  { name: 'Another letter case is no path.', request: 'GET /Buckets', status: 404, errno: 111 },
  {
    name: 'An encoded slash divides the path.',
    given: ['record'],
    request: 'GET {B}%2Fcollections',
    status: 200,
    body: { data: [{ id: 'c' }] },
  },
  { name: 'Encoded letters are the letters.', given: ['bucket'], request: 'GET /%62uckets/{b}', status: 200 },
  {
    name: 'A path that is no UTF-8 is refused.',
    request: 'GET /buckets/%ff',
    status: 400,
    errno: 107,
    body: { error: 'Bad Request', details: absent },
  },
  {
    name: 'A query that is no UTF-8 is refused.',
    request: 'GET /buckets?a=%ff',
    status: 400,
    errno: 107,
    body: { details: absent },
  },
  {
    name: 'Redirects carry the CORS header.',
    request: 'nobody: GET ^/buckets',
    headers: origin,
    status: 307,
    gives: { 'access-control-allow-origin': '*' },
  },
]);

describeScenarios(
  'no redirects',
  [
    {
      name: 'Without redirects a path without version has errno 116.',
      request: 'nobody: GET ^/buckets',
      status: 404,
      errno: 116,
    },
    {
      name: 'Without redirects another version has errno 116.',
      request: 'nobody: GET ^/v2/buckets',
      status: 404,
      errno: 116,
    },
    {
      name: 'Without redirects a version that begins alike has errno 116.',
      request: 'nobody: GET ^/v12/x',
      status: 404,
      errno: 116,
    },
    { name: 'Without redirects the bare prefix has errno 111.', request: 'nobody: GET ^/v1', status: 404, errno: 111 },
    {
      name: 'Without redirects a slash at the end has errno 111.',
      request: 'nobody: GET /buckets/',
      status: 404,
      errno: 111,
    },
    { name: 'The root view is served all the same.', request: 'nobody: GET /', status: 200 },
  ],
  {
    settings: {
      trailing_slash_redirect_enabled: 'false',
      version_prefix_redirect_enabled: 'false',
      unsupported_version_redirect_enabled: 'false',
    },
  },
);

describeScenarios(
  'cached redirects',
  [
    {
      name: 'Redirects to the prefix can be cached.',
      request: 'nobody: GET ^/buckets',
      status: 307,
      gives: { 'cache-control': 'max-age=60', expires: aText },
    },
    {
      name: 'Redirects of slashes can be forbidden to cache.',
      request: 'nobody: GET /buckets/',
      status: 307,
      gives: { 'cache-control': 'no-cache' },
    },
  ],
  { settings: { version_prefix_redirect_ttl_seconds: '60', trailing_slash_redirect_ttl_seconds: '0' } },
);

describeScenarios('cross-origin requests', [
  {
    name: 'Any origin may read answers.',
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
  {
    name: 'A list exposes what belongs to lists.',
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
    name: 'A preflight names the methods and allows the headers asked for.',
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
    name: 'A preflight of an object names its methods.',
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
    name: 'A preflight without origin and method says both.',
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
    name: 'A preflight without version is answered for its target.',
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

describeScenarios(
  'cache headers',
  [
    {
      name: 'Authenticated answers are not cached.',
      given: ['bucket'],
      request: 'GET {B}',
      gives: { 'cache-control': 'no-cache, no-store', expires: absent },
    },
    {
      name: 'Anonymous answers can be cached.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}'],
      request: 'nobody: GET {B}',
      gives: { 'cache-control': 'max-age=1234', expires: /GMT$/ },
    },
    {
      name: 'Zero means no caching.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}'],
      request: 'nobody: GET {G}',
      gives: { 'cache-control': 'no-cache, no-store' },
    },
    {
      name: 'A 304 repeats the cache header.',
      given: [{ request: 'PUT {B} {"permissions":{"read":["system.Everyone"]}}', save: 'x' }],
      request: 'nobody: GET {B}',
      headers: { 'If-None-Match': '{x.etag}' },
      status: 304,
      gives: { 'cache-control': 'max-age=1234', etag: '{x.etag}' },
    },
    {
      name: 'Records have the setting of their kind.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}', 'PUT {C}'],
      request: 'nobody: GET {R}',
      gives: { 'cache-control': 'max-age=30' },
    },
    {
      name: 'A collection may ask for more.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}', 'PUT {C} {"data":{"cache_expires":45}}'],
      request: 'nobody: GET {R}',
      gives: { 'cache-control': 'max-age=45' },
    },
    {
      name: 'A collection cannot ask for less.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}', 'PUT {C} {"data":{"cache_expires":5}}'],
      request: 'nobody: GET {R}',
      gives: { 'cache-control': 'max-age=30' },
    },
    {
      name: 'Records of a named bucket and collection have a setting of their own.',
      given: [
        'PUT /buckets/cachedb {"permissions":{"read":["system.Everyone"]}}',
        'PUT /buckets/cachedb/collections/news',
        'PUT /buckets/cachedb/collections/other',
      ],
      request: 'nobody: GET /buckets/cachedb/collections/news/records',
      gives: { 'cache-control': 'max-age=50' },
      then: [
        { request: 'nobody: GET /buckets/cachedb/collections/other/records', gives: { 'cache-control': 'max-age=40' } },
      ],
    },
  ],
  {
    settings: {
      bucket_cache_expires_seconds: '1234',
      group_cache_expires_seconds: '0',
      record_cache_expires_seconds: '30',
      'cachedb.record_cache_expires_seconds': '40',
      'cachedb.news.record_cache_expires_seconds': '50',
    },
  },
);

describeScenarios(
  'switched off operations',
  [
    {
      name: 'A list method can be switched off.',
      request: 'DELETE /buckets',
      status: 405,
      errno: 115,
      gives: { allow: 'GET, HEAD, POST, OPTIONS' },
    },
    {
      name: 'An object method can be switched off.',
      given: ['record'],
      request: 'PATCH {R}/r {"data":{}}',
      status: 405,
      errno: 115,
    },
    {
      name: 'GET and HEAD are switched separately.',
      given: ['bucket'],
      request: 'GET {B}/collections',
      status: 405,
      then: [{ request: 'HEAD {B}/collections', status: 200 }],
    },
    {
      name: 'A method that is off is no preflight target.',
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
