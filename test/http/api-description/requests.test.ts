// The Swagger document lets clients find faults of a request before they send it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDescribedService, type DescribedService } from './described-service.ts';
import { Contradiction, requireValidRequest, type Values } from './swagger-client.ts';

const entry = { method: 'GET', path: '/buckets/b1' };

/** Name, tag, operation, and the values that it must not take. */
const refused: readonly (readonly [name: string, tag: string, id: string, values: readonly Values[]])[] = [
  ['a bucket without its id', 'Buckets', 'get_bucket', [{}]],
  ['a list of groups without a bucket', 'Groups', 'get_groups', [{}]],
  ['a group without all ids', 'Groups', 'get_group', [{}, { path: { bucket_id: 'b1' } }, { path: { id: 'g1' } }]],
  ['a list of collections without a bucket', 'Collections', 'get_collections', [{}]],
  [
    'a collection without all ids',
    'Collections',
    'get_collection',
    [{}, { path: { bucket_id: 'b1' } }, { path: { id: 'c1' } }],
  ],
  [
    'a list of records without all ids',
    'Records',
    'get_records',
    [{}, { path: { bucket_id: 'b1' } }, { path: { collection_id: 'c1' } }],
  ],
  [
    'a record without all ids',
    'Records',
    'get_record',
    [{}, { path: { bucket_id: 'b1', collection_id: 'c1' } }, { path: { id: 'r1' } }],
  ],
  ['attributes that are no object', 'Buckets', 'create_bucket', [{ body: { data: 'text' } }]],
  [
    'permissions that are no lists of texts',
    'Buckets',
    'create_bucket',
    [
      { body: { permissions: 'text' } },
      { body: { permissions: { read: 'text' } } },
      { body: { permissions: { read: [111] } } },
      { body: { permissions: { fly: ['system.Everyone'] } } },
    ],
  ],
  [
    'parameters of other types',
    'Buckets',
    'get_buckets',
    [
      { query: { _since: 'abc' } },
      { query: { _before: 'abc' } },
      { query: { _limit: 'abc' } },
      { query: { _token: {} } },
    ],
  ],
  [
    'preconditions without quotes',
    'Buckets',
    'get_buckets',
    [{ headers: { 'If-None-Match': '123' } }, { headers: { 'If-Match': '123' } }],
  ],
  ['a batch with an unknown method', 'Batch', 'batch', [{ body: { requests: [{ ...entry, method: 'ABC' }] } }]],
  ['a batch with a path that is no text', 'Batch', 'batch', [{ body: { requests: [{ ...entry, path: 123 }] } }]],
  ['a batch with a body that is no object', 'Batch', 'batch', [{ body: { requests: [{ ...entry, body: [] }] } }]],
  ['a batch with headers that are no object', 'Batch', 'batch', [{ body: { requests: [{ ...entry, headers: [] }] } }]],
  ['a batch with defaults that are no object', 'Batch', 'batch', [{ body: { defaults: [], requests: [entry] } }]],
  [
    'a batch with an unknown method by default',
    'Batch',
    'batch',
    [{ body: { defaults: { method: 'ABC' }, requests: [entry] } }],
  ],
  [
    'a batch with a body by default that is no object',
    'Batch',
    'batch',
    [{ body: { defaults: { body: [] }, requests: [entry] } }],
  ],
  [
    'a batch with headers by default that are no object',
    'Batch',
    'batch',
    [{ body: { defaults: { headers: [] }, requests: [entry] } }],
  ],
];

describe('the parameters of the Swagger document', () => {
  let described: DescribedService;

  beforeAll(async () => {
    described = await startDescribedService();
  });
  afterAll(() => described.service.close());

  it.each(refused)('exclude %s', (_name, tag, id, cases) => {
    const operation = described.client.operation(tag, id);
    for (const values of cases) {
      expect(() => requireValidRequest(operation, values), JSON.stringify(values)).toThrow(Contradiction);
    }
  });

  it('allow what the service accepts', () => {
    const { client } = described;
    const list = client.operation('Buckets', 'get_buckets');
    requireValidRequest(list, {
      query: {
        _since: '123',
        _before: '456',
        _limit: '10',
        _token: 'abc',
        _sort: '-last_modified,id',
        _fields: 'a,b.c',
      },
      headers: { 'If-None-Match': '"123"', 'If-Match': '*' },
    });
    requireValidRequest(client.operation('Buckets', 'create_bucket'), {
      body: { data: { color: 'red' }, permissions: { read: ['system.Everyone'] } },
    });
    requireValidRequest(client.operation('Batch', 'batch'), {
      body: { defaults: { method: 'PUT', headers: { 'If-None-Match': '*' } }, requests: [{ path: '/buckets/b1' }] },
    });
  });
});
