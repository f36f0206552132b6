// A client that follows `ETag` and `_since` misses nothing, whatever is written meanwhile and
// however small its pages are: the headline promise, checked on every backend over real HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { backends, ServerProcess, Workspace } from '../support/server-process.ts';
import { change, Follower } from './follower.ts';
import { inExtent } from '../support/extent.ts';

const writers = 16;
const pageSizes = [undefined, 100, 7, 1];

describe.each(inExtent(['sqlite', 'postgresql'], backends))('on %s', (backend) => {
  let workspace: Workspace;
  // Where several processes may share a database they do, and clients talk to them in turn.
  const servers: ServerProcess[] = [];
  let dropDatabase = async (): Promise<void> => {};
  const clientOf = (n: number): Client => new Client(servers[n % servers.length]!.url, 'writer');

  beforeAll(async () => {
    workspace = await Workspace.create();
    const isShared = backend === 'postgresql' || backend === 'redis';
    const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
    dropDatabase = database?.drop ?? dropDatabase;
    const environment = { ...workspace.environment(backend, database?.url), SVC_INCLUDES: 'default_bucket' };
    for (let n = 0; n < (isShared ? 2 : 1); n++) servers.push(await ServerProcess.start(workspace, environment));
  });
  afterAll(async () => {
    for (const server of servers) await server.kill();
    await dropDatabase();
    await workspace.remove();
  });

  test('followers with any page size end with the state of the server', { timeout: 120_000 }, async () => {
    const client = clientOf(0);
    const records = '/buckets/follow/collections/list/records';
    await client.request('PUT', '/buckets/follow');
    await client.request('PUT', '/buckets/follow/collections/list');

    const timestamps = new Set<number>();
    const statuses = new Map<number, number>();
    const note = (status: number, timestamp?: number): void => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (timestamp === undefined) return;
      expect(timestamps.has(timestamp), 'two changes with one timestamp').toBe(false);
      timestamps.add(timestamp);
    };

    let isWriting = true;
    const followers = pageSizes.map((size, n) => new Follower(clientOf(n), records, size));
    const following = followers.map(async (follower) => {
      while (isWriting) await follower.poll();
    });
    await Promise.all(Array.from({ length: writers }, (_, writer) => change(clientOf(writer), records, writer, note)));
    isWriting = false;
    await Promise.all(following);

    const stored = new Map(
      (await client.readAll(records)).map(({ id, last_modified, n }) => [id, { last_modified, n }]),
    );
    for (const follower of followers) {
      await follower.poll();
      expect(follower.copy).toEqual(stored);
      expect(follower.polls).toBeGreaterThan(1);
    }
    expect(
      [...statuses.keys()].every((status) => status < 300),
      JSON.stringify([...statuses]),
    ).toBe(true);
  });

  test('of many writers with one If-Match exactly one succeeds, round after round', { timeout: 60_000 }, async () => {
    const client = clientOf(0);
    const path = '/buckets/race/collections/list/records/counter';
    await client.request('PUT', '/buckets/race');
    await client.request('PUT', '/buckets/race/collections/list');
    let etag = (await client.request('PUT', path, { data: { n: 0 } })).headers.get('etag')!;
    for (let round = 1; round <= 20; round++) {
      const attempts = Array.from({ length: 12 }, (_, n) =>
        clientOf(n).request('PUT', path, { data: { n: round } }, { 'if-match': etag }),
      );
      const answers = await Promise.all(attempts);
      const winner = answers.find(({ status }) => status === 200);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
        200,
        ...Array<number>(11).fill(412),
      ]);
      etag = winner!.headers.get('etag')!;
    }
    expect((await client.request('GET', path)).body.data.n).toBe(20);
  });

  test(
    'batches that write to the same lists in opposite orders all succeed, each as a whole',
    { timeout: 60_000 },
    async () => {
      const client = clientOf(0);
      const lists = ['one', 'two', 'three'].map((name) => `/buckets/crossing/collections/${name}/records`);
      await client.request('PUT', '/buckets/crossing');
      for (const list of lists) await client.request('PUT', list.slice(0, -'/records'.length));
      const batches = Array.from({ length: 24 }, (_, n) => {
        const order = n % 2 === 0 ? lists : lists.toReversed();
        const requests = order.map((list) => ({ method: 'PUT', path: `${list}/shared`, body: { data: { n } } }));
        return clientOf(n >> 1).request('POST', '/batch', { requests });
      });
      for (const { status, body } of await Promise.all(batches)) {
        expect(status, JSON.stringify(body)).toBe(200);
        expect(body.responses.map((response: { status: number }) => response.status < 300)).toEqual([true, true, true]);
      }
      const winners = await Promise.all(lists.map((list) => client.request('GET', `${list}/shared`)));
      expect(new Set(winners.map(({ body }) => body.data.n)).size).toBe(1);
    },
  );

  test('a personal bucket that many requests use first at the same time is created once', async () => {
    const users = ['first', 'second', 'third'];
    for (const user of users) {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          new Client(servers[n % servers.length]!.url, user).request(
            'PUT',
            `/buckets/default/collections/notes/records/r${n}`,
            { data: { n } },
          ),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array<number>(12).fill(201));
      const all = await new Client(servers[0]!.url, user).readAll('/buckets/default/collections/notes/records');
      expect(all).toHaveLength(12);
    }
  });
});
