// An authorization policy that hides objects hides the history that shows them, from all ways to read it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AccessQuestion, AuthorizationPolicy } from '../../../src/engine/access.ts';
import type { TestClient, TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';

let decide: AuthorizationPolicy['decide'];
const authorization: AuthorizationPolicy = { decide: (question) => decide(question) };

/** Refuses what the condition is true for, and returns the decision of entries otherwise. */
function hide(isHidden: (question: AccessQuestion) => boolean): void {
  decide = (question) => !isHidden(question) && question.byDefault();
}

forEachBackend((backend) => {
  describe(`the history with an authorization policy on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;
    const path = '/v1/buckets/b/history';

    beforeAll(async () => {
      hide(() => false);
      const settings = { includes: 'history', explicit_permissions: 'true' };
      service = await backend.start({ authorization, settings });
      alice = service.asUser('alice');
      for (const bucket of ['b', 'c']) {
        await alice.request('PUT', `/v1/buckets/${bucket}`);
        for (const collection of ['open', 'secret']) {
          await alice.request('PUT', `/v1/buckets/${bucket}/collections/${collection}`);
          await alice.request('PUT', `/v1/buckets/${bucket}/collections/${collection}/records/r`);
        }
      }
    });
    afterAll(() => service.close());
    beforeEach(() => hide(() => false));

    const statusOf = async (method: string, target = path): Promise<number> =>
      (await alice.request(method, target)).status;

    it('is read as far as entries and the policy allow.', async () => {
      expect(await statusOf('GET')).toBe(200);
      expect((await service.asUser('bob').request('GET', path)).status).toBe(403);
      hide(({ kind }) => kind === 'history');
      expect(await statusOf('GET')).toBe(403);
    });

    it.each<readonly [string, (question: AccessQuestion) => boolean]>([
      ['lists of records', ({ kind, on, permission }) => kind === 'record' && on === 'list' && permission !== 'create'],
      ['the records of one collection', ({ kind, ids }) => kind === 'record' && ids['collection_id'] === 'secret'],
      ['the list of collections', ({ kind, on }) => kind === 'collection' && on === 'list'],
      ['the list of groups', ({ kind, on }) => kind === 'group' && on === 'list'],
      ['the bucket', ({ kind, on }) => kind === 'bucket' && on === 'object'],
    ])('is refused when the policy refuses %s.', async (_what, isHidden) => {
      hide((question) => question.ids['bucket_id'] === 'b' && isHidden(question));
      expect(await statusOf('GET')).toBe(403);
      expect(await statusOf('HEAD')).toBe(403);
      expect(await statusOf('GET', `${path}?_live=wait&_since=0`)).toBe(403);
      expect(await statusOf('DELETE', `${path}?target.data.id=r`)).toBe(403);
      expect(await statusOf('GET', '/v1/buckets/c/history')).toBe(200);
    });

    it('is refused for the records of a deleted collection too.', async () => {
      await alice.request('DELETE', '/v1/buckets/b/collections/secret');
      expect(await statusOf('GET')).toBe(200);
      hide(({ kind, ids }) => kind === 'record' && ids['collection_id'] === 'secret');
      expect(await statusOf('GET')).toBe(403);
    });
  });
});
