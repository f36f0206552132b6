// Parents are deleted under constant writes below them. The deletion gets its lock, no write is refused because of it, and
// writers of a single list cause no serialization conflicts.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { definePlugin } from '../../src/http/plugin.ts';
import { type TestBackend, type TestClient, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { inExtent } from '../support/extent.ts';

const writers = 6;
const deletions = inExtent(3, 6);
const bucket = '/v1/buckets/busy';

/** With a subscriber, each change is a unit of work, which takes its locks before it reads. */
const listener = definePlugin({
  name: 'listener',
  setup: () => ({ subscribers: [{ name: 'all', on: 'ResourceChanged', handle: () => {} }] }),
});

forEachBackend((backend) => {
  describeDeletions(backend, true);
  // Other backends have no single-statement writes.
  if (backend.name === 'postgresql') describeDeletions(backend, false);
});

function describeDeletions(backend: TestBackend, hasSubscriber: boolean): void {
  describe(`deletions under writers ${hasSubscriber ? 'with a subscriber ' : ''}on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;

    beforeEach(async () => {
      const plugins = hasSubscriber ? [listener] : [];
      service = await backend.start({ plugins, settings: { includes: 'prometheus' } });
      alice = service.asUser('alice');
      await recreate();
    });
    afterEach(() => service.close());

    async function recreate(): Promise<void> {
      for (const path of ['', '/collections/a', '/collections/b', '/collections/c']) {
        const { status, text } = await alice.request('PUT', bucket + path);
        expect([200, 201], text).toContain(status);
      }
    }

    /** Requests that were run again, not counting writes that did not find what they had seen without a lock. */
    async function countRetries(): Promise<number> {
      if (!hasSubscriber) return 0;
      const { text } = await alice.request('GET', '/v1/__metrics__');
      // Absent as long as there was none.
      return Number(/^\w*transaction_retries\w* (\d+)$/m.exec(text)?.[1] ?? 0);
    }

    /** Deletes and makes again while each writer sends one request after the other: all find what they need, or nothing. */
    async function deleteAmong(
      paths: readonly string[],
      write: (writer: number, n: number) => Promise<readonly number[]>,
    ): Promise<void> {
      let isOver = false;
      const statuses = new Set<number>();
      const writing = Array.from({ length: writers }, async (_, writer) => {
        for (let n = 0; !isOver; n++) for (const status of await write(writer, n)) statuses.add(status);
      });
      try {
        for (let n = 0; n < deletions; n++) {
          const { status, text } = await alice.request('DELETE', bucket + paths[n % paths.length]!);
          expect(status, text).toBe(200);
          await recreate();
        }
      } finally {
        isOver = true;
        await Promise.all(writing);
      }
      expect(statuses).toContain(201);
      expect([...statuses].filter((status) => ![200, 201, 403, 404].includes(status))).toEqual([]);
    }

    it('A collection is deleted at the first attempt, despite concurrent writers of records.', async () => {
      await deleteAmong(['/collections/c'], async (writer, n) => {
        const path = `${bucket}/collections/c/records/${writer}-${n % 5}`;
        return [(await alice.request('PUT', path, { body: { data: { n } } })).status];
      });
      expect(await countRetries()).toBe(0);
    });

    it('A bucket is deleted at the first attempt, despite concurrent writers below it.', async () => {
      const lists = ['/collections', '/groups', '/collections/a/records', '/collections/b/records'];
      await deleteAmong([''], async (writer, n) => {
        const path = `${bucket}${lists[(writer + n) % lists.length]!}/${writer}`;
        return [(await alice.request('PUT', path, { body: { permissions: { read: ['system.Everyone'] } } })).status];
      });
      expect(await countRetries()).toBe(0);
    });

    it('Batches that write to several lists, in any order, and deletions of lists do not block each other.', async () => {
      await alice.request('PUT', `${bucket}-too`);
      const lists = ['/collections', '/groups', '-too/collections', '/collections/c/records', '/collections/a/records'];
      await deleteAmong(['/collections', ''], async (writer, n) => {
        const requests = lists.map((_, m) => ({
          method: 'PUT',
          path: `${bucket}${lists[(m * (1 + (writer % 4)) + n) % lists.length]!}/${writer}`,
        }));
        const { status, body } = await alice.request('POST', '/v1/batch', { body: { requests } });
        const { responses = [] } = body as { responses?: readonly { readonly status: number }[] };
        return [status, ...responses.map((response) => response.status)];
      });
    });
  });
}
