// Followers of the list of changes ask for what is newer than the newest timestamp they know, and must miss nothing.
import { describe, expect, it, onTestFinished } from 'vitest';
import { definePlugin } from '../../src/http/plugin.ts';
import {
  createTestClock,
  type TestBackend,
  type TestClient,
  type TestService,
  type TestServiceOptions,
} from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

const monitor = '/v1/buckets/monitor/collections/changes/records';
const settings = { includes: 'changes', 'changes.resources': '/buckets/main' };
const names = ['a', 'b', 'c', 'd'];

interface Entry {
  readonly collection: string;
  readonly last_modified: number;
}

/** A client that knows the newest timestamp of each collection from the changes since its last look. */
class Follower {
  readonly known = new Map<string, number>();
  readonly #service: TestService;
  #since = '';

  constructor(service: TestService) {
    this.#service = service;
  }

  async look(): Promise<void> {
    const { status, body, headers } = await this.#service.request('GET', `${monitor}${this.#since}`);
    expect(status).toBe(200);
    for (const { collection, last_modified } of (body as { data: readonly Entry[] }).data) {
      this.known.set(collection, last_modified);
    }
    this.#since = `?_since=${headers['etag']}`;
  }
}

interface Fixture {
  readonly service: TestService;
  readonly alice: TestClient;
  readonly follower: Follower;
}

/** Starts a service with the monitored collections. */
async function start(
  backend: TestBackend,
  options: Pick<TestServiceOptions, 'clock' | 'plugins'> = {},
): Promise<Fixture> {
  const service = await backend.start({ settings, ...options });
  onTestFinished(() => service.close());
  const alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/main');
  for (const name of names) await alice.request('PUT', `/v1/buckets/main/collections/${name}`);
  return { service, alice, follower: new Follower(service) };
}

/** Writes records in one unit of work; returns the timestamp of the last one. */
async function write(client: TestClient, collection: string, count: number): Promise<number> {
  const path = `/buckets/main/collections/${collection}/records`;
  const requests = Array.from({ length: count }, () => ({ method: 'POST', path, body: { data: { n: count } } }));
  const { body, status } = await client.request('POST', '/v1/batch', { body: { requests } });
  expect(status).toBe(200);
  const { responses } = body as { responses: readonly { status: number; body: { data: Entry } }[] };
  expect(responses.filter((response) => response.status !== 201)).toEqual([]);
  return Math.max(...responses.map((response) => response.body.data.last_modified));
}

/** A promise that is resolved by a call. */
function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}

forEachBackend((backend) => {
  describe(`the order of changes on ${backend.name}`, () => {
    it('holds when many writes at once have moved a collection ahead of the time.', async () => {
      const clock = createTestClock();
      const { alice, follower } = await start(backend, { clock });
      for (const [collection, count] of [
        ['a', 20],
        ['b', 1],
        ['c', 1],
        ['a', 1],
        ['b', 3],
      ] as const) {
        const last = await write(alice, collection, count);
        await follower.look();
        expect(follower.known.get(collection)).toBe(last);
      }
      const single = '/v1/buckets/main/collections/d/records/x';
      for (const [method, more] of [
        ['PUT', {}],
        ['PUT', { body: { data: { n: 2 } } }],
        ['PATCH', { body: { data: { n: 3 } } }],
        ['DELETE', {}],
      ] as const) {
        await write(alice, 'a', 2);
        await follower.look();
        const { body } = await alice.request(method, single, more);
        await follower.look();
        expect(follower.known.get('d')).toBe((body as { data: Entry }).data.last_modified);
      }
      await write(alice, 'a', 2);
      await write(alice, 'd', 2);
      await follower.look();
      const { headers } = await alice.request('DELETE', '/v1/buckets/main/collections/d/records');
      await follower.look();
      expect(`"${follower.known.get('d')}"`).toBe(headers['etag']);
    });

    it('holds for a timestamp that a client has set, unless it is far in the future.', async () => {
      const clock = createTestClock();
      const { service, alice, follower } = await start(backend, { clock });
      for (const [collection, ahead] of [
        ['a', 50_000],
        ['b', undefined],
        ['c', 40_000],
        ['d', 90_000],
        ['b', undefined],
      ] as const) {
        const last_modified = ahead === undefined ? undefined : clock.now() + ahead;
        const { body } = await alice.request('POST', `/v1/buckets/main/collections/${collection}/records`, {
          body: { data: { last_modified } },
        });
        const written = (body as { data: Entry }).data.last_modified;
        await follower.look();
        if (collection === 'c') expect(written).toBe(last_modified);
        else expect(follower.known.get(collection)).toBe(written);
      }
      const last = follower.known.get('b')!;
      expect(last).toBeLessThan(clock.now() + 60_000);
      // Clients continue from it, and get nothing again but what is far in the future.
      expect((await service.request('GET', monitor)).headers['etag']).toBe(`"${last}"`);
    });

    it('holds for a timestamp that is older than other changes, and for one that the order has passed.', async () => {
      const clock = createTestClock();
      const { alice, follower } = await start(backend, { clock });
      await write(alice, 'b', 1);
      await write(alice, 'c', 1);
      clock.advance(5000);
      await write(alice, 'a', 20);
      for (const [name, ahead] of [
        ['b', -1000],
        ['c', 5],
      ] as const) {
        await follower.look();
        const before = follower.known.get(name)!;
        const last_modified = clock.now() + ahead;
        const record = `/v1/buckets/main/collections/${name}/records/x`;
        await alice.request('PUT', record, { body: { data: { last_modified } } });
        await follower.look();
        expect(follower.known.get(name)).toBeGreaterThan(before);
        const { body } = await alice.request('GET', record);
        expect((body as { data: Entry }).data.last_modified).toBe(last_modified);
      }
    });

    it('holds for a collection that was deleted and is created again.', async () => {
      const clock = createTestClock();
      const { alice, follower } = await start(backend, { clock });
      await write(alice, 'b', 2);
      await alice.request('DELETE', '/v1/buckets/main/collections/b');
      await write(alice, 'a', 20);
      await follower.look();
      expect(follower.known.has('b')).toBe(false);
      await alice.request('PUT', '/v1/buckets/main/collections/b');
      await follower.look();
      expect(follower.known.has('b')).toBe(true);
    });

    it('holds again when a clock that was far ahead has been set back.', async () => {
      const clock = createTestClock();
      const { alice, follower } = await start(backend, { clock });
      clock.advance(3_600_000);
      await write(alice, 'a', 1);
      clock.advance(-3_600_000);
      await follower.look();
      await write(alice, 'b', 1);
      await follower.look();
      expect(follower.known.has('b')).toBe(true);
    });

    it('holds while a clock that was set back comes near the timestamps from before.', async () => {
      const clock = createTestClock();
      const { alice, follower } = await start(backend, { clock });
      await write(alice, 'a', 1);
      await follower.look();
      clock.advance(-70_000);
      await write(alice, 'b', 1);
      clock.advance(12_000);
      await follower.look();
      expect(follower.known.has('b')).toBe(true);
    });

    it('moves no clock of a list from which nothing is deleted.', async () => {
      const clock = createTestClock();
      const { alice } = await start(backend, { clock });
      await write(alice, 'b', 1);
      await write(alice, 'a', 20);
      const list = '/v1/buckets/main/collections/b/records';
      const before = (await alice.request('HEAD', list)).headers['etag'];
      expect((await alice.request('DELETE', `${list}?n=0`)).headers['etag']).toBe(before);
      expect((await alice.request('HEAD', list)).headers['etag']).toBe(before);
    });

    it('holds because a write waits for one to another collection that is not committed yet.', async () => {
      const [written, opened] = [gate(), gate()];
      const { service, alice } = await start(backend, {
        plugins: [
          definePlugin({
            name: 'slow',
            setup: () => ({
              subscribers: [
                {
                  name: 'slow',
                  on: 'ResourceChanged',
                  kinds: ['record'],
                  async handle({ list }) {
                    if (!list.parent.endsWith('/a')) return;
                    written.open();
                    await opened.passed;
                  },
                },
              ],
            }),
          }),
        ],
      });
      await write(alice, 'b', 1);
      const committed: string[] = [];
      const writing = ['a', 'b'].map(async (name, index) => {
        if (index > 0) await written.passed;
        await write(alice, name, 1);
        committed.push(name);
      });
      await written.passed;
      // Enough for the second write if it does not wait.
      for (let n = 0; n < 200; n++) await service.request('GET', '/v1/__lbheartbeat__');
      opened.open();
      await Promise.all(writing);
      expect(committed).toEqual(['a', 'b']);
    });

    it('holds while batches write monitored and other collections in any order.', async () => {
      const { alice, follower } = await start(backend);
      await alice.request('PUT', '/v1/buckets/other');
      await alice.request('PUT', '/v1/buckets/other/collections/z');
      const paths = ['main/collections/a', 'other/collections/z', 'main/collections/b'].map(
        (place) => `/buckets/${place}/records`,
      );
      await follower.look();
      const writing = Array.from({ length: 18 }, async (_, index) => {
        const turned = [...paths.slice(index % 3), ...paths.slice(0, index % 3)];
        const requests = (index < 9 ? turned : turned.toReversed()).map((path) => ({ method: 'POST', path }));
        const { body } = await alice.request('POST', '/v1/batch', { body: { requests } });
        return (body as { responses: readonly { status: number }[] }).responses.map(({ status }) => status);
      });
      expect(await Promise.all(writing)).toEqual(writing.map(() => [201, 201, 201]));
      await follower.look();
      for (const name of ['a', 'b']) {
        const { headers } = await alice.request('HEAD', `/v1/buckets/main/collections/${name}/records`);
        expect(headers['etag']).toBe(`"${follower.known.get(name)}"`);
      }
    });

    it('holds while long and short writes to several collections overlap.', async () => {
      const { alice, follower } = await start(backend);
      const done = new Map<string, number>();
      let isDone = false;
      const follow = async (): Promise<void> => {
        while (!isDone) {
          const before = new Map(done);
          await follower.look();
          for (const [collection, timestamp] of before) {
            expect(follower.known.get(collection) ?? 0, collection).toBeGreaterThanOrEqual(timestamp);
          }
        }
      };
      const writing = names.map(async (collection, index) => {
        for (let round = 0; round < 15; round++) done.set(collection, await write(alice, collection, 1 + 8 * index));
      });
      await Promise.all([Promise.all(writing).finally(() => (isDone = true)), follow()]);
      await follower.look();
      expect(Object.fromEntries(follower.known)).toEqual(Object.fromEntries(done));
    });
  });
});
