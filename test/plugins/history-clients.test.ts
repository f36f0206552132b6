// The history through kinto.js: the unmodified HTTP client of the package, against every backend.
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorizationOf, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

interface Entry {
  readonly action: string;
  readonly record_id?: string;
  readonly target: { readonly data: { readonly last_modified: number } };
}

interface Snapshot {
  readonly data: readonly { readonly id: string; readonly n?: number }[];
  readonly totalRecords: number;
}

interface Collection {
  updateRecord(record: object): Promise<{ readonly data: { readonly last_modified: number } }>;
  deleteRecord(id: string): Promise<unknown>;
  deleteRecords(): Promise<unknown>;
  listRecords(options: { readonly at: number }): Promise<Snapshot>;
  isHistoryComplete(): Promise<boolean>;
}

interface Bucket {
  createCollection(id: string): Promise<unknown>;
  collection(id: string): Collection;
  listHistory(options?: object): Promise<{ readonly data: readonly Entry[] }>;
}

interface Client {
  createBucket(id: string): Promise<unknown>;
  bucket(id: string): Bucket;
}

/** The package is CommonJS with the client as `default`. */
const { default: KintoClient } = createRequire(import.meta.url)('kinto/lib/cjs/http') as {
  readonly default: new (remote: string, options: object) => Client;
};

forEachBackend((backend) => {
  describe(`kinto.js with a history on ${backend.name}`, () => {
    let service: TestService;
    let bucket: Bucket;
    let collection: Collection;

    beforeAll(async () => {
      service = await backend.start({ settings: { includes: 'history', paginate_by: '5' } });
      const client = new KintoClient(`${service.origin}/v1`, { headers: { Authorization: authorizationOf('alice') } });
      await client.createBucket('b');
      bucket = client.bucket('b');
      await bucket.createCollection('c');
      collection = bucket.collection('c');
    });
    afterAll(() => service.close());

    it('lists entries, filtered, sorted and across pages.', async () => {
      for (let n = 0; n < 8; n++) await collection.updateRecord({ id: `r${n % 4}`, n });
      expect(await collection.isHistoryComplete()).toBe(true);
      const filters = { resource_name: 'record', collection_id: 'c' };
      const { data } = await bucket.listHistory({ pages: Infinity, sort: 'last_modified', filters });
      expect(data.map(({ record_id }) => record_id)).toEqual(['r0', 'r1', 'r2', 'r3', 'r0', 'r1', 'r2', 'r3']);
      expect((await bucket.listHistory({ pages: 3 })).data).toHaveLength(10);
    });

    it('reads snapshots, with an entry for every record of a deleted list.', async () => {
      const { data } = await collection.updateRecord({ id: 'last', n: 1 });
      await collection.deleteRecord('r0');
      await collection.deleteRecords();
      const snapshot = await collection.listRecords({ at: data.last_modified });
      expect(snapshot.data.map(({ id, n }) => `${id}:${n}`)).toEqual(['last:1', 'r3:7', 'r2:6', 'r1:5', 'r0:4']);
      expect(snapshot.totalRecords).toBe(5);
      const filters = { action: 'delete', resource_name: 'record' };
      const deletions = await bucket.listHistory({ pages: Infinity, filters });
      expect(deletions.data.map(({ record_id = '' }) => record_id).toSorted()).toEqual([
        'last',
        'r0',
        'r1',
        'r2',
        'r3',
      ]);
      expect(await collection.listRecords({ at: Date.now() + 100_000 })).toMatchObject({ data: [] });
      await expect(bucket.collection('none').listRecords({ at: data.last_modified })).rejects.toThrow('404');
    });
  });
});
