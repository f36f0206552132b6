// Access that ends, and names that are reused, while a request for a file is in progress: the content of a response is what the
// caller may read when the file is open.
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuthorizationPolicy } from '../../src/engine/access.ts';
import type { TestClient, TestResponse, TestService } from '../../src/testing/index.ts';
import { authorizationOf } from '../../src/testing/index.ts';
import { FileFolder, upload, type UploadOptions } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';
import { allClosed, holdPlace, watchFiles } from '../support/downloads.ts';
import { S3Server } from '../support/s3-server.ts';

const own = '/buckets/evil/collections/c/records/own';
const shared = '/buckets/private/collections/c/records/shared';
const group = '/buckets/private/groups/readers';
const secret = 'the secret of Alice';

forEachBackend((backend) => {
  describe.each(['folder', 'bucket'])(`A request for a file from a %s on ${backend.name}`, (place) => {
    let folder: FileFolder;
    let server: S3Server;
    let service: TestService;
    let alice: TestClient;
    let eve: TestClient;
    let opened: ReturnType<typeof watchFiles>;
    /** Runs before each check whether Eve may read her own record, from the second one on. */
    let beforeCheck: ((count: number) => Promise<unknown>) | undefined;
    let checks: number;

    const authorization: AuthorizationPolicy = {
      async decide({ kind, permission, ids, byDefault }) {
        if (kind === 'record' && permission === 'read' && ids['record_id'] === 'own') {
          checks++;
          if (checks > 1) await beforeCheck?.(checks);
        }
        return byDefault();
      },
    };

    beforeEach(async () => {
      folder = await FileFolder.create();
      server = await S3Server.start();
      opened = watchFiles(folder.path);
      [beforeCheck, checks] = [undefined, 0];
      service = await backend.start({
        settings: {
          includes: 'attachments',
          record_read_principals: group,
          'attachment.randomize': 'false',
          'attachment.max_downloads': '1',
          'attachment.download_wait_seconds': '3600',
          ...(place === 'folder' ? { 'attachment.base_path': folder.path } : server.settings),
        },
        authorization,
      });
      [alice, eve] = [service.asUser('alice'), service.asUser('eve')];
      for (const [user, bucket] of [
        [alice, 'private'],
        [eve, 'evil'],
      ] as const) {
        await user.request('PUT', `/v1/buckets/${bucket}`);
        await user.request('PUT', `/v1/buckets/${bucket}/collections/c`);
      }
    });
    afterEach(async () => {
      vi.restoreAllMocks();
      await service.close();
      await allClosed(opened);
      await server.close();
      await folder.remove();
    });

    async function store(user: TestClient, record: string, options: UploadOptions): Promise<string> {
      const { status, body } = await upload(user, record, { filename: 'report.txt', ...options });
      expect([200, 201]).toContain(status);
      return (body as { location: string }).location;
    }

    /** Replaces the file of Eve by one of Alice, which in a folder has the same name in the store. */
    async function reuseName(): Promise<void> {
      expect((await eve.request('DELETE', `/v1${own}/attachment`)).status).toBe(204);
      expect(await store(alice, shared, { content: secret })).toMatch(
        place === 'folder' ? /\/report\.txt$/ : /\/report-[0-9a-f]{20}\.txt$/,
      );
    }

    /** Sends a request that waits for a place, and does something else until it gets one. */
    async function whileWaiting(
      send: () => Promise<TestResponse>,
      meanwhile: () => Promise<unknown>,
    ): Promise<TestResponse> {
      const other = await store(alice, '/buckets/private/collections/c/records/other', { filename: 'other.txt' });
      const held = holdPlace();
      const holder = alice.request('GET', other);
      await held.taken;
      const sent = send();
      await Promise.race([held.awaited, sent]);
      checks = 1;
      await meanwhile();
      held.free();
      expect((await holder).status).toBe(200);
      return sent;
    }

    it.each([
      ['no conditions', {}],
      ['a range', { Range: 'bytes=0-3' }],
      ['a range beyond the file', { Range: 'bytes=1000-' }],
      ['a condition that does not hold', { 'If-None-Match': '"other"' }],
    ])(
      'whose name is reused while it waits does not return the file of another record: %s.',
      async (_name, headers) => {
        const path = await store(eve, own, { content: 'own' });
        const { status, text } = await whileWaiting(() => eve.request('GET', path, { headers }), reuseName);
        expect([status, text]).toEqual([404, expect.not.stringContaining('secret')]);
      },
    );

    it('with a signed URL does not return the file of another record either.', async () => {
      await store(eve, own, { content: 'own' });
      const { url } = (await eve.request('GET', `/v1${own}/attachment/url`)).body as { url: string };
      const { status, text } = await whileWaiting(() => service.request('GET', url), reuseName);
      expect([status, text]).toEqual([404, expect.not.stringContaining('secret')]);
    });

    it('is refused when the permission was removed while it waits.', async () => {
      const eveId = ((await eve.request('GET', '/v1/')).body as { user: { id: string } }).user.id;
      const path = await store(alice, shared, { content: secret, permissions: { read: [eveId] } });
      const { status } = await whileWaiting(
        () => eve.request('GET', path),
        () => alice.request('PATCH', `/v1${shared}`, { body: { permissions: { read: [] } } }),
      );
      expect(status).toBe(403);
    });

    it('is refused when the caller has left the group of readers while it waits.', async () => {
      const eveId = ((await eve.request('GET', '/v1/')).body as { user: { id: string } }).user.id;
      await alice.request('PUT', `/v1${group}`, { body: { data: { members: [eveId] } } });
      const path = await store(alice, shared, { content: secret });
      const { status } = await whileWaiting(
        () => eve.request('GET', path),
        () => alice.request('PATCH', `/v1${group}`, { body: { data: { members: [] } } }),
      );
      expect(status).toBe(403);
    });

    // A bucket never uses a name again.
    if (place === 'folder') {
      it('returns the new file when the record got one with the same name.', async () => {
        const path = await store(eve, own, { content: 'old' });
        const answer = await whileWaiting(
          () => eve.request('GET', path),
          async () => {
            await eve.request('DELETE', `/v1${own}`);
            expect(await store(eve, own, { content: 'new' })).toBe(path);
          },
        );
        expect([answer.status, answer.text]).toEqual([200, 'new']);
      });

      it('does not return a file that had the name only while it was opened.', async () => {
        const path = await store(eve, own, { content: 'old' });
        const answer = await whileWaiting(
          () => eve.request('GET', path),
          async () => {
            await reuseName();
            beforeCheck = async () => {
              beforeCheck = undefined;
              await alice.request('DELETE', `/v1${shared}`);
              expect(await store(eve, own, { content: 'new' })).toBe(path);
            };
          },
        );
        expect([answer.status, answer.text]).toEqual([200, 'new']);
      });

      it('is answered with 503 when the file changes in every attempt.', async () => {
        const path = await store(eve, own, { content: 'old' });
        checks = 0;
        beforeCheck = async (count) => {
          await eve.request('DELETE', `/v1${own}`);
          expect(await store(eve, own, { content: `version ${count}` })).toBe(path);
        };
        expect(await eve.request('GET', path)).toMatchObject({ status: 503, body: { errno: 201 } });
        beforeCheck = undefined;
        expect((await eve.request('GET', path)).status).toBe(200);
      });
    }

    it.each(['GET', 'HEAD'])('is refused when the record is deleted while the file is opened: %s.', async (method) => {
      const path = await store(eve, own, { content: 'own' });
      checks = 0;
      beforeCheck = () => eve.request('DELETE', '/v1/buckets/evil');
      expect((await eve.request(method, path)).status).toBe(403);
      // The place is free.
      const other = await store(alice, shared, { content: secret });
      expect((await alice.request('GET', other)).text).toBe(secret);
    });

    it('frees its place when the client leaves while access is checked again.', async () => {
      const path = await store(eve, own, { content: 'own' });
      const { hostname, port } = new URL(service.origin);
      const socket = connect(Number(port), hostname);
      checks = 0;
      const checked = new Promise<void>((resolve) => {
        beforeCheck = () => {
          beforeCheck = undefined;
          socket.destroy();
          resolve();
          return Promise.resolve();
        };
      });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorizationOf('eve')}\r\n\r\n`);
      await checked;
      expect((await eve.request('GET', path)).text).toBe('own');
    });

    it('without access is refused at once.', async () => {
      const path = await store(alice, shared, { content: secret });
      const held = holdPlace();
      const holder = alice.request('GET', path);
      await held.taken;
      expect((await eve.request('GET', path)).status).toBe(403);
      expect((await service.request('GET', path)).status).toBe(401);
      held.free();
      expect((await holder).text).toBe(secret);
    });
  });
});
