// Two servers on one database whose clocks are five seconds apart and step back and forth: clients that follow lists
// notice nothing, because the right to a list's next timestamp, and the last one given, are the database's.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { ServerProcess, Workspace } from '../support/server-process.ts';
import { change, Follower, timestampOf } from './follower.ts';

const steppingClock = fileURLToPath(new URL('../support/stepping-clock.mjs', import.meta.url));
const records = '/buckets/clocks/collections/list/records';
const writers = 12;

describe.each(['postgresql', 'redis'] as const)('servers on one %s whose clocks disagree and step', (backend) => {
  let workspace: Workspace;
  let dropDatabase = async (): Promise<void> => {};
  const servers: ServerProcess[] = [];
  const clientOf = (n: number): Client => new Client(servers[n % servers.length]!.url, 'writer');

  beforeAll(async () => {
    workspace = await Workspace.create();
    const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
    dropDatabase = database?.drop ?? dropDatabase;
    for (const clock of ['0 2000 170', '5000 3000 230']) {
      const environment = {
        ...workspace.environment(backend, database?.url),
        NODE_OPTIONS: `--import ${steppingClock}`,
        TEST_CLOCK: clock,
      };
      servers.push(await ServerProcess.start(workspace, environment));
    }
    await clientOf(0).request('PUT', '/buckets/clocks');
    await clientOf(0).request('PUT', '/buckets/clocks/collections/list');
  });
  afterAll(async () => {
    for (const server of servers) await server.kill();
    await dropDatabase();
    await workspace.remove();
  });

  test('the clocks are wrong indeed', async () => {
    const seen = new Set<boolean>();
    for (const deadline = performance.now() + 20_000; seen.size < 2 && performance.now() < deadline;) {
      const [right, ahead] = await Promise.all([0, 1].map((n) => createElsewhere(clientOf(n))));
      seen.add(ahead! - right! > 3500);
    }
    expect(seen.size, 'the difference between them changes').toBe(2);
  });

  test(
    'followers end with the state of the server; timestamps are unique and increase',
    { timeout: 120_000 },
    async () => {
      const given = new Set<number>();
      // A response before the request of a change has an earlier timestamp, whichever process sent it.
      let highest = 0;
      const before = new Map<number, number>();
      const noteOf =
        (writer: number) =>
        (status: number, timestamp?: number): void => {
          expect(status).toBeLessThan(300);
          if (timestamp === undefined) return;
          expect(given.has(timestamp), 'two changes with one timestamp').toBe(false);
          expect(timestamp).toBeGreaterThan(before.get(writer) ?? 0);
          given.add(timestamp);
          highest = Math.max(highest, timestamp);
          // Only once all entries of a batch are noted: among them others may have been answered.
          queueMicrotask(() => before.set(writer, highest));
        };
      let isWriting = true;
      const followers = [undefined, 100, 7, 1].map((size, n) => new Follower(clientOf(n), records, size));
      const following = followers.map(async (follower) => {
        while (isWriting) await follower.poll();
      });
      await Promise.all(
        Array.from({ length: writers }, (_, writer) => change(clientOf(writer), records, writer, noteOf(writer))),
      );
      isWriting = false;
      await Promise.all(following);
      const stored = await clientOf(0).readAll(records);
      const expected = new Map(stored.map(({ id, last_modified, n }) => [id, { last_modified, n }]));
      for (const follower of followers) {
        await follower.poll();
        expect(follower.copy).toEqual(expected);
        expect(follower.polls).toBeGreaterThan(1);
      }
      const { headers } = await clientOf(1).request('GET', records);
      expect(timestampOf(headers.get('etag')!)).toBe(highest);
    },
  );

  test('of many writers with one If-Match exactly one succeeds', async () => {
    let etag = (await clientOf(0).request('PUT', `${records}/one`, { data: {} })).headers.get('etag')!;
    for (let round = 1; round <= 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          clientOf(n).request('PUT', `${records}/one`, { data: { round } }, { 'if-match': etag }),
        ),
      );
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(7);
      etag = winners[0]!.headers.get('etag')!;
    }
  });

  let lists = 0;

  /** The timestamp of the first object of a new list: the time as its server has it. */
  async function createElsewhere(client: Client): Promise<number> {
    const collection = `/buckets/clocks/collections/new${lists++}`;
    await client.request('PUT', collection);
    const { body } = await client.request('PUT', `${collection}/records/first`, { data: {} });
    return body.data.last_modified;
  }
});
