// Many requests at the same time: no change is lost to a client that polls, none is refused
// because of another, and of several conditional writers exactly one wins.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestClient, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

interface Objects {
  readonly data: readonly { readonly id: string; readonly last_modified: number; readonly deleted?: boolean }[];
}

forEachBackend((backend) => {
  describe(`simultaneous requests on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;
    let count = 0;

    beforeAll(async () => {
      service = await backend.start();
      alice = service.asUser('alice');
    });
    afterAll(() => service.close());

    /** The list of records of a fresh collection. */
    async function createRecords(): Promise<string> {
      const bucket = `/v1/buckets/b${(count += 1)}`;
      await alice.request('PUT', bucket);
      await alice.request('PUT', `${bucket}/collections/c`);
      return `${bucket}/collections/c/records`;
    }

    it('All creations get 201 and distinct timestamps.', async () => {
      const records = await createRecords();
      const responses = await together(40, () => alice.request('POST', records, { body: { data: {} } }));
      expect(statuses(responses)).toEqual({ 201: 40 });
      expect(new Set(responses.map(({ headers }) => headers['etag'])).size).toBe(40);
      expect((await alice.request('HEAD', records)).headers['total-objects']).toBe('40');
    });

    it('Of many writers with the same precondition exactly one succeeds.', async () => {
      const records = await createRecords();
      const created = await alice.request('PUT', `${records}/x`, { body: { data: { n: -1 } } });
      const headers = { 'If-Match': created.headers['etag'] ?? '' };
      const responses = await together(20, (n) =>
        alice.request('PUT', `${records}/x`, { headers, body: { data: { n } } }),
      );
      expect(statuses(responses)).toEqual({ 200: 1, 412: 19 });
    });

    it('Of many creators of one id exactly one succeeds.', async () => {
      const records = await createRecords();
      const headers = { 'If-None-Match': '*' };
      const responses = await together(20, (n) =>
        alice.request('PUT', `${records}/x`, { headers, body: { data: { n } } }),
      );
      expect(statuses(responses)).toEqual({ 201: 1, 412: 19 });
    });

    it('Of many deletions of one object exactly one succeeds.', async () => {
      const records = await createRecords();
      await alice.request('PUT', `${records}/x`);
      expect(statuses(await together(10, () => alice.request('DELETE', `${records}/x`)))).toEqual({ 200: 1, 404: 9 });
    });

    it('Many patches of one object lose nothing.', async () => {
      const records = await createRecords();
      await alice.request('PUT', `${records}/x`);
      const responses = await together(20, (n) =>
        alice.request('PATCH', `${records}/x`, { body: { data: { [`k${n}`]: n } } }),
      );
      expect(statuses(responses)).toEqual({ 200: 20 });
      const { body } = await alice.request('GET', `${records}/x`);
      expect(Object.keys((body as { data: object }).data)).toHaveLength(22);
    });

    it('Many first uses of a list agree on its timestamp.', async () => {
      const records = await createRecords();
      const responses = await together(10, () => alice.request('GET', records));
      expect(new Set(responses.map(({ headers }) => headers['etag'])).size).toBe(1);
    });

    it('A client that polls while single requests and batches write gets every change.', async () => {
      const records = await createRecords();
      let isWriting = true;
      const seen = new Map<string, number>();
      const poll = async (): Promise<void> => {
        let since = '"0"';
        let isLast = false;
        for (;;) {
          const response = await alice.request('GET', `${records}?_since=${since}&_sort=last_modified`);
          for (const { id, last_modified } of (response.body as Objects).data) seen.set(id, last_modified);
          since = response.headers['etag'] ?? since;
          if (isLast) return;
          isLast = !isWriting;
        }
      };
      const polling = poll();
      await together(12, async (n) => {
        const path = records.slice('/v1'.length);
        const requests = Array.from({ length: 10 }, (_, index) => ({ method: 'PUT', path: `${path}/w${n}-${index}` }));
        if (n % 2 === 0) await alice.request('POST', '/v1/batch', { body: { requests } });
        else for (const { method, path: target } of requests) await alice.request(method, `/v1${target}`);
      });
      isWriting = false;
      await polling;
      const { body } = await alice.request('GET', records);
      const stored = new Map((body as Objects).data.map(({ id, last_modified }) => [id, last_modified]));
      expect(stored.size).toBe(120);
      expect(seen).toEqual(stored);
    });

    it('Writers of groups and readers through groups do not block each other.', async () => {
      const bucket = `/v1/buckets/b${(count += 1)}`;
      await alice.request('PUT', bucket);
      const responses = await together(20, (n) =>
        n % 2 === 0
          ? alice.request('PUT', `${bucket}/groups/g`, { body: { data: { members: [`basicauth:${n}`] } } })
          : alice.request('GET', `${bucket}/groups`),
      );
      expect(responses.filter(({ status }) => status >= 300)).toEqual([]);
    });
  });
});

/** Starts all at once and waits for all. */
function together<T>(times: number, task: (index: number) => Promise<T>): Promise<readonly T[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => task(index)));
}

function statuses(responses: readonly TestResponse[]): Readonly<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
