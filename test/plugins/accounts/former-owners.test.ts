// Requests on accounts that wait, for example for the hashing of a password, while their credentials lose their effect: the
// account is deleted and belongs to another person, or its owner changes the password.
import { describe, expect, it, onTestFinished } from 'vitest';
import { definePlugin } from '../../../src/http/plugin.ts';
import type { TestResponse, TestService } from '../../../src/testing/index.ts';
import { forEachBackend } from '../../support/backends.ts';
import { accountSettings, basic, signUp } from './service.ts';

/** A plugin that runs a task when the next request has been authenticated and is about to lock what it changes. */
function pauseBeforeLock() {
  let waiting: (() => Promise<void>) | undefined;
  const plugin = definePlugin({
    name: 'pause',
    setup({ stores: { storage } }) {
      const { database } = storage;
      const begin = database.begin.bind(database);
      database.begin = async (options) => {
        const task = waiting;
        waiting = undefined;
        await task?.();
        return begin(options);
      };
      return {};
    },
  });
  return { plugin, pauseWith: (task: () => Promise<void>) => (waiting = task) };
}

type Request = readonly [method: string, path: string, data?: object];

function as(
  service: TestService,
  name: string,
  password: string,
  ...[method, path, data]: Request
): Promise<TestResponse> {
  const headers = { Authorization: basic(name, password) };
  return service.request(method, `/v1${path}`, data === undefined ? { headers } : { headers, body: { data } });
}

const requests: readonly Request[] = [
  ['PATCH', '/accounts/zoe', { password: 'evil' }],
  ['PATCH', '/accounts/zoe', { note: 'evil' }],
  ['PUT', '/accounts/zoe', { password: 'evil' }],
  ['POST', '/accounts', { id: 'zoe', password: 'evil' }],
  ['DELETE', '/accounts/zoe'],
  ['DELETE', '/accounts'],
];
const cases = requests.map((request) => ({ request }));

forEachBackend((backend) => {
  describe(`a request that waits on ${backend.name}`, () => {
    async function start() {
      const { plugin, pauseWith } = pauseBeforeLock();
      const settings = { ...accountSettings, account_write_principals: 'account:admin' };
      const service = await backend.start({ settings, plugins: [plugin] });
      onTestFinished(() => service.close());
      await signUp(service, 'admin', 'of the admin');
      await signUp(service, 'zoe', 'first');
      return { service, pauseWith };
    }

    it.each(cases)('changes nothing of the next owner: %j', async ({ request }) => {
      const { service, pauseWith } = await start();
      pauseWith(async () => {
        expect((await as(service, 'admin', 'of the admin', 'DELETE', '/accounts/zoe')).status).toBe(200);
        expect((await signUp(service, 'zoe', 'next', { of: 'the next owner' })).status).toBe(201);
      });
      const before = await as(service, 'zoe', 'first', ...request);
      const { status, body } = await as(service, 'zoe', 'next', 'GET', '/accounts/zoe');
      expect([status, body]).toMatchObject([200, { data: { of: 'the next owner' } }]);
      expect(body).not.toHaveProperty('data.note');
      expect((await as(service, 'zoe', 'evil', 'GET', '/accounts/zoe')).status).toBe(401);
      expect(before.status).toBe(401);
    });

    it('goes on when its caller sets the same password again.', async () => {
      const { service, pauseWith } = await start();
      pauseWith(async () => {
        const again = { password: 'of the admin', note: 'again' };
        expect((await as(service, 'admin', 'of the admin', 'PUT', '/accounts/admin', again)).status).toBe(200);
      });
      const created = await as(service, 'admin', 'of the admin', 'PUT', '/accounts/new', {
        password: 'of the new one',
      });
      expect(created.status).toBe(201);
      const { body } = await as(service, 'admin', 'of the admin', 'GET', '/accounts/admin');
      expect(body).toHaveProperty('data.note', 'again');
    });

    it.each(cases)('does not undo a change of the password: %j', async ({ request }) => {
      const { service, pauseWith } = await start();
      pauseWith(async () => {
        expect((await as(service, 'zoe', 'first', 'PATCH', '/accounts/zoe', { password: 'safe' })).status).toBe(200);
      });
      expect((await as(service, 'zoe', 'first', ...request)).status).toBe(401);
      expect((await as(service, 'zoe', 'evil', 'GET', '/accounts/zoe')).status).toBe(401);
      expect((await as(service, 'zoe', 'safe', 'GET', '/accounts/zoe')).status).toBe(200);
    });

    it('does not create the account again that an administrator deletes.', async () => {
      const { service, pauseWith } = await start();
      pauseWith(async () => {
        expect((await as(service, 'admin', 'of the admin', 'DELETE', '/accounts/zoe')).status).toBe(200);
      });
      expect((await as(service, 'zoe', 'first', 'PUT', '/accounts/zoe', { password: 'evil' })).status).toBe(401);
      expect((await as(service, 'admin', 'of the admin', 'GET', '/accounts/zoe')).status).toBe(404);
    });
  });
});
