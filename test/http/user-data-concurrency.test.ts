// Users are removed during concurrent writes: no write restores what was removed, and objects that got another writer
// meanwhile remain.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { userIdOf } from '../support/signing.ts';

const settings = { 'user-data_delete_principals': 'system.Authenticated' };
const rounds = 20;
const records = '/v1/buckets/b/collections/c/records';

forEachBackend((backend) => {
  describe(`removing users during writes on ${backend.name}`, () => {
    let service: TestService;
    let owner: TestClient;
    let writers: readonly TestClient[];

    beforeAll(async () => {
      service = await backend.start({ settings });
      owner = service.asUser('owner');
      writers = Array.from({ length: 6 }, (_, n) => service.asUser(`writer${n}`));
      const write = await Promise.all(writers.map(userIdOf));
      await owner.request('PUT', '/v1/buckets/b', { body: { permissions: { write } } });
      await owner.request('PUT', '/v1/buckets/b/collections/c');
    });
    afterAll(() => service.close());

    const removeUser = (id: string): Promise<number> =>
      owner.request('DELETE', `/v1/__user_data__/${id}`).then(({ status }) => status);

    it('A new writer meanwhile does not restore the user.', async () => {
      for (let round = 0; round < rounds; round++) {
        const record = `${records}/x${round}`;
        const user = `basicauth:gone${round}`;
        await owner.request('PUT', record, { body: { permissions: { write: [user], read: [user] } } });
        const changes = writers.map(
          (writer, n) => () =>
            n % 2 === 0
              ? writer.request('PATCH', record, { body: { data: { [`k${n}`]: n } } })
              : writer.request('PATCH', record, {
                  headers: { 'Content-Type': 'application/json-patch+json' },
                  body: [{ op: 'add', path: `/permissions/read/reader${n}` }],
                }),
        );
        const requests = changes.map((change) => () => change().then(({ status }) => status));
        requests.splice(round % (requests.length + 1), 0, () => removeUser(user));
        const statuses = await Promise.all(requests.map((request) => request()));
        expect(statuses).toEqual(requests.map(() => 200));

        const { body } = await owner.request('GET', record);
        const { permissions } = body as { permissions: Readonly<Record<string, readonly string[]>> };
        expect(permissions['write']).toHaveLength(1 + writers.length);
        expect(permissions['read']).toHaveLength(writers.length / 2);
        expect(Object.values(permissions).flat()).not.toContain(user);
      }
    });

    it('Permissions granted to another user meanwhile stay.', async () => {
      for (let round = 0; round < rounds; round++) {
        const record = `${records}/y${round}`;
        const user = service.asUser(`left${round}`);
        const id = await userIdOf(user);
        await owner.request('PATCH', '/v1/buckets/b/collections/c', {
          body: { permissions: { 'record:create': [id] } },
        });
        expect((await user.request('PUT', record)).status).toBe(201);
        const give = (): Promise<number> =>
          owner
            .request('PATCH', record, { body: { permissions: { write: ['basicauth:heir'] } } })
            .then(({ status }) => status);
        const [given, removed] = await (round % 2 === 0
          ? Promise.all([give(), removeUser(id)])
          : Promise.all([removeUser(id), give()]).then(([last, first]) => [first, last]));
        expect(removed).toBe(200);
        expect([200, 404]).toContain(given);
        expect((await owner.request('GET', record)).status).toBe(given);
      }
    });
  });
});
