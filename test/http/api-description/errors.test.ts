// Every error and every 304 of a kind is a response that the Swagger document declares for the operation.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestRequest } from '../../../src/testing/index.ts';
import { addresses, auth, createObjects, startDescribedService, type DescribedService } from './described-service.ts';
import { requireValidResponse } from './swagger-client.ts';

interface Case {
  readonly tag: 'Buckets' | 'Collections';
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Receives the current timestamp of the bucket. */
  readonly send?: (timestamp: number) => TestRequest;
}

const bucket = addresses.bucket;
const absent = `${bucket}/collections/absent`;
const stranger = (): TestRequest => ({ auth: 'eve' });
const html = (): TestRequest => ({ auth, headers: { Accept: 'text/html' } });
const quoted = (header: string, difference: number) => (timestamp: number) => ({
  auth,
  headers: { [header]: `"${timestamp + difference}"` },
});
const unquoted = (header: string) => (): TestRequest => ({ auth, headers: { [header]: 'abc' } });
const withBody = (send: (timestamp: number) => TestRequest) => (timestamp: number) => ({
  ...send(timestamp),
  body: {},
});
const known = (): TestRequest => ({ auth });

const onBucket = { tag: 'Buckets', path: bucket } as const;
const reading = { ...onBucket, operation: 'get_bucket', method: 'GET' } as const;
const replacing = { ...onBucket, operation: 'update_bucket', method: 'PUT' } as const;
const patching = { ...onBucket, operation: 'patch_bucket', method: 'PATCH' } as const;
const deleting = { ...onBucket, operation: 'delete_bucket', method: 'DELETE' } as const;
const listing = { tag: 'Buckets', operation: 'get_buckets', method: 'GET', path: '/v1/buckets' } as const;
const clearing = { tag: 'Buckets', operation: 'delete_buckets', method: 'DELETE', path: '/v1/buckets' } as const;
const collections = { tag: 'Collections', path: `${bucket}/collections` } as const;

const wrongType = (): TestRequest => ({ auth, raw: '{}', headers: { 'Content-Type': 'text/html' } });
const wrongShape = (): TestRequest => ({ auth, body: [] });

const cases: readonly Case[] = [
  { ...reading, status: 304, send: quoted('If-None-Match', 0) },
  { ...reading, status: 400, send: unquoted('If-None-Match') },
  { ...reading, status: 401 },
  { ...reading, status: 403, send: stranger },
  { ...reading, tag: 'Collections', operation: 'get_collection', path: absent, status: 404, send: known },
  { ...reading, status: 406, send: html },
  { ...reading, status: 412, send: quoted('If-Match', -1) },
  { ...replacing, status: 400, send: wrongShape },
  { ...replacing, status: 401, send: () => ({ body: {} }) },
  { ...replacing, status: 403, send: withBody(stranger) },
  { ...replacing, status: 406, send: withBody(html) },
  { ...replacing, status: 412, send: withBody(quoted('If-Match', -1)) },
  { ...replacing, status: 415, send: wrongType },
  { ...patching, status: 400, send: wrongShape },
  { ...patching, status: 401, send: () => ({ body: {} }) },
  { ...patching, status: 403, send: withBody(stranger) },
  {
    ...patching,
    tag: 'Collections',
    operation: 'patch_collection',
    path: absent,
    status: 404,
    send: () => ({ auth, body: { data: {} } }),
  },
  { ...patching, status: 406, send: withBody(html) },
  { ...patching, status: 412, send: (timestamp) => ({ ...quoted('If-Match', -1)(timestamp), body: { data: {} } }) },
  { ...patching, status: 415, send: wrongType },
  { ...deleting, status: 400, send: unquoted('If-Match') },
  { ...deleting, status: 401 },
  { ...deleting, status: 403, send: stranger },
  { ...deleting, tag: 'Collections', operation: 'delete_collection', path: absent, status: 404, send: known },
  { ...deleting, status: 406, send: html },
  { ...deleting, status: 412, send: quoted('If-Match', -1) },
  { ...listing, status: 304, send: quoted('If-None-Match', 0) },
  { ...listing, path: `${listing.path}?_since=abc`, status: 400, send: known },
  { ...listing, status: 401 },
  { ...listing, ...collections, operation: 'get_collections', status: 403, send: stranger },
  { ...listing, status: 406, send: html },
  { ...listing, status: 412, send: quoted('If-Match', -1) },
  { ...clearing, status: 401 },
  { ...clearing, ...collections, operation: 'delete_collections', status: 403, send: stranger },
  { ...clearing, status: 406, send: html },
  { ...clearing, status: 412, send: quoted('If-Match', -1) },
];

describe('errors', () => {
  let described: DescribedService;
  let timestamp = 0;

  beforeAll(async () => {
    described = await startDescribedService();
    await createObjects(described.service);
    const { headers } = await described.service.request('GET', bucket, { auth });
    timestamp = Number(headers['etag']?.replaceAll('"', ''));
  });
  afterAll(() => described.service.close());

  it.each(cases)('are declared: $status of $operation', async ({ tag, operation, method, path, status, send }) => {
    const { service, client } = described;
    const response = await service.request(method, path, send?.(timestamp));
    expect(response.status, response.text).toBe(status);
    requireValidResponse(client.operation(tag, operation), response);
  });

  it('have a response for every other status', () => {
    const { client } = described;
    for (const tag of client.tags) {
      for (const { id, responses } of client.resource(tag).values()) {
        expect([id, Object.keys(responses)]).toEqual([id, expect.arrayContaining(['default'])]);
      }
    }
  });
});
