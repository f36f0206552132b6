// Many requests about large objects that arrive together at a process with a heap of 256 MB (S32). Each of them needs to read
// an object before it knows how much memory that takes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inExtent } from '../support/extent.ts';
import { backends } from '../support/server-process.ts';
import { attack, largeBodies, megabyte, users, Victim, type Answer } from './memory-attacks.ts';

const [, , , plain = ''] = largeBodies(9.9 * megabyte);
/** Has the same length, and as many values as a body may have. */
const manyValues = JSON.stringify({
  data: Object.fromEntries(Array.from({ length: 98_000 }, (_, n) => [`k${n}`, 'x'.repeat(80)])),
});
const burstSize = inExtent(40, 60);
const large = '/buckets/b/collections/described';
const shared = '/buckets/shared/collections/c/records';

/** Name, and what the request of this number does. */
type Burst = readonly [name: string, send: (user: string, n: number) => Promise<Answer>];

/** Sends the requests at once. Some have to succeed, and the others may be refused for a while. */
async function burst(victim: Victim, send: Burst[1]): Promise<void> {
  const requests = Array.from({ length: burstSize }, (_, n) => send(users[n % users.length]!, n));
  const answers = await attack(victim, requests, [200, 201, 503]);
  expect(answers.some(({ status }) => status < 300)).toBe(true);
}

describe.each(inExtent(['postgresql'], backends))(
  'requests that arrive together on %s',
  { timeout: 120_000 },
  (backend) => {
    let victim: Victim;
    // What is stored in memory takes memory.
    const places = Array.from(
      { length: backend === 'memory' ? 3 : inExtent(8, 24) },
      (_, n) => `/buckets/b/collections/place${n}`,
    );

    beforeAll(async () => {
      victim = await Victim.start(backend, 256, { SVC_MEMORY_WAIT_SECONDS: '1' });
      for (const place of places) {
        await victim.send('owner', 'PUT', place, '{}');
        expect((await victim.send('owner', 'PUT', `${place}/records/r`, plain)).status).toBe(201);
      }
      expect((await victim.send('owner', 'PUT', large, plain)).status).toBe(201);
      expect((await victim.send('owner', 'PUT', `${large}/records/r`, '{}')).status).toBe(201);
      await victim.send('owner', 'PUT', '/buckets/shared', '{}');
      await victim.send('owner', 'PUT', '/buckets/shared/collections/c', '{}');
      const readable = plain.replace('{', '{"permissions":{"read":["system.Authenticated"]},');
      for (let n = 0; n < places.length / 3; n++)
        expect((await victim.send('owner', 'PUT', `${shared}/r${n}`, readable)).status).toBe(201);
    }, 60_000);
    afterAll(async () => {
      await victim.stop();
    });

    const placeOf = (n: number): string => `${places[n % places.length]!}/records/r`;
    const sendBatch = (user: string, defaults: object, n: number): Promise<Answer> => {
      const requests = [placeOf(n), placeOf(n + 1)].map((path) => ({ path }));
      return victim.send(user, 'POST', '/batch', JSON.stringify({ defaults, requests }));
    };
    const short: readonly Burst[] = [
      ['read objects', (user, n) => victim.send(user, 'GET', placeOf(n))],
      ['read lists', (user, n) => victim.send(user, 'GET', placeOf(n).slice(0, -2))],
      ['change objects', (user, n) => victim.send(user, 'PATCH', placeOf(n), `{"data":{"b":${n}}}`)],
      ['create below a large object', (user, n) => victim.send(user, 'PUT', `${large}/records/n${n}`, '{}')],
      ['change in batches', (user, n) => sendBatch(user, { method: 'PATCH', body: { data: { c: n } } }, n)],
    ];
    const others: readonly Burst[] = [
      ['read attributes of objects', (user, n) => victim.send(user, 'GET', `${placeOf(n)}?_fields=b`)],
      ['filter lists', (user, n) => victim.send(user, 'GET', `${placeOf(n).slice(0, -2)}?not_b=1`)],
      ['find by ids', (user, n) => victim.send(user, 'GET', `${placeOf(n).slice(0, -2)}?in_id=r,s`)],
      ['read shared objects', (user) => victim.send(user, 'GET', shared)],
      ['search shared objects', (user) => victim.send(user, 'GET', `${shared}?not_b=1&_sort=b`)],
      [
        'replace permissions',
        (user, n) => victim.send(user, 'PATCH', placeOf(n), `{"permissions":{"read":["u${n}"]}}`),
      ],
      ['read below a large object', (user) => victim.send(user, 'GET', `${large}/records/r`)],
      ['list below a large object', (user) => victim.send(user, 'GET', `${large}/records`)],
      ['read in batches', (user, n) => sendBatch(user, { method: 'GET' }, n)],
    ];
    const last: readonly Burst[] = [
      ['delete lists', (user, n) => victim.send(user, 'DELETE', placeOf(n).slice(0, -2))],
    ];
    it.each([...short, ...inExtent([], others), ...last])('%s', async (_, send) => {
      await burst(victim, send);
    });
  },
);

// Plugins and schemas read objects too, by themselves and for every request.
describe.each(inExtent([], backends.slice(1)))(
  'requests to plugins that arrive together on %s',
  { timeout: 120_000 },
  (backend) => {
    let victim: Victim;
    const withData = (members: string): string => plain.replace('{"data":{', `{"data":{${members},`);
    const collectionOf = (n: number): string => `/buckets/plugins/collections/schema${n % users.length}`;
    const valuesOf = (n: number): string => `/buckets/plugins/collections/values${n % users.length}`;
    const own = '/buckets/default/collections/c';

    beforeAll(async () => {
      victim = await Victim.start(backend, 256, {
        SVC_MEMORY_WAIT_SECONDS: '1',
        SVC_INCLUDES: 'default_bucket history changes',
        SVC_CHANGES_RESOURCES: '/buckets/plugins',
        SVC_EXPERIMENTAL_PERMISSIONS_ENDPOINT: 'true',
        SVC_COLLECTION_READ_PRINCIPALS: 'system.Authenticated',
        SVC_EVENT_LISTENERS: 'hook',
        SVC_EVENT_LISTENERS_HOOK_USE: 'webhook',
        // Nothing listens there.
        SVC_EVENT_LISTENERS_HOOK_URL: 'http://127.0.0.1:1/hook',
        SVC_EVENT_LISTENERS_HOOK_SECRET: 'a-secret-of-sixteen-bytes-or-more',
        SVC_EVENT_LISTENERS_HOOK_RESOURCES: 'record',
        SVC_EVENT_LISTENERS_HOOK_ACTIONS: 'read',
        SVC_EXPERIMENTAL_COLLECTION_SCHEMA_VALIDATION: 'true',
      });
      await victim.send('owner', 'PUT', '/buckets/plugins', '{"permissions":{"write":["system.Authenticated"]}}');
      for (const [n, user] of users.entries()) {
        const described = await victim.send(user, 'PUT', collectionOf(n), withData('"schema":{"type":"object"}'));
        const bucket = await victim.send(user, 'PUT', '/buckets/default', plain);
        const collection = await victim.send(user, 'PUT', own, '{}');
        await victim.send(user, 'PUT', valuesOf(n), '{}');
        const values = await victim.send(user, 'PUT', `${valuesOf(n)}/records/r`, manyValues);
        expect([described, bucket, collection, values].map(({ status }) => status)).toEqual([201, 201, 201, 201]);
      }
    }, 60_000);
    afterAll(async () => {
      await victim.stop();
    });

    const bursts: readonly Burst[] = [
      ['read changesets', (user, n) => victim.send(user, 'GET', `${collectionOf(n)}/changeset?_expected=0`)],
      ['read snapshots', (user, n) => victim.send(user, 'GET', snapshotOf(n))],
      ['read changed collections', (user) => victim.send(user, 'GET', '/buckets/monitor/collections/changes/records')],
      ['read permissions', (user) => victim.send(user, 'GET', '/permissions?_limit=1')],
      ['count and announce values', (user, n) => victim.send(user, 'GET', `${valuesOf(n)}/records`)],
      ['validate', (user, n) => victim.send(user, 'PUT', `${collectionOf(n)}/records/r${n}`, '{"data":{"a":1}}')],
      ['read personal lists', (user) => victim.send(user, 'GET', `${own}/records`)],
      ['create personal records', (user, n) => victim.send(user, 'PUT', `${own}/records/r${n}`, '{}')],
      ['create personal records in batches', (user, n) => victim.send(user, 'POST', '/batch', personalBatch(n))],
    ];
    const snapshotOf = (n: number): string =>
      `/buckets/plugins/snapshot/collections/schema${n % users.length}@2795263848971`;
    const personalBatch = (n: number): string => {
      const requests = [1, 2, 3].map((entry) => ({ path: `${own}/records/batch${n}-${entry}` }));
      return JSON.stringify({ defaults: { method: 'PUT' }, requests });
    };
    it.each(bursts)('%s', async (_, send) => {
      await burst(victim, send);
    });
  },
);
