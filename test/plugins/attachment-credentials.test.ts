// Uploads whose credentials lose their effect before the body has arrived.
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuthorizationPolicy } from '../../src/engine/access.ts';
import type { TestResponse, TestService } from '../../src/testing/index.ts';
import { boundary, FileFolder, formBytes } from '../support/attachments.ts';
import { forEachBackend } from '../support/backends.ts';
import { Gate } from '../support/gate.ts';
import { accountSettings, basic, signUp } from './accounts/service.ts';

const record = '/v1/buckets/b/collections/c/records/r';

interface Upload {
  /** Sends the rest of the body, and returns the response as text. */
  finish(): Promise<string>;
}

/** Sends all of an upload but the end of its body. */
function beginUpload({ origin }: TestService, authorization: string): Upload {
  const { hostname, port, host } = new URL(origin);
  const bytes = formBytes([{ name: 'attachment', filename: 'a.txt', type: 'text/plain', content: 'hello' }]);
  const socket = connect(Number(port), hostname);
  const chunks: string[] = [];
  socket.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  const ended = once(socket, 'close').then(() => chunks.join(''));
  const head = [
    `POST ${record}/attachment HTTP/1.1`,
    `Host: ${host}`,
    'Connection: close',
    `Authorization: ${authorization}`,
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    `Content-Length: ${bytes.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.write(bytes.subarray(0, -10));
  return {
    finish() {
      socket.write(bytes.subarray(-10));
      return ended;
    },
  };
}

forEachBackend((backend) => {
  describe(`an upload on ${backend.name}`, () => {
    async function start(policies: string) {
      const folder = await FileFolder.create();
      const gate = new Gate();
      gate.open();
      const authorization: AuthorizationPolicy = {
        async decide({ kind, byDefault }) {
          if (kind === 'record') await gate.pass();
          return byDefault();
        },
      };
      const service = await backend.start({
        settings: {
          ...accountSettings,
          includes: 'accounts attachments',
          'multiauth.policies': policies,
          account_write_principals: 'account:admin',
          bucket_create_principals: 'system.Authenticated',
          'attachment.base_path': folder.path,
        },
        authorization,
      });
      onTestFinished(async () => {
        await service.close();
        await folder.remove();
      });
      await signUp(service, 'admin', 'of the admin');
      await signUp(service, 'zoe', 'first');
      const as = (name: string, password: string, method: string, path: string, body?: object): Promise<TestResponse> =>
        service.request(method, path, { headers: { Authorization: basic(name, password) }, body });
      // Every user may write, so that only the identity decides.
      const permissions = { write: ['system.Authenticated'] };
      expect((await as('zoe', 'first', 'PUT', '/v1/buckets/b', { permissions })).status).toBe(201);
      expect((await as('zoe', 'first', 'PUT', '/v1/buckets/b/collections/c')).status).toBe(201);
      return { service, folder, gate, as };
    }

    it.each(['account', 'account basicauth'])(
      'with a password that is changed while the body arrives gets 401 and stores nothing: %s.',
      async (policies) => {
        const { service, folder, gate, as } = await start(policies);
        const upload = beginUpload(service, basic('zoe', 'first'));
        await gate.reached;
        expect((await as('zoe', 'first', 'PATCH', '/v1/accounts/zoe', { data: { password: 'second' } })).status).toBe(
          200,
        );
        expect(await upload.finish()).toMatch(/^HTTP\/1\.1 401 /);
        expect((await as('zoe', 'second', 'GET', record)).status).toBe(404);
        expect(folder.names).toEqual([]);
      },
    );

    it('of a deleted account does not count as one of the next owner.', async () => {
      const { service, gate, as } = await start('account');
      const upload = beginUpload(service, basic('zoe', 'first'));
      await gate.reached;
      expect((await as('admin', 'of the admin', 'DELETE', '/v1/accounts/zoe')).status).toBe(200);
      expect((await signUp(service, 'zoe', 'next')).status).toBe(201);
      expect(await upload.finish()).toMatch(/^HTTP\/1\.1 401 /);
      expect((await as('zoe', 'next', 'GET', record)).status).toBe(404);
    });

    it('with the right password is stored.', async () => {
      const { service, gate, as } = await start('account');
      const upload = beginUpload(service, basic('zoe', 'first'));
      await gate.reached;
      expect(await upload.finish()).toMatch(/^HTTP\/1\.1 201 /);
      expect((await as('zoe', 'first', 'GET', record)).status).toBe(200);
    });
  });
});
