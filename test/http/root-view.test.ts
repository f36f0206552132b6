// The root view and the utility endpoints (docs/reference/http-api/endpoints.md#root-view).
import { absent, aText, aUuid, including, only, optional, unordered, words } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const capability = { description: aText, url: aText };

describeScenarios('the root view', [
  // Proves S-085, S-086, S-087, S-088, S-089, S-090, S-091, S-092, S-093, S-095, S-134, S-135, S-184, S-247, S-250, S-251, S-257, S-258, S-259.
  {
    name: 'The root view shows the documented fields to anonymous callers, and no user.',
    request: 'nobody: GET /',
    status: 200,
    body: only({
      project_name: 'Coffer',
      project_version: /^\d+\.\d+\.\d+/,
      http_api_version: '1.23',
      project_docs: aText,
      url: '{origin}/v1/',
      config: null,
      settings: only({ readonly: false, explicit_permissions: true, batch_max_requests: 25 }),
      capabilities: only({
        basicauth: capability,
        indexes: capability,
        live: capability,
        resync: capability,
        selectors: capability,
        'text-search': optional(capability),
      }),
    }),
    gives: { 'content-type': /^application\/json/, etag: absent, 'cache-control': absent },
  },
  // Proves S-095, S-096, S-136, S-183, S-195, S-262.
  {
    name: 'The root view shows an authenticated caller its user id and its principals.',
    request: 'GET /',
    status: 200,
    body: {
      user: only({
        id: /^basicauth:[\da-f]{64}$/,
        principals: unordered('{alice}', 'system.Authenticated', 'system.Everyone'),
      }),
    },
  },
  {
    name: 'The first of the principals is the id of the caller.',
    request: 'GET /',
    text: /"principals":\["basicauth:/,
  },
  {
    name: 'The principals of the root view include the groups of the caller.',
    given: ['bucket', 'PUT {G}/g {"data":{"members":["{bob}"]}}'],
    request: 'bob: GET /',
    body: { user: { principals: including('{bob}', '{B}/groups/g', 'system.Everyone', 'system.Authenticated') } },
  },
  {
    name: 'HEAD of the root view has no body.',
    request: 'nobody: HEAD /',
    status: 200,
    gives: { 'content-type': /^application\/json/ },
  },
  // Proves S-192.
  {
    name: 'A malformed Authorization header leaves the root view open and anonymous.',
    request: 'nobody: GET /',
    headers: { Authorization: 'Basic ???' },
    status: 200,
    body: { user: absent },
  },
  { name: 'The root view ignores Accept.', request: 'nobody: GET /', headers: { Accept: 'text/html' }, status: 200 },
  {
    name: 'The root view serves GET and HEAD only.',
    request: 'POST / {}',
    status: 405,
    errno: 115,
    gives: { allow: words('GET HEAD OPTIONS') },
  },
  // Proves S-257, S-258, S-259, S-260, S-261, S-262.
  {
    name: 'The root view contains none of the retired fields.',
    request: 'GET /',
    body: {
      hello: absent,
      documentation: absent,
      version: absent,
      commit: absent,
      userid: absent,
      protocol_version: absent,
    },
  },
  {
    name: 'The root view has the host of the request.',
    request: 'nobody: GET /',
    headers: { Host: 'store.example:8000' },
    body: { url: 'http://store.example:8000/v1/' },
  },
]);

describeScenarios(
  'the root view with everything switched on',
  [
    // Proves S-093, S-094.
    {
      name: 'Each optional feature is a capability.',
      request: 'nobody: GET /',
      body: {
        capabilities: only({
          basicauth: capability,
          default_bucket: capability,
          flush_endpoint: capability,
          schema: capability,
          permissions_endpoint: capability,
          live: capability,
          resync: capability,
          indexes: capability,
          selectors: capability,
          'text-search': optional(capability),
        }),
      },
    },
    // Proves S-097.
    { name: 'The root view shows the id of the personal bucket.', request: 'GET /', body: { user: { bucket: aUuid } } },
    // Proves S-086, S-087, S-088, S-089.
    {
      name: 'Name, documentation, scheme and host come from the settings.',
      request: 'nobody: GET /',
      body: {
        project_name: 'my store',
        project_version: '7',
        project_docs: 'https://docs.example.org/',
        url: 'https://store.example.org/v1/',
        settings: { batch_max_requests: 7 },
      },
    },
    {
      name: 'Next-Page uses the configured scheme and host.',
      given: ['bucket', 'PUT {B}/collections/x', 'PUT {B}/collections/y'],
      request: 'GET {B}/collections?_limit=1',
      gives: { 'next-page': /^https:\/\/store\.example\.org\/v1\/buckets\/b\w+\/collections\?_limit=1&_token=/ },
    },
  ],
  {
    settings: {
      includes: 'default_bucket flush',
      experimental_permissions_endpoint: 'true',
      experimental_collection_schema_validation: 'true',
      project_name: 'my store',
      project_version: '7',
      project_docs: 'https://docs.example.org/',
      http_scheme: 'https',
      http_host: 'store.example.org',
      batch_max_requests: '7',
    },
  },
);

describeScenarios(
  'a service without policies',
  [
    {
      name: 'Without policies all callers are anonymous.',
      request: 'GET /',
      body: {
        user: absent,
        capabilities: only({
          indexes: capability,
          live: capability,
          resync: capability,
          selectors: capability,
          'text-search': optional(capability),
        }),
      },
    },
  ],
  { settings: { 'multiauth.policies': '' } },
);

describeScenarios('the utility endpoints', [
  // Proves S-143, S-152.
  {
    name: 'The heartbeat reports the health of each backend.',
    request: 'nobody: GET /__heartbeat__',
    status: 200,
    body: only({ storage: true, permission: true, cache: true }),
  },
  // Proves S-142.
  {
    name: 'The load balancer check returns an empty object.',
    request: 'nobody: GET /__lbheartbeat__',
    status: 200,
    text: '{}',
  },
  {
    name: 'The version endpoint returns the shipped file.',
    request: 'nobody: GET /__version__',
    status: 200,
    body: { name: aText, version: aText, source: /^/, commit: /^/, build: /^/ },
  },
  // Proves S-141, S-254.
  {
    name: 'The contribution page describes the project.',
    request: 'nobody: GET /contribute.json',
    status: 200,
    body: { name: aText, description: aText, repository: {} },
  },
  {
    name: 'The heartbeat needs no version prefix.',
    request: 'nobody: GET ^/__heartbeat__',
    status: 200,
    body: { storage: true },
  },
  // Proves S-142.
  {
    name: 'The load balancer check needs no version prefix.',
    request: 'nobody: GET ^/__lbheartbeat__',
    status: 200,
    text: '{}',
  },
  { name: 'The version endpoint needs no version prefix.', request: 'nobody: GET ^/__version__', status: 200 },
  // Proves S-141.
  {
    name: 'The contribution page without prefix redirects.',
    request: 'nobody: GET ^/contribute.json',
    status: 307,
    gives: { location: '{origin}/v1/contribute.json' },
  },
  {
    name: 'HEAD of the heartbeat has no body.',
    request: 'nobody: HEAD /__heartbeat__',
    status: 200,
    gives: { 'content-length': /^[1-9]/ },
  },
  {
    name: 'The heartbeat serves GET and HEAD only.',
    request: 'nobody: POST /__heartbeat__ {}',
    status: 405,
    errno: 115,
    gives: { allow: 'GET, HEAD, OPTIONS' },
  },
  {
    name: 'Utility endpoints ignore Accept.',
    request: 'nobody: GET /__lbheartbeat__',
    headers: { Accept: 'text/plain' },
    status: 200,
  },
  {
    name: 'The description of the API names the operations.',
    request: 'nobody: GET /__api__',
    status: 200,
    body: {
      swagger: '2.0',
      info: { title: 'Coffer', version: '1.23' },
      basePath: '/v1',
      schemes: ['http'],
      securityDefinitions: { basicauth: {} },
      paths: {
        '/': { get: { operationId: 'server_info' } },
        '/batch': { post: { operationId: 'batch' } },
        '/buckets': {
          get: { operationId: 'get_buckets' },
          post: { operationId: 'create_bucket' },
          delete: { operationId: 'delete_buckets' },
        },
      },
    },
  },
  // Proves S-139.
  { name: 'The list of permissions is off unless switched on.', request: 'GET /permissions', status: 404, errno: 111 },
  // Proves S-148, S-223.
  { name: 'Flush is off unless switched on.', request: 'POST /__flush__', status: 404, errno: 111 },
  {
    name: 'Unknown paths have no details.',
    request: 'GET /nothing',
    status: 404,
    errno: 111,
    body: { details: absent },
  },
  // Proves S-017.
  {
    name: 'Without the plugin, default is an ordinary id.',
    request: 'bob: GET /buckets/default',
    status: 403,
    then: [{ request: 'PUT /buckets/default', body: { data: { id: 'default' } } }],
  },
]);

describeScenarios(
  'configured files',
  [
    {
      name: 'A configured version file that is missing is not found.',
      request: 'nobody: GET /__version__',
      status: 404,
      errno: 111,
    },
    {
      name: 'A configured contribution file that is missing is not found.',
      request: 'nobody: GET /contribute.json',
      status: 404,
      errno: 111,
    },
  ],
  { settings: { version_json_path: 'nowhere/version.json', contribute_json_path: 'nowhere/contribute.json' } },
);

describeScenarios(
  'flush',
  [
    // Proves S-146, S-152.
    {
      name: 'Flush responds 202 to any caller and deletes everything.',
      given: ['record'],
      request: 'nobody: POST /__flush__',
      status: 202,
      text: '{}',
      then: [
        { request: 'GET /buckets', body: { data: [] } },
        { request: 'GET {B}', status: 403 },
        { request: 'bob: PUT {B}', status: 201 },
        { request: 'bob: PUT {C}', status: 201 },
        { request: 'bob: GET {R}?_since=0', body: { data: [] } },
      ],
    },
    {
      name: 'Flush is no GET.',
      request: 'GET /__flush__',
      status: 405,
      errno: 115,
      gives: { allow: words('POST OPTIONS') },
    },
  ],
  { settings: { flush_endpoint_enabled: 'true' } },
);
