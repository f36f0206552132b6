// Several services on one database: one of them sends each delivery, and the order of each list is kept.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { postgresqlSettings } from '../support/backends.ts';
import { cloneDatabase } from '../support/postgresql.ts';
import { Receiver } from '../support/webhook-receiver.ts';
import { requireRedisUrl } from '../support/redis.ts';

interface Shared {
  readonly settings: Readonly<Record<string, string>>;
  readonly remove: () => Promise<void>;
}

async function onPostgresql(): Promise<Shared> {
  const { url, drop } = await cloneDatabase();
  return { settings: postgresqlSettings(url), remove: drop };
}

function onRedis(): Promise<Shared> {
  const url = requireRedisUrl();
  const kinds = ['storage', 'permission', 'cache'];
  const entries = kinds.flatMap((kind) => [
    [`${kind}_backend`, 'redis'],
    [`${kind}_url`, url],
  ]);
  const settings = { ...Object.fromEntries(entries), redis_prefix: `test-${randomUUID()}:` } as Record<string, string>;
  return Promise.resolve({ settings, remove: () => Promise.resolve() });
}

const collections = ['a', 'b', 'c'];
const writes = 15;

describe.each([
  ['postgresql', onPostgresql],
  ['redis', onRedis],
])('two services on %s', (_name, share) => {
  it('deliver each change once, and those of one list in order.', async () => {
    const { settings, remove } = await share();
    const receiver = await Receiver.start();
    const hook = {
      event_listeners: 'hook',
      'event_listeners.hook.use': 'webhook',
      'event_listeners.hook.url': receiver.url,
      'event_listeners.hook.secret': 'a-secret-of-sixteen-bytes-or-more',
      'event_listeners.hook.resources': 'record',
      'event_listeners.hook.poll': '50ms',
      'event_listeners.hook.retry_min': '10ms',
    };
    // The receiver is sometimes busy, so that the lease changes between the services.
    receiver.answer = (_delivery, index) => (index % 7 === 3 ? 503 : 204);
    const services: TestService[] = [];
    try {
      for (let n = 0; n < 2; n++) services.push(await startTestService({ settings: { ...settings, ...hook } }));
      const [one, two] = services.map((service) => service.asUser('alice'));
      await one!.request('PUT', '/v1/buckets/x');
      for (const id of collections) await one!.request('PUT', `/v1/buckets/x/collections/${id}`);
      await Promise.all(
        collections.map(async (id) => {
          for (let n = 0; n < writes; n++) {
            const client = n % 2 === 0 ? one! : two!;
            const path = `/v1/buckets/x/collections/${id}/records/r${n}`;
            expect(await client.request('PUT', path)).toMatchObject({ status: 201 });
          }
        }),
      );
      const wanted = collections.length * writes;
      const taken = (): Map<string, Record<string, unknown>> => {
        const successes = receiver.deliveries.filter((_delivery, index) => index % 7 !== 3);
        expect(new Set(successes.map(({ id }) => id)).size).toBe(successes.length);
        return new Map(successes.map(({ id, json }) => [id, json.payload]));
      };
      while (taken().size < wanted) await receiver.received(receiver.deliveries.length + 1);
      for (const id of collections) {
        const told = [...taken().values()].filter((payload) => payload['collection_id'] === id);
        expect(told.map((payload) => payload['record_id'])).toEqual(Array.from({ length: writes }, (_, n) => `r${n}`));
      }
    } finally {
      for (const service of services) await service.close();
      await receiver.close();
      await remove();
    }
    // After the stop no delivery is running, so later duplicates are impossible.
    expect(receiver.deliveries.filter((_delivery, index) => index % 7 !== 3)).toHaveLength(collections.length * writes);
  });
});
