// Indexes that are declared while the first records of a list, or further ones, are written.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

const bucket = '/v1/buckets/b';
const writers = 6;

forEachBackend((backend) => {
  describe(`indexes that are declared under writers on ${backend.name}`, () => {
    let service: TestService;
    beforeEach(async () => {
      service = await backend.start();
      await send('PUT', bucket);
    });
    afterEach(() => service.close());

    const send = (method: string, path: string, data?: unknown): Promise<TestResponse> =>
      service.request(method, path, { auth: 'alice', ...(data === undefined ? {} : { body: { data } }) });

    const stateOf = async (collection: string): Promise<unknown> => {
      const { body } = await send('GET', `${collection}/indexes`);
      return (body as { data: { state: string }[] }).data[0]?.state;
    };

    /** Writes records one by one and in batches, declares a unique index meanwhile, and writes each value again. */
    async function declareUnderWriters(collection: string): Promise<void> {
      const records = `${collection}/records`;
      const inBatch = Array.from({ length: writers }, (_, n) => ({
        method: 'PUT',
        path: `${records}/b${n}`,
        body: { data: { e: `b${n}` } },
      }));
      const write = (n: number): Promise<TestResponse> => send('PUT', `${records}/r${n}`, { e: `r${n}` });
      const writing = Array.from({ length: writers }, (_, n) => n).map(write);
      const declaring = send('PATCH', collection, { indexes: [{ fields: ['e'], unique: true }] });
      const batch = service.request('POST', '/v1/batch', { auth: 'alice', body: { requests: inBatch } });
      const later = Array.from({ length: writers }, (_, n) => write(writers + n));
      expect((await declaring).status).toBe(200);
      expect((await batch).status).toBe(200);
      for (const { status } of await Promise.all([...writing, ...later])) expect(status).toBe(201);
      await expect.poll(() => stateOf(collection), { timeout: 30_000 }).toBe('ready');
      for (let n = 0; n < 2 * writers; n++) {
        expect((await send('PUT', `${records}/again-${n}`, { e: `r${n}` })).status, `r${n}`).toBe(409);
      }
      for (let n = 0; n < writers; n++) {
        expect((await send('PUT', `${records}/again-${n}`, { e: `b${n}` })).status, `b${n}`).toBe(409);
      }
    }

    it('have the keys of all records of new lists', { timeout: 60_000 }, async () => {
      for (let n = 0; n < 8; n++) {
        await send('PUT', `${bucket}/collections/c${n}`);
        await declareUnderWriters(`${bucket}/collections/c${n}`);
      }
    });

    it('have the keys of all records of lists with records', { timeout: 60_000 }, async () => {
      for (let n = 0; n < 8; n++) {
        await send('PUT', `${bucket}/collections/c${n}`);
        await send('PUT', `${bucket}/collections/c${n}/records/first`, { e: 'first' });
        await declareUnderWriters(`${bucket}/collections/c${n}`);
      }
    });
  });
});
