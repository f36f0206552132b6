// Redirects and addresses that lead nowhere (docs/reference/http-api/README.md#redirects).
import { absent, aText } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const origin = { Origin: 'https://app.example' };

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
    name: 'A path that resembles a host redirects on this host.',
    request: 'nobody: GET ^//evil.example/x',
    status: 307,
    gives: { location: '{origin}/v1//evil.example/x' },
  },
  {
    name: 'A path with an encoded control character and without version is 404.',
    request: 'nobody: GET ^/buckets%0D%0ASet-Cookie:a',
    status: 404,
    errno: 116,
    gives: { location: absent },
    then: [
      ...['%00', '%0A', '%1F', '%7F', '%C2%85'].map((escape) => ({
        request: `nobody: GET ^/a${escape}b?x=%0A`,
        status: 404,
        gives: { location: absent },
      })),
      { request: 'nobody: GET ^/v0/a%0Ab', status: 404, gives: { location: absent } },
      { request: 'nobody: GET ^/a?x=%0A', status: 307 },
    ],
  },
  { name: 'Any method redirects.', request: 'POST ^/buckets {}', status: 307 },
  // Proves S-249.
  {
    name: 'A lower version redirects.',
    request: 'nobody: GET ^/v0/buckets?x=1',
    status: 307,
    gives: { location: '{origin}/v1/buckets?x=1' },
  },
  // Proves S-249.
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
  // Proves S-179.
  {
    name: 'The bare prefix redirects to the root view, for an hour.',
    request: 'nobody: GET ^/v1?a=b',
    status: 307,
    gives: { location: '{origin}/v1/?a=b', 'cache-control': 'max-age=3600', expires: aText },
  },
  // Proves S-178.
  {
    name: 'A trailing slash redirects.',
    request: 'nobody: GET /buckets/?a=1',
    status: 307,
    gives: { location: '{origin}/v1/buckets?a=1', 'cache-control': 'max-age=3600' },
  },
  {
    name: 'Several trailing slashes redirect.',
    request: 'nobody: GET /buckets///',
    status: 307,
    gives: { location: '{origin}/v1/buckets' },
  },
  {
    name: 'A trailing slash redirects for existing and unknown paths.',
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

const browser = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

describeScenarios(
  'redirects with a console',
  [
    {
      name: 'A browser is redirected from the root to the console.',
      request: 'nobody: GET ^/',
      headers: browser,
      status: 307,
      gives: { location: '{origin}/v1/admin/', vary: /\bAccept\b/, 'cache-control': absent },
      then: [
        { request: 'nobody: HEAD ^/?x=1', headers: browser, status: 307, gives: { location: '{origin}/v1/admin/' } },
      ],
    },
    {
      name: 'Other clients are redirected from the root to the root view, and caches distinguish them.',
      request: 'nobody: GET ^/',
      status: 307,
      gives: { location: '{origin}/v1/', vary: /\bAccept\b/ },
      then: [
        ...['*/*', 'application/json', 'text/html;q=0, */*', 'text/htmlx'].map((accept) => ({
          request: 'nobody: GET ^/',
          headers: { Accept: accept },
          status: 307,
          gives: { location: '{origin}/v1/' },
        })),
        { request: 'POST ^/ {}', headers: browser, status: 307, gives: { location: '{origin}/v1/' } },
      ],
    },
    {
      name: 'A browser gets JSON everywhere else.',
      request: 'nobody: GET /',
      headers: browser,
      status: 200,
      body: { project_name: aText },
      then: [
        { request: 'nobody: GET ^/buckets', headers: browser, status: 307, gives: { location: '{origin}/v1/buckets' } },
      ],
    },
    {
      name: 'A preflight of the root gets the response of the root view.',
      request: 'nobody: OPTIONS ^/',
      headers: { ...browser, ...origin, 'Access-Control-Request-Method': 'GET' },
      status: 200,
    },
  ],
  { settings: { includes: 'admin' } },
);

describeScenarios(
  'redirects without version and with a console',
  [
    {
      name: 'A browser is redirected to the console although other clients are not.',
      request: 'nobody: GET ^/',
      headers: browser,
      status: 307,
      gives: { location: '{origin}/v1/admin/' },
      then: [{ request: 'nobody: GET ^/', status: 404, errno: 116 }],
    },
  ],
  { settings: { includes: 'admin', version_prefix_redirect_enabled: 'false' } },
);

describeScenarios(
  'redirects without a console',
  [
    {
      name: 'A browser is redirected to the root view.',
      request: 'nobody: GET ^/',
      headers: browser,
      status: 307,
      gives: { location: '{origin}/v1/' },
    },
  ],
  { settings: { includes: 'default_bucket' } },
);

describeScenarios(
  'no redirects',
  [
    // Proves S-105.
    {
      name: 'Without redirects a path without version has errno 116.',
      request: 'nobody: GET ^/buckets',
      status: 404,
      errno: 116,
    },
    // Proves S-249.
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
    // Proves S-179.
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
