// No request waits for the object store of another: files are stored and deleted while their request holds no locks.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuthorizationPolicy } from '../../src/engine/access.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { upload } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';
import { Gate } from '../support/gate.ts';
import { S3Server } from '../support/s3-server.ts';

const record = '/buckets/default/collections/c/records/r';

forEachBackend((backend) => {
  describe(`While the object store does not answer, with data on ${backend.name},`, () => {
    let server: S3Server;
    let service: TestService;
    let alice: TestClient;
    let gate: Gate;
    let refusedKind: string | undefined;

    const authorization: AuthorizationPolicy = {
      decide: ({ kind, permission, byDefault }) =>
        kind === refusedKind && permission === 'create' ? false : byDefault(),
    };

    beforeEach(async () => {
      refusedKind = undefined;
      gate = new Gate();
      server = await S3Server.start();
      const settings = { includes: 'default_bucket attachments', ...server.settings };
      service = await backend.start({ settings, authorization });
      alice = service.asUser('alice');
    });
    afterEach(async () => {
      gate.open();
      await service.close();
      await server.close();
    });

    /** Creates objects of all kinds as another user. */
    async function expectWrites(): Promise<void> {
      const bob = service.asUser('bob');
      for (const path of ['/buckets/b', '/buckets/b/collections/c', '/buckets/b/collections/c/records/r']) {
        expect((await bob.request('PUT', `/v1${path}`)).status).toBe(201);
      }
    }

    it('an upload that creates a personal bucket and a collection lets others write', async () => {
      server.delays = { PUT: gate.pass };
      const uploading = upload(alice, record);
      await gate.reached;
      await expectWrites();
      gate.open();
      expect((await uploading).status).toBe(201);
      const { body } = await alice.request('GET', `/v1${record}`);
      expect(server.files.size).toBe(1);
      expect(body).toMatchObject({ data: { attachment: { filename: 'hello.txt' } } });
    });

    it.each([
      ['is refused', { 'If-Match': '"7"' }],
      ['replaces a file', {}],
    ])('an upload that %s lets others write', async (_name, headers) => {
      await upload(alice, record);
      server.delays = { DELETE: gate.pass };
      const uploading = upload(alice, record, { headers });
      await gate.reached;
      await expectWrites();
      gate.open();
      expect([200, 412]).toContain((await uploading).status);
      expect(server.files.size).toBe(1);
    });

    it('a deletion lets others write', async () => {
      await upload(alice, record);
      server.delays = { DELETE: gate.pass };
      const deleting = alice.request('DELETE', '/v1/buckets/default');
      await gate.reached;
      await expectWrites();
      gate.open();
      expect((await deleting).status).toBe(200);
      expect(server.files.size).toBe(0);
    });

    it('a batch does not ask it for a file after a write', async () => {
      const { body } = await upload(alice, record);
      const { location } = body as { location: string };
      server.log.length = 0;
      const requests = [
        { method: 'PUT', path: '/buckets/default/collections/d' },
        { path: location, headers: { 'If-None-Match': '*' } },
      ];
      const batch = await alice.request('POST', '/v1/batch', { body: { requests } });
      expect(batch).toMatchObject({ status: 200, body: { responses: [{ status: 201 }, { status: 400 }] } });
      expect(server.log).toEqual([]);
    });

    it.each(['bucket', 'collection', 'record'])(
      'an upload without permission to create the %s stores nothing',
      async (kind) => {
        refusedKind = kind;
        expect((await upload(alice, record)).status).toBe(403);
        expect(server.log).toEqual([]);
      },
    );

    it('an upload that is refused after its file was stored leaves no file', async () => {
      const { status } = await upload(alice, record, { headers: { 'If-Match': '"7"' } });
      expect(status).toBe(412);
      expect(server.files.size).toBe(0);
      expect(server.log.map((line) => line.split(' ')[0])).toEqual(['PUT', 'DELETE']);
    });
  });
});
