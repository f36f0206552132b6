// Settings of the history: exclusions and trimming.
import { describe, expect, it } from 'vitest';
import { startTestService, type TestClient, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

interface Entry {
  readonly uri: string;
  readonly user_id: string;
  readonly resource_name: string;
}

async function entriesOf(client: TestClient, bucket: string, query = ''): Promise<readonly Entry[]> {
  const { body, status } = await client.request('GET', `/v1/buckets/${bucket}/history${query}`);
  expect(status).toBe(200);
  return (body as { data: readonly Entry[] }).data;
}

async function userId(client: TestClient): Promise<string> {
  const { body } = await client.request('GET', '/v1/');
  return (body as { user: { id: string } }).user.id;
}

async function put(client: TestClient, ...paths: readonly string[]): Promise<void> {
  for (const path of paths) expect((await client.request('PUT', `/v1${path}`)).status).toBeLessThan(300);
}

/** Starts a service whose settings contain the id of a user called robot. */
async function withRobot(
  start: (settings: Record<string, string>) => Promise<TestService>,
  settings: (robotId: string) => Record<string, string>,
): Promise<{ readonly service: TestService; readonly robot: TestClient; readonly alice: TestClient }> {
  const probe = await startTestService();
  const robotId = await userId(probe.asUser('robot'));
  await probe.close();
  const service = await start({ includes: 'history', ...settings(robotId) });
  return { service, robot: service.asUser('robot'), alice: service.asUser('alice') };
}

describe('exclusions from the history', () => {
  it('are URIs of buckets, collections, groups and records, shown in the root view.', async () => {
    const places =
      '/buckets/quiet /buckets/b/collections/silent /buckets/b/groups/g /buckets/b/collections/c/records/r';
    const service = await startTestService({ settings: { includes: 'history', 'history.exclude_resources': places } });
    const alice = service.asUser('alice');
    await put(alice, '/buckets/quiet', '/buckets/quiet/collections/c', '/buckets/quiet/collections/c/records/r');
    await put(alice, '/buckets/b', '/buckets/b/groups/g', '/buckets/b/groups/h', '/buckets/b/collections/silent');
    await put(alice, '/buckets/b/collections/silent/records/r', '/buckets/b/collections/c');
    await put(alice, '/buckets/b/collections/c/records/r', '/buckets/b/collections/c/records/s');
    expect(await entriesOf(alice, 'quiet')).toEqual([]);
    expect((await entriesOf(alice, 'b', '?_sort=last_modified')).map(({ uri }) => uri)).toEqual([
      '/buckets/b',
      '/buckets/b/groups/h',
      '/buckets/b/collections/c',
      '/buckets/b/collections/c/records/s',
    ]);
    const { body } = await alice.request('GET', '/v1/');
    expect(body).toMatchObject({
      capabilities: {
        history: {
          excluded_resources: [
            { bucket: 'quiet' },
            { bucket: 'b', collection: 'silent' },
            { bucket: 'b', group: 'g' },
            { bucket: 'b', collection: 'c', record: 'r' },
          ],
        },
      },
    });
    await service.close();
  });

  it('must be object URIs, or the service does not start.', async () => {
    for (const wrong of ['/buckets', 'b', '/buckets/b/history/x', '/buckets/b/collections/']) {
      const settings = { includes: 'history', 'history.exclude_resources': wrong };
      await expect(startTestService({ settings })).rejects.toThrow(/history\.exclude_resources/);
    }
  });

  it('can be users.', async () => {
    const { service, robot, alice } = await withRobot(
      (settings) => startTestService({ settings }),
      (robotId) => ({ 'history.exclude_user_ids': `${robotId} somebody:else` }),
    );
    await alice.request('PUT', '/v1/buckets/b', { body: { permissions: { write: ['system.Authenticated'] } } });
    await put(robot, '/buckets/b/collections/c', '/buckets/b/collections/c/records/r');
    await put(alice, '/buckets/b/collections/c/records/r');
    const known = (await entriesOf(alice, 'b')).map(({ uri }) => uri);
    expect(known).toEqual(['/buckets/b/collections/c/records/r', '/buckets/b']);
    await service.close();
  });

  it('include permissions of entries if explicit_permissions is false.', async () => {
    const service = await startTestService({
      settings: { includes: 'history', explicit_permissions: 'false', bucket_write_principals: 'system.Authenticated' },
    });
    const alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b', { body: { permissions: { write: ['system.Authenticated'] } } });
    await alice.request('PUT', '/v1/buckets/b/collections/c', { body: { permissions: { read: ['system.Everyone'] } } });
    expect((await service.request('GET', '/v1/buckets/b/history')).status).toBe(401);
    expect(await entriesOf(alice, 'b')).toHaveLength(2);
    await service.close();
  });
});

forEachBackend((backend) => {
  describe(`trimming of the history on ${backend.name}`, () => {
    it('keeps the newest entries of each kind above the threshold, without tombstones for others.', async () => {
      const settings = { includes: 'history', 'history.auto_trim_max_count': '3', 'history.auto_trim_threshold': '2' };
      const service = await backend.start({ settings });
      const [alice, bob] = [service.asUser('alice'), service.asUser('bob')];
      await put(alice, '/buckets/b');
      await alice.request('PUT', '/v1/buckets/b/collections/c', {
        body: { permissions: { read: [await userId(bob)] } },
      });
      const record = '/buckets/b/collections/c/records/r';
      const count = async (): Promise<number> => (await entriesOf(alice, 'b', '?resource_name=record')).length;
      for (const expected of [1, 2, 3, 4, 5, 3, 4, 5, 3]) {
        await put(alice, record);
        expect(await count()).toBe(expected);
      }
      expect(await entriesOf(alice, 'b', '?_since=0')).toHaveLength(5);
      expect(await entriesOf(alice, 'b', '?_since=0&_sort=last_modified')).toMatchObject([
        { resource_name: 'bucket' },
        { resource_name: 'collection' },
        { uri: record },
        { uri: record },
        { uri: record },
      ]);
      expect(await entriesOf(bob, 'b')).toHaveLength(4);
      const requests = Array.from({ length: 6 }, () => ({ method: 'PUT', path: record }));
      await alice.request('POST', '/v1/batch', { body: { requests } });
      expect(await count()).toBe(3);
      expect(await alice.request('GET', '/v1/')).toMatchObject({
        body: { capabilities: { history: { auto_trim_max_count: 3 } } },
      });
      await service.close();
    });

    it('can be restricted to the entries of configured users.', async () => {
      const { service, robot, alice } = await withRobot(
        (settings) => backend.start({ settings }),
        (robotId) => ({
          'history.auto_trim_max_count': '1',
          'history.auto_trim_threshold': '0',
          'history.auto_trim_user_ids': robotId,
        }),
      );
      await alice.request('PUT', '/v1/buckets/b', { body: { permissions: { write: ['system.Authenticated'] } } });
      await put(alice, '/buckets/b/collections/c');
      const record = '/buckets/b/collections/c/records/r';
      for (const client of [alice, robot, alice, robot, alice, robot]) await put(client, record);
      const [aliceId, robotId] = [await userId(alice), await userId(robot)];
      const users = (await entriesOf(alice, 'b', '?resource_name=record')).map(({ user_id }) => user_id);
      expect(users).toEqual([robotId, aliceId, aliceId, aliceId]);
      await service.close();
    });
  });
});
