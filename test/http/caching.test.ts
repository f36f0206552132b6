// Cache headers (docs/reference/http-api/README.md#caching).
import { absent } from './match.ts';
import { samplePlugin } from './sample-plugin.ts';
import { describeScenarios } from './scenarios.ts';

const expired = {
  'cache-control': 'max-age=0, must-revalidate, no-cache, no-store',
  expires: /GMT$/,
  pragma: 'no-cache',
};

describeScenarios(
  'cache headers',
  [
    // Proves S-176.
    {
      name: 'Authenticated responses are not cached.',
      given: ['bucket'],
      request: 'GET {B}',
      gives: { 'cache-control': 'no-cache, no-store', expires: absent },
    },
    // Proves S-175.
    {
      name: 'Anonymous responses can be cached.',
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
      name: 'A collection with 0 makes its records expire at once.',
      given: ['PUT /buckets/odd {"permissions":{"read":["system.Everyone"]}}'],
      request: 'PUT /buckets/odd/collections/c {"data":{"cache_expires":0}}',
      then: [
        { request: 'PUT /buckets/odd/collections/c/records/r' },
        ...['', '/r'].map((id) => ({
          request: `nobody: GET /buckets/odd/collections/c/records${id}`,
          gives: expired,
        })),
        {
          request: 'GET /buckets/odd/collections/c/records',
          gives: { 'cache-control': 'no-cache, no-store', expires: absent, pragma: absent },
        },
      ],
    },
    {
      name: 'A bucket whose setting is 0 makes its records expire at once.',
      given: ['PUT /buckets/zero {"permissions":{"read":["system.Everyone"]}}', 'PUT /buckets/zero/collections/c'],
      request: 'nobody: GET /buckets/zero/collections/c/records',
      gives: expired,
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
      name: 'A collection may set a longer lifetime.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}', 'PUT {C} {"data":{"cache_expires":45}}'],
      request: 'nobody: GET {R}',
      gives: { 'cache-control': 'max-age=45' },
    },
    {
      name: 'A collection cannot set a shorter lifetime.',
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
      'odd.record_cache_expires_seconds': '0',
      'zero.record_cache_expires_seconds': '0',
      'cachedb.record_cache_expires_seconds': '40',
      'cachedb.news.record_cache_expires_seconds': '50',
    },
  },
);

describeScenarios(
  'cache headers of kinds from plugins',
  [
    {
      name: 'The setting of the kind applies.',
      given: [{ request: 'POST /articles {"permissions":{"read":["system.Everyone"]}}', save: 'x' }],
      request: 'nobody: GET /articles/{x.id}',
      gives: { 'cache-control': 'max-age=90', expires: /GMT$/, pragma: absent },
      then: [{ request: 'nobody: GET /articles', gives: { 'cache-control': 'max-age=90', expires: /GMT$/ } }],
    },
    {
      name: 'Authenticated responses are not cached.',
      request: 'GET /articles',
      gives: { 'cache-control': 'no-cache, no-store', expires: absent },
    },
  ],
  {
    plugins: [samplePlugin],
    settings: { article_cache_expires_seconds: '90', article_create_principals: 'system.Authenticated' },
  },
);
