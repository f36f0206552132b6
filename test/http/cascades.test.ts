// What goes along when a parent is deleted, and what stays (docs/reference/http-api/objects.md#cascades).
import { ids, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const far = 9_000_000_000_000;

describeScenarios('cascades', [
  // Proves S-103.
  {
    name: 'The deletion of a collection deletes its records and tombstones.',
    given: ['record', 'PUT {R}/s', 'DELETE {R}/s', 'DELETE {C}', 'PUT {C}'],
    request: 'GET {R}?_since=0',
    body: { data: [] },
  },
  {
    name: 'The deletion of a collection deletes the permissions of its records.',
    given: ['collection', 'PUT {R}/r {"permissions":{"read":["{bob}"]}}', 'DELETE {C}', 'PUT {C}', 'PUT {R}/r'],
    request: 'bob: GET {R}/r',
    status: 403,
  },
  // Proves S-003, S-104.
  {
    name: 'The deletion of a bucket deletes everything below it.',
    given: ['record', 'PUT {G}/g {"data":{"members":["{bob}"]}}', 'DELETE {B}', 'PUT {B}'],
    request: 'GET {B}/collections?_since=0',
    body: { data: [] },
    then: [
      { request: 'GET {G}?_since=0', body: { data: [] } },
      'PUT {C}',
      { request: 'GET {R}?_since=0', body: { data: [] } },
    ],
  },
  {
    name: 'The list of buckets shows no tombstones to callers who see it through single buckets.',
    given: ['record', 'DELETE {B}', 'PUT {B}x'],
    request: 'GET /buckets?_since=0',
    body: { data: [{ id: '{b}x' }] },
  },
  // Proves S-104.
  {
    name: 'The deletion of a bucket deletes the memberships in its groups.',
    given: [
      'PUT {B}',
      'PUT {G}/g {"data":{"members":["{bob}"]}}',
      'DELETE {B}',
      'PUT {B} {"permissions":{"read":["{G}/g"]}}',
      'PUT {G}/g',
    ],
    request: 'bob: GET {B}',
    status: 403,
  },
  {
    name: 'The deletion of a bucket with an underscore does not affect buckets that match it as a pattern.',
    given: [
      'PUT {B}_b',
      'PUT {B}xb',
      'PUT {B}xb/collections/c',
      'PUT {B}xb/collections/c/records/r {"permissions":{"read":["{bob}"]}}',
      'DELETE {B}_b',
    ],
    request: 'GET {B}xb/collections/c/records',
    body: { data: ids('r') },
    then: [{ request: 'bob: GET {B}xb/collections/c/records/r', status: 200 }],
  },
  {
    name: 'The deletion of a bucket does not affect buckets whose ids begin with its id.',
    given: ['bucket', 'PUT {B}1', 'PUT {B}1/collections/c', 'DELETE {B}'],
    request: 'GET {B}1/collections',
    body: { data: ids('c') },
  },
  {
    name: 'The clock of a list outlives its parent.',
    given: ['collection', `PUT {R}/x {"data":{"last_modified":${far}}}`, 'DELETE {C}', 'PUT {C}'],
    request: 'GET {R}',
    gives: { etag: `"${far + 1}"` },
    then: [{ request: 'PUT {R}/x', gives: { etag: `"${far + 2}"` } }],
  },
  {
    name: 'The clock of an empty list keeps its value.',
    given: ['collection', { request: 'GET {R}', save: 'x' }, 'DELETE {C}', 'PUT {C}'],
    request: 'GET {R}',
    gives: { etag: '{x.etag}' },
  },
  // Proves S-104.
  {
    name: 'Members of a deleted group lose its principal.',
    given: ['PUT {B} {"permissions":{"read":["{G}/g"]}}', 'PUT {G}/g {"data":{"members":["{bob}"]}}', 'DELETE {G}/g'],
    request: 'bob: GET {B}',
    status: 403,
  },
  {
    name: 'A list of groups can be deleted.',
    given: ['bucket', 'PUT {G}/g', 'PUT {G}/h {"data":{"members":["{bob}"]}}'],
    request: 'DELETE {G}',
    body: { data: unordered({ id: 'g' }, { id: 'h' }) },
    then: [
      {
        request: 'bob: GET /',
        body: { user: { principals: unordered('{bob}', 'system.Everyone', 'system.Authenticated') } },
      },
    ],
  },
]);

describeScenarios(
  'cascades beyond a page',
  [
    {
      name: 'A cascade is complete whatever the size of a page.',
      given: ['collection', ...Array.from({ length: 8 }, (_, index) => `PUT {R}/r${index}`), 'DELETE {C}', 'PUT {C}'],
      request: 'GET {R}',
      body: { data: [] },
    },
  ],
  { settings: { storage_max_fetch_size: '3' } },
);
