// Concurrent reviews, edits and reads of signed collections: one outcome, and signatures that always match the records.
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TestClient, TestResponse, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { createKeys, dataOf, isTrue, setStatus, userIdOf, type Changeset } from '../support/signing.ts';

const keys = createKeys();
afterAll(() => keys.remove());

const settings = {
  includes: 'changes signer',
  'signer.resources': '/buckets/staging -> /buckets/preview -> /buckets/main',
  'signer.to_review_enabled': 'true',
  ...keys.settings,
};
const source = '/buckets/staging/collections/c';

forEachBackend((backend) => {
  describe(`concurrent signing on ${backend.name}`, () => {
    let service: TestService;
    let editor: TestClient;
    let reviewers: readonly TestClient[];

    beforeEach(async () => {
      service = await backend.start({ settings });
      editor = service.asUser('editor');
      reviewers = ['r1', 'r2', 'r3'].map((name) => service.asUser(name));
      await editor.request('PUT', '/v1/buckets/staging');
      await createSource('c');
    });
    afterEach(() => service.close());

    async function createSource(id: string): Promise<void> {
      expect((await editor.request('PUT', `/v1/buckets/staging/collections/${id}`)).status).toBe(201);
      const members = await Promise.all(reviewers.map(userIdOf));
      await editor.request('PATCH', `/v1/buckets/staging/groups/${id}-reviewers`, { body: { data: { members } } });
    }

    const put = (id: string, n: number): ReturnType<TestClient['request']> =>
      editor.request('PUT', `/v1${source}/records/${id}`, { body: { data: { n } } });

    /** Reads and verifies changesets until stopped, and resolves to their number. */
    async function watch(bucket: string, isOver: () => boolean): Promise<number> {
      let seen = 0;
      while (!isOver()) {
        const response = await service.request('GET', `/v1/buckets/${bucket}/collections/c/changeset?_expected=0`);
        // A 503 asks for a retry, because the collection changed during each attempt.
        if (response.status === 409) continue;
        expect(response.status, response.text).toBe(200);
        const changeset = response.body as Changeset;
        expect(isTrue(changeset, keys.publicKey), response.text).toBe(true);
        seen++;
      }
      return seen;
    }

    it('one of several concurrent approvals succeeds.', async () => {
      for (let round = 0; round < 3; round++) {
        await put('a', round);
        expect((await setStatus(editor, source, 'to-review')).status).toBe(200);
        const answers = await Promise.all(reviewers.map((reviewer) => setStatus(reviewer, source, 'to-sign')));
        expect(sortedStatuses(answers)).toBe('200 400 400');
        expect(await dataOf(editor, source)).toMatchObject({ status: 'signed' });
      }
    });

    it('approval and rejection exclude each other.', async () => {
      for (let round = 0; round < 3; round++) {
        await put('a', round);
        await setStatus(editor, source, 'to-review');
        const [approval, rejection] = await Promise.all([
          setStatus(reviewers[0]!, source, 'to-sign'),
          setStatus(reviewers[1]!, source, 'work-in-progress'),
        ]);
        // A rejection after an approval starts new work.
        expect(rejection.status).toBe(200);
        expect(await dataOf(editor, source)).toMatchObject({ status: 'work-in-progress' });
        const { body } = await service.request('GET', '/v1/buckets/main/collections/c/records/a');
        const isPublished = (body as { data?: { n: number } }).data?.n === round;
        expect(approval.status).toBe(isPublished ? 200 : 400);
      }
    });

    it('concurrent readers always see records that match the signature.', async () => {
      let isOver = false;
      const watching = ['main', 'preview'].map((bucket) => watch(bucket, () => isOver));
      for (let round = 0; round < 6; round++) {
        await Promise.all([put('a', round), put(`b${round % 2}`, round)]);
        if (round % 2 === 1) await editor.request('DELETE', `/v1${source}/records/b0`);
        await setStatus(editor, source, 'to-review');
        const isEdited = round % 3 !== 0;
        const [approval, again, resigned, edit] = await Promise.all([
          setStatus(reviewers[0]!, source, 'to-sign'),
          setStatus(reviewers[1]!, source, 'to-sign'),
          setStatus(editor, source, 'to-resign'),
          isEdited ? put('late', round) : undefined,
        ]);
        expect([resigned.status, edit?.status ?? 200].every((status) => status < 300)).toBe(true);
        const statuses = sortedStatuses([approval, again]);
        // An edit before the approval requires another review.
        expect(isEdited ? ['200 400', '400 400'] : ['200 400']).toContain(statuses);
        const status = isEdited ? 'work-in-progress' : 'signed';
        expect(await dataOf(editor, source)).toMatchObject({ status });
      }
      await put('last', 0);
      await setStatus(editor, source, 'to-review');
      expect((await setStatus(reviewers[2]!, source, 'to-sign')).status).toBe(200);
      isOver = true;
      const seen = await Promise.all(watching);
      expect(Math.min(...seen)).toBeGreaterThan(5);
      const lists = ['staging', 'main'].map(async (bucket) => {
        const { body } = await editor.request('GET', `/v1/buckets/${bucket}/collections/c/records?_sort=id`);
        return (body as { data: { id: string; n: number }[] }).data.map(({ id, n }) => [id, n]);
      });
      const [inSource, inMain] = await Promise.all(lists);
      expect(inMain).toEqual(inSource);
    });

    it('many collections of one bucket are created, edited and signed concurrently.', async () => {
      const ids = Array.from({ length: 6 }, (_, index) => `m${index}`);
      await Promise.all(ids.map(createSource));
      const answers = await Promise.all(
        ids.map(async (id) => {
          const own = `/buckets/staging/collections/${id}`;
          await editor.request('PUT', `/v1${own}/records/r`, { body: { data: { title: id } } });
          await setStatus(editor, own, 'to-review');
          return setStatus(reviewers[0]!, own, 'to-sign');
        }),
      );
      expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200));
      for (const id of ids) {
        const response = await service.request('GET', `/v1/buckets/main/collections/${id}/changeset?_expected=0`);
        const changeset = response.body as Changeset;
        expect(changeset.changes).toMatchObject([{ id: 'r' }]);
        expect(isTrue(changeset, keys.publicKey)).toBe(true);
      }
    });
  });
});

function sortedStatuses(answers: readonly TestResponse[]): string {
  return answers
    .map(({ status }) => status)
    .toSorted((a, b) => a - b)
    .join(' ');
}
