// Concurrent writers of one bucket: each change has its entry, the history causes no refusal, and polling clients miss
// nothing.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

interface Entry {
  readonly id: string;
  readonly uri: string;
  readonly action: string;
  readonly last_modified: number;
  readonly target: { readonly data: { readonly last_modified: number } };
}

interface BatchAnswer {
  readonly responses: readonly {
    readonly status: number;
    readonly path: string;
    readonly body: { readonly data: { readonly last_modified: number } };
  }[];
}

const writers = 8;
const places = ['b1/collections/c', 'b1/collections/d', 'b2/collections/c', 'b2/collections/d'];

forEachBackend((backend) => {
  describe(`concurrent writers of a history on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;

    beforeAll(async () => {
      service = await backend.start({ settings: { includes: 'history' } });
      alice = service.asUser('alice');
      for (const bucket of ['b1', 'b2']) await alice.request('PUT', `/v1/buckets/${bucket}`);
      for (const place of places) await alice.request('PUT', `/v1/buckets/${place}`);
    });
    afterAll(() => service.close());

    async function readHistory(bucket: string, query = '?_sort=last_modified'): Promise<readonly Entry[]> {
      const { body } = await alice.request('GET', `/v1/buckets/${bucket}/history${query}`);
      return (body as { data: readonly Entry[] }).data;
    }

    it('batches in opposite orders over lists and buckets succeed, and each change has its entry.', async () => {
      const expected: string[] = [];
      let isWriting = true;
      const seen = new Map<string, number>();
      const poll = async (): Promise<void> => {
        let since = '"0"';
        let isLast = false;
        for (;;) {
          const { headers, body } = await alice.request('GET', `/v1/buckets/b1/history?_since=${since}`);
          for (const { id, last_modified } of (body as { data: readonly Entry[] }).data) seen.set(id, last_modified);
          since = headers['etag'] ?? since;
          if (isLast) return;
          isLast = !isWriting;
        }
      };
      const polling = poll();
      const write = async (writer: number): Promise<void> => {
        const order = writer % 2 === 0 ? places : places.toReversed();
        const records = order.map((place) => `/buckets/${place}/records/w${writer}`);
        const requests = [
          ...records.map((path) => ({ method: 'PUT', path })),
          { method: 'PUT', path: `/buckets/b${1 + (writer % 2)}/groups/g${writer}` },
          ...records.map((path) => ({ method: 'PATCH', path, body: { data: { n: writer } } })),
          { method: 'DELETE', path: records[0]! },
        ];
        const { status, body } = await alice.request('POST', '/v1/batch', { body: { requests } });
        expect(status).toBe(200);
        for (const [index, response] of (body as BatchAnswer).responses.entries()) {
          expect(response.status).toBeLessThan(300);
          expected.push(`${requests[index]!.path} ${response.body.data.last_modified}`);
        }
        const single = await alice.request('POST', `/v1/buckets/${order[0]}/records`, {
          body: { data: { id: `s${writer}` } },
        });
        expect(single.status).toBe(201);
        const { data } = single.body as { data: { last_modified: number } };
        expected.push(`/buckets/${order[0]}/records/s${writer} ${data.last_modified}`);
      };
      await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
      isWriting = false;
      await polling;
      const entries = [...(await readHistory('b1')), ...(await readHistory('b2'))];
      const written = entries.filter(({ uri }) => /records|groups/.test(uri));
      const found = written.map(({ uri, target }) => `${uri} ${target.data.last_modified}`);
      expect(found.toSorted()).toEqual(expected.toSorted());
      const ofFirst = await readHistory('b1');
      expect(seen).toEqual(new Map(ofFirst.map(({ id, last_modified }) => [id, last_modified])));
      expect(new Set(ofFirst.map(({ last_modified }) => last_modified)).size).toBe(ofFirst.length);
    });

    it('deleting a bucket during writes leaves no entries.', async () => {
      const bucket = '/v1/buckets/brief';
      await alice.request('PUT', bucket);
      await alice.request('PUT', `${bucket}/collections/c`);
      const work = Array.from({ length: 12 }, (_, n) =>
        n === 6
          ? alice.request('DELETE', bucket)
          : alice.request('PUT', `${bucket}/collections/c/records/r${n}`, { body: { data: { n } } }),
      );
      const statuses = (await Promise.all(work)).map(({ status }) => status);
      expect(statuses.filter((status) => ![200, 201, 403, 404].includes(status))).toEqual([]);
      expect((await alice.request('PUT', bucket)).status).toBe(201);
      expect(await readHistory('brief')).toMatchObject([{ uri: '/buckets/brief', action: 'create' }]);
    });
  });
});
