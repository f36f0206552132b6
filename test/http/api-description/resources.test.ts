// Every operation of a tag can be called with what the Swagger document says about it, and keeps its word.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addresses, auth, createObjects, pathOf, smallest, startDescribedService, tagOf } from './described-service.ts';
import type { DescribedService, KindName } from './described-service.ts';

describe('the operations of the Swagger document', () => {
  let described: DescribedService;

  beforeAll(async () => {
    described = await startDescribedService();
  });
  beforeEach(() => createObjects(described.service));
  afterAll(() => described.service.close());

  it('have the tags that existing clients name their methods by', () => {
    expect(described.client.tags).toEqual(
      expect.arrayContaining(['Buckets', 'Groups', 'Collections', 'Records', 'Batch', 'Utilities', 'History']),
    );
    expect(described.client.tags).toContain('User-datas');
  });

  it('work for utilities', async () => {
    const { client } = described;
    const operations = [...client.resource('Utilities').values()];
    expect(operations.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['server_info', '__heartbeat__', '__lbheartbeat__', '__version__', 'contribute']),
    );
    for (const operation of operations) {
      const { status } = await client.call(operation, {}, { auth });
      expect([operation.id, status]).toEqual([operation.id, 200]);
    }
  });

  it('work for batches', async () => {
    const { client } = described;
    const operations = [...client.resource('Batch').values()];
    expect(operations.map(({ id }) => id)).toEqual(['batch']);
    const body = { defaults: { method: 'POST' }, requests: [{ path: '/v1/buckets' }] };
    const { status } = await client.call(operations[0]!, { body }, { auth });
    expect(status).toBe(200);
  });

  it.each([
    ['bucket', { data: { color: 'red' } }],
    ['group', smallest.group],
    ['collection', { data: { color: 'red' } }],
    ['record', smallest.record],
  ] as const)('work for each %s', async (kind: KindName, body) => {
    const { client, service } = described;
    const operations = [...client.resource(tagOf(kind)).values()];
    expect(operations.map(({ id }) => id).toSorted()).toEqual(
      [
        `get_${kind}s`,
        `create_${kind}`,
        `delete_${kind}s`,
        `get_${kind}`,
        `update_${kind}`,
        `patch_${kind}`,
        `delete_${kind}`,
      ].toSorted(),
    );
    for (const operation of operations) {
      await service.request('PUT', addresses[kind], { auth, body: smallest[kind] });
      const { status } = await client.call(operation, { path: pathOf[kind], body }, { auth });
      expect([operation.id, [200, 201].includes(status)]).toEqual([operation.id, true]);
    }
  });

  it.each(['get_history', 'delete_history'])('work for the history: %s', async (id) => {
    const { client } = described;
    const operation = client.operation('History', id);
    const { status } = await client.call(operation, { path: { bucket_id: 'b1' } }, { auth });
    expect(status).toBe(200);
  });
});
