// When the payload of an event is made, and that what happens later does not change it.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatPayload } from '../../src/core/events/payload.ts';
import type { ResourceEvent } from '../../src/engine/events/event.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

let payloads: unknown[] = [];

const plugin = definePlugin({
  name: 'recorder',
  setup: () => ({
    subscribers: (['ResourceChanged', 'AfterResourceChanged'] as const).map((on) => ({
      name: on,
      on,
      handle: (event: ResourceEvent) => void payloads.push(formatPayload(event)),
    })),
  }),
});

forEachBackend((backend) => {
  describe(`payloads on ${backend.name}`, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await backend.start({ plugins: [plugin] });
    });
    afterAll(() => service.close());

    // Proves S-209.
    it('A payload has the time of the first change, not of the commit.', async () => {
      const alice = service.asUser('alice');
      const records = `/buckets/${randomUUID()}/collections/c/records`;
      await alice.request('PUT', `/v1${records.slice(0, records.indexOf('/collections'))}`);
      await alice.request('PUT', `/v1${records.slice(0, records.lastIndexOf('/'))}`);
      payloads = [];
      const requests = ['a', 'b', 'c'].map((id) => ({ method: 'PUT', path: `${records}/${id}` }));
      const { body } = await alice.request('POST', '/v1/batch', { body: { requests } });
      const [first, , last] = (body as { responses: { body: { data: { last_modified: number } } }[] }).responses;
      const { last_modified: timestamp } = first!.body.data;
      expect(last!.body.data.last_modified).toBeGreaterThan(timestamp);
      const expected = { timestamp, action: 'create', uri: `${records}/a`, record_id: 'a' };
      expect(payloads).toMatchObject([expected, expected]);
    });
  });
});
