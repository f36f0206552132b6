// Events: what subscribers receive, when, and how they can change the result of a request.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/core/errors.ts';
import { formatImpact, formatPayload } from '../../src/core/events/payload.ts';
import { entryValue } from '../../src/core/objects/stored.ts';
import type { ResourceEvent } from '../../src/engine/events/event.ts';
import type { Subscriber } from '../../src/engine/events/subscriber.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import { definePlugin, type PluginHost } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

/** What happened, in order: `before create record 2`. */
let log: string[] = [];
let payloads: unknown[] = [];
let impacts: unknown[] = [];
/** What the subscriber under test does. */
let act: (event: ResourceEvent) => void = () => {};

function record(when: string): (event: ResourceEvent) => void {
  return (event) => {
    const objects = event.action === 'read' ? event.entries.map(entryValue) : event.changes.map(formatImpact);
    log.push(`${when} ${event.action} ${event.kind} ${objects.length}`);
    payloads.push(formatPayload(event));
    impacts.push(objects);
    if (when === 'before') act(event);
  };
}

const subscribers: readonly Subscriber[] = [
  { name: 'before', on: 'ResourceChanged', handle: record('before') },
  { name: 'before-read', on: 'ResourceRead', kinds: ['record', 'collection'], handle: record('before') },
  { name: 'after', on: 'AfterResourceChanged', handle: record('after') },
  {
    name: 'only-deletions',
    on: 'AfterResourceChanged',
    actions: ['delete'],
    kinds: ['group'],
    handle: () => void log.push('a group went'),
  },
  {
    name: 'failing',
    on: 'AfterResourceChanged',
    handle() {
      throw new Error('too late to matter');
    },
  },
  { name: 'flushed', on: 'ServerFlushed', handle: () => void log.push('flushed') },
  {
    name: 'altering',
    on: 'ResourceChanged',
    handle(event, scope) {
      if (event.changes.some(({ ids }) => ids['record_id'] === 'alter'))
        scope.response = jsonResponse(200, { my: 'answer' });
    },
  },
  {
    name: 'cascading',
    on: 'ResourceChanged',
    actions: ['create'],
    kinds: ['record'],
    async handle({ changes, request }, { unit }) {
      for (const { ids, caller } of changes) {
        if (ids['record_id'] !== 'mirrored') continue;
        const place = host!.objects.place('record', { ...ids, record_id: 'mirror' });
        await host!.objects.write({ unit, caller, request }, place, { attributes: () => ({ of: 'mirrored' }) });
      }
    },
  },
];

let host: PluginHost | undefined;
const plugin = definePlugin({
  name: 'recorder',
  setup(given) {
    host = given;
    return { subscribers };
  },
});

forEachBackend((backend) => {
  describe(`events on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;
    let bucket = '';
    let collection = '';

    beforeAll(async () => {
      const settings = { includes: 'default_bucket', flush_endpoint_enabled: 'true' };
      service = await backend.start({ plugins: [plugin], settings });
      alice = service.asUser('alice');
    });
    afterAll(() => service.close());
    beforeEach(async () => {
      act = () => {};
      bucket = `/buckets/${randomUUID()}`;
      collection = `${bucket}/collections/c`;
      await send('PUT', bucket);
      await send('PUT', collection);
      [log, payloads, impacts] = [[], [], []];
    });

    const send = async (method: string, path: string, body?: unknown): ReturnType<TestClient['request']> =>
      alice.request(method, `/v1${path}`, body === undefined ? {} : { body });
    const batch = (...requests: readonly unknown[]): ReturnType<TestClient['request']> =>
      send('POST', '/batch', { requests });

    // Proves S-200, S-202, S-210, S-212, S-216.
    it('A creation reports the user, the object and the list, first inside the transaction and then after it.', async () => {
      const { body } = await send('PUT', `${collection}/records/r`, { data: { a: 1 } });
      const { last_modified: time } = (body as { data: { last_modified: number } }).data;
      expect(log).toEqual(['before create record 1', 'after create record 1']);
      expect(payloads[0]).toEqual({
        timestamp: time,
        action: 'create',
        uri: `${collection}/records/r`,
        user_id: expect.stringMatching(/^basicauth:/),
        resource_name: 'record',
        bucket_id: bucket.slice('/buckets/'.length),
        collection_id: 'c',
        record_id: 'r',
      });
      expect(impacts[0]).toEqual([{ new: { a: 1, id: 'r', last_modified: time } }]);
    });

    it('A POST reports the path of the list and no id of the object.', async () => {
      await send('POST', `${collection}/records`, { data: { id: 'r' } });
      expect(payloads[0]).toMatchObject({ action: 'create', uri: `${collection}/records` });
      expect(payloads[0]).not.toHaveProperty('record_id');
    });

    it('A POST of an id that exists is a read.', async () => {
      await send('PUT', `${collection}/records/r`);
      log = [];
      await send('POST', `${collection}/records`, { data: { id: 'r' } });
      expect(log).toEqual(['before read record 1']);
    });

    // Proves S-200, S-216.
    it('An update and a deletion report the object before and after.', async () => {
      await send('PUT', `${collection}/records/r`, { data: { a: 1 } });
      await send('PATCH', `${collection}/records/r`, { data: { b: 2 } });
      await send('DELETE', `${collection}/records/r`);
      expect(log.filter((line) => line.startsWith('before'))).toEqual([
        'before create record 1',
        'before update record 1',
        'before delete record 1',
      ]);
      expect(impacts[2]).toMatchObject([{ new: { a: 1, b: 2, id: 'r' }, old: { a: 1, id: 'r' } }]);
      expect(impacts[4]).toMatchObject([{ new: { id: 'r', deleted: true }, old: { a: 1, b: 2 } }]);
    });

    it('A change of permissions alone is an update.', async () => {
      await send('PUT', `${collection}/records/r`);
      log = [];
      await send('PATCH', `${collection}/records/r`, { permissions: { read: ['system.Everyone'] } });
      expect(log).toEqual(['before update record 1', 'after update record 1']);
    });

    // Proves S-206.
    it('Deleting from a list is one event, or a read when nothing was there.', async () => {
      await batch(
        { method: 'PUT', path: `${collection}/records/a` },
        { method: 'PUT', path: `${collection}/records/b` },
      );
      log = [];
      await send('DELETE', `${collection}/records`);
      await send('DELETE', `${collection}/records`);
      expect(log).toEqual(['before delete record 2', 'after delete record 2', 'before read record 0']);
    });

    // Proves S-206, S-207.
    it('A batch merges the changes of one list into one event for each action, in order.', async () => {
      await batch(
        { method: 'PUT', path: `${collection}/records/a`, body: { data: { n: 1 } } },
        { method: 'PUT', path: `${collection}/records/a`, body: { data: { n: 2 } } },
        { method: 'PUT', path: `${bucket}/groups/g`, body: { data: { members: [] } } },
        { method: 'PUT', path: `${collection}/records/b` },
        { method: 'PUT', path: `${collection}/records/a`, body: { data: { n: 3 } } },
      );
      expect(log).toEqual([
        'before create record 2',
        'before update record 2',
        'before create group 1',
        'after create record 2',
        'after update record 2',
        'after create group 1',
      ]);
      expect(payloads[0]).toMatchObject({ record_id: 'a', uri: `${collection}/records/a` });
      expect(impacts[1]).toMatchObject([
        { new: { n: 2 }, old: { n: 1 } },
        { new: { n: 3 }, old: { n: 2 } },
      ]);
    });

    // Proves S-208.
    it('Entries of a batch that fail contribute nothing, the others do.', async () => {
      await batch(
        { method: 'PUT', path: `${collection}/records/a` },
        { method: 'PUT', path: `${collection}/records/a`, headers: { 'If-None-Match': '*' } },
        { method: 'GET', path: `${bucket}/collections/missing` },
      );
      expect(log).toEqual(['before create record 1', 'after create record 1']);
    });

    // Proves S-208.
    it('A batch that is rolled back after a conflict causes no events.', async () => {
      const { body } = await send('PUT', `${collection}/records/x`);
      const { last_modified: taken } = (body as { data: { last_modified: number } }).data;
      log = [];
      await batch(
        { method: 'PUT', path: `${collection}/records/a` },
        { method: 'PUT', path: `${collection}/records/b`, body: { data: { last_modified: taken } } },
      );
      expect(log).toEqual([]);
      expect(await send('GET', `${collection}/records/a`)).toMatchObject({ status: 404 });
    });

    // Proves S-201.
    it('Reads are sent to their subscribers, unless the response is 304.', async () => {
      await send('PUT', `${collection}/records/r`, { data: { a: 1 } });
      log = [];
      const { headers } = await send('GET', `${collection}/records/r`);
      await send('GET', `${collection}/records`);
      await send('GET', bucket);
      const unchanged = { headers: { 'If-None-Match': headers['etag']! } };
      await alice.request('GET', `/v1${collection}/records/r`, unchanged);
      await send('GET', `${collection}/records/missing`);
      expect(log).toEqual(['before read record 1', 'before read record 1']);
    });

    // Proves S-204, S-205, S-212.
    it('A refusal by a subscriber is the response, and rolls everything back.', async () => {
      act = () => {
        throw new ServiceError('forbidden', { message: 'not today' });
      };
      const answer = await batch(
        { method: 'PUT', path: `${collection}/records/a` },
        { method: 'PUT', path: `${bucket}/groups/g`, body: { data: { members: ['basicauth:x'] } } },
      );
      expect(answer).toMatchObject({ status: 403, body: { errno: 121, message: 'not today' } });
      expect(log).toEqual(['before create record 1']);
      act = () => {};
      expect(await send('GET', `${collection}/records/a`)).toMatchObject({ status: 404 });
      expect(await send('GET', `${bucket}/groups/g`)).toMatchObject({ status: 404 });
    });

    // Proves S-204.
    it('Any other error of a subscriber is a 500 that rolls everything back and reveals nothing.', async () => {
      act = () => {
        throw new Error('a secret');
      };
      const answer = await send('PUT', `${collection}/records/a`);
      expect(answer).toMatchObject({ status: 500, body: { errno: 999 } });
      expect(answer.text).not.toContain('secret');
      act = () => {};
      expect(await send('GET', `${collection}/records/a`)).toMatchObject({ status: 404 });
    });

    // Proves S-203.
    it('A subscriber may replace the response.', async () => {
      expect(await send('PUT', `${collection}/records/alter`)).toMatchObject({ status: 200, body: { my: 'answer' } });
      expect(await send('GET', `${collection}/records/alter`)).toMatchObject({ status: 200 });
    });

    // Proves S-202.
    it('Writes of a subscriber are committed with the rest, and cause events after the present ones.', async () => {
      await batch(
        { method: 'PUT', path: `${collection}/records/mirrored` },
        { method: 'PUT', path: `${bucket}/groups/g`, body: { data: { members: [] } } },
      );
      expect(log.filter((line) => line.startsWith('before'))).toEqual([
        'before create record 1',
        'before create group 1',
        'before create record 1',
      ]);
      expect(await send('GET', `${collection}/records/mirror`)).toMatchObject({ body: { data: { of: 'mirrored' } } });
    });

    // Proves S-211.
    it('Implicit creations in the personal bucket cause events.', async () => {
      const user = service.asUser(randomUUID());
      await user.request('PUT', '/v1/buckets/default/collections/tasks/records/t');
      expect(log.filter((line) => line.startsWith('before'))).toEqual([
        'before create bucket 1',
        'before create collection 1',
        'before create record 1',
      ]);
      const { body } = await user.request('GET', '/v1/');
      const own = (body as { user: { bucket: string } }).user.bucket;
      expect(payloads[1]).toMatchObject({ uri: `/buckets/${own}/collections/tasks`, collection_id: 'tasks' });
      expect(payloads[2]).toMatchObject({ uri: `/buckets/${own}/collections/tasks/records/t` });
    });

    it('Filters choose by action and kind.', async () => {
      await send('PUT', `${bucket}/groups/g`, { data: { members: [] } });
      expect(log).not.toContain('a group went');
      await send('DELETE', `${bucket}/groups/g`);
      expect(log).toContain('a group went');
    });

    it('Objects deleted by a cascade cause no events of their own.', async () => {
      await send('PUT', `${collection}/records/r`);
      log = [];
      await send('DELETE', bucket);
      expect(log).toEqual(['before delete bucket 1', 'after delete bucket 1']);
    });

    // Proves S-149, S-213.
    it('A flush causes an event.', async () => {
      await alice.request('POST', '/v1/__flush__');
      expect(log).toEqual(['flushed']);
    });
  });
});
