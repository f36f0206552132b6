// How a service behaves without further settings where other tests have some: caching, slashes, order, flush.
import { absent, ids } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const open = '{"permissions":{"read":["system.Everyone"]}}';

describeScenarios('a service without further settings', [
  // Proves S-174.
  {
    name: 'Responses are not cached, for any caller.',
    given: [`PUT {B} ${open}`, 'PUT {C}', 'PUT {R}/x'],
    request: 'nobody: GET {B}',
    status: 200,
    gives: { 'cache-control': 'no-cache, no-store', expires: absent },
    then: ['nobody: GET {C}', 'nobody: GET {R}', 'nobody: GET {R}/x', 'nobody: HEAD {R}', 'GET {B}', 'GET {R}'].map(
      (request) => ({ request, gives: { 'cache-control': 'no-cache, no-store', expires: absent } }),
    ),
  },
  // Proves S-178.
  {
    name: 'A trailing slash redirects unless it is part of the path.',
    given: ['bucket'],
    request: 'GET /',
    status: 200,
    then: [
      { request: 'GET {B}/', status: 307, gives: { location: '{origin}/v1{B}' } },
      { request: 'GET {B}/collections/', status: 307, gives: { location: '{origin}/v1{B}/collections' } },
    ],
  },
  // Proves S-128, S-131, S-163.
  {
    name: 'Buckets, collections and groups are sorted by any attribute.',
    given: [
      'PUT {B} {"data":{"of":"{b}","k":2}}',
      'PUT {B}x {"data":{"of":"{b}","k":1}}',
      ...[3, 1, 2].flatMap((k) => [
        `PUT {B}/collections/n${k} {"data":{"k":${k}}}`,
        `PUT {G}/n${k} {"data":{"o":{"k":${k}}}}`,
      ]),
    ],
    request: 'GET /buckets?of="{b}"&_sort=k',
    body: { data: ids('{b}x {b}') },
    then: [
      { request: 'GET /buckets?of="{b}"&_sort=-k', body: { data: ids('{b} {b}x') } },
      { request: 'GET {B}/collections?_sort=-k', body: { data: ids('n3 n2 n1') } },
      { request: 'GET {G}?_sort=o.k', body: { data: ids('n1 n2 n3') } },
    ],
  },
]);

describeScenarios(
  'flush as a plugin',
  [
    // Proves S-094, S-147.
    {
      name: 'The plugin serves it without a setting, and announces it as a capability.',
      given: ['bucket'],
      request: 'POST /__flush__',
      status: 202,
      then: [
        { request: 'GET {B}', status: 403 },
        { request: 'GET /', body: { capabilities: { flush_endpoint: {} } } },
      ],
    },
  ],
  { settings: { includes: 'flush' } },
);

describeScenarios(
  'flush by its setting',
  [
    // Proves S-094, S-147.
    {
      name: 'The setting alone serves it, and announces it as a capability.',
      given: ['bucket'],
      request: 'POST /__flush__',
      status: 202,
      then: [{ request: 'GET /', body: { capabilities: { flush_endpoint: {} } } }],
    },
  ],
  { settings: { flush_endpoint_enabled: 'true' } },
);
