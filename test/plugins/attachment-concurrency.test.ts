// Uploads whose record is created or deleted between the check and the write. Preconditions apply to the state at the time
// of the write.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuthorizationPolicy } from '../../src/engine/access.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { FileFolder, upload } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';

const record = '/buckets/b/collections/c/records/r';

forEachBackend((backend) => {
  describe(`An upload on ${backend.name}`, () => {
    let folder: FileFolder;
    let service: TestService;
    let alice: TestClient;
    let meanwhile: (() => Promise<unknown>) | undefined;
    let asked = 0;

    const authorization: AuthorizationPolicy = {
      // The permission is checked before the form is read, after it, and when the record is written.
      async decide({ kind, permission, byDefault }) {
        if (kind === 'record' && permission === 'create') asked++;
        const run = meanwhile;
        if (asked === 3 && run !== undefined) {
          meanwhile = undefined;
          await run();
        }
        return byDefault();
      },
    };

    beforeEach(async () => {
      meanwhile = undefined;
      asked = 0;
      folder = await FileFolder.create();
      const settings = { includes: 'attachments', 'attachment.base_path': folder.path };
      service = await backend.start({ settings, authorization });
      alice = service.asUser('alice');
      for (const path of ['/buckets/b', '/buckets/b/collections/c']) await alice.request('PUT', `/v1${path}`);
    });
    afterEach(async () => {
      await service.close();
      await folder.remove();
    });

    it.each([
      ['no condition', {}, 200],
      ['If-Match: *', { 'If-Match': '*' }, 200],
      ['an old If-None-Match', { 'If-None-Match': '"7"' }, 200],
      ['If-Match of another time', { 'If-Match': '"7"' }, 412],
      ['If-None-Match: *', { 'If-None-Match': '*' }, 412],
    ])('whose record is created meanwhile applies preconditions to it: %s.', async (_name, headers, status) => {
      meanwhile = () => alice.request('PUT', `/v1${record}`, { body: { data: { n: 1 } } });
      expect((await upload(alice, record, { headers })).status).toBe(status);
      expect(meanwhile).toBeUndefined();
      const { body } = await alice.request('GET', `/v1${record}`);
      expect(body).toMatchObject({ data: { n: 1 } });
      expect(folder.names).toHaveLength(status === 200 ? 1 : 0);
    });

    it('whose record does not exist reveals only that.', async () => {
      const { status, body } = await upload(alice, record, { headers: { 'If-Match': '*' } });
      expect(status).toBe(412);
      expect(body).not.toHaveProperty('details');
      expect(folder.names).toEqual([]);
    });
  });
});
