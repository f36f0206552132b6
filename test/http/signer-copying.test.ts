// Copies to preview and destination write only records that changed.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import type { Change } from '../../src/engine/events/event.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { createKeys, dataOf, fetchChangeset, isTrue, setStatus, type Changeset } from '../support/signing.ts';

const keys = createKeys();
afterAll(() => keys.remove());

const settings = {
  includes: 'changes signer',
  'signer.resources': '/buckets/staging -> /buckets/preview -> /buckets/main',
  experimental_collection_schema_validation: 'true',
  ...keys.settings,
};
const source = '/buckets/staging/collections/c';

/** Writes of the plugin, such as `main create a`. */
let written: string[] = [];
const counter = definePlugin({
  name: 'counter',
  setup: () => ({
    subscribers: [
      {
        name: 'counter',
        on: 'ResourceChanged',
        kinds: ['record'],
        handle: ({ changes }) => void written.push(...changes.filter(isOfPlugin).map(describeChange)),
      },
    ],
  }),
});

function isOfPlugin({ caller }: Change): boolean {
  return caller.userId === 'plugin:remote-settings';
}

function describeChange({ action, ids }: Change): string {
  return `${ids['bucket_id']} ${action} ${ids['record_id']}`;
}

forEachBackend((backend) => {
  describe(`copying on ${backend.name}`, () => {
    async function start(): Promise<{ readonly service: TestService; readonly alice: TestClient }> {
      const service = await backend.start({ settings, plugins: [counter] });
      const alice = service.asUser('alice');
      await alice.request('PUT', '/v1/buckets/staging');
      await alice.request('PUT', `/v1${source}`);
      return { service, alice };
    }

    it('writes each record once, and again only after a change.', async () => {
      const { service, alice } = await start();
      // More than one page of a comparison.
      const ids = Array.from({ length: 520 }, (_, index) => `r${String(index).padStart(3, '0')}`);
      for (let first = 0; first < ids.length; first += 20) {
        const requests = ids
          .slice(first, first + 20)
          .map((id) => ({ method: 'PUT', path: `${source}/records/${id}`, body: { data: { n: first } } }));
        expect((await alice.request('POST', '/v1/batch', { body: { requests } })).status).toBe(200);
      }
      written = [];
      expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
      expect(written.toSorted()).toEqual(
        ['main', 'preview'].flatMap((bucket) => ids.map((id) => `${bucket} create ${id}`)),
      );
      const before = await fetchChangeset(service, 'main', 'c');
      expect(isTrue(before, keys.publicKey)).toBe(true);

      await alice.request('PATCH', `/v1${source}/records/r007`, { body: { data: { n: -1 } } });
      await alice.request('DELETE', `/v1${source}/records/r008`);
      await alice.request('PUT', `/v1${source}/records/new`, { body: { data: {} } });
      written = [];
      expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
      expect(written.toSorted()).toEqual(
        ['main', 'preview'].flatMap((bucket) => [
          `${bucket} create new`,
          `${bucket} delete r008`,
          `${bucket} update r007`,
        ]),
      );
      const after = await fetchChangeset(service, 'main', 'c');
      expect(isTrue(after, keys.publicKey)).toBe(true);
      expect(after.changes.filter(({ last_modified: time }) => time <= before.timestamp)).toHaveLength(518);

      await setStatus(alice, source, 'work-in-progress');
      written = [];
      expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
      expect(written).toEqual([]);
      await service.close();
    });

    it('clients that poll the destination get every change, whatever timestamps the source has.', async () => {
      const { service, alice } = await start();
      await alice.request('PUT', `/v1${source}/records/a`, { body: { data: { n: 1 } } });
      const ahead = Date.now() + 3_600_000;
      await alice.request('PUT', `/v1${source}/records/b`, { body: { data: { n: 1, last_modified: ahead } } });
      await setStatus(alice, source, 'to-sign');
      await alice.request('DELETE', `/v1${source}`);
      const { timestamp } = await fetchChangeset(service, 'main', 'c');
      expect(timestamp).toBeLessThan(ahead);
      await alice.request('PUT', `/v1${source}`);
      const back = { last_modified: ahead - 1_000_000, n: 2 };
      await alice.request('PUT', `/v1${source}/records/a`, { body: { data: back } });
      await setStatus(alice, source, 'to-sign');
      const changes = `/v1/buckets/main/collections/c/changeset?_expected=0&_since=${timestamp}`;
      expect((await service.request('GET', changes)).body).toMatchObject({ changes: [{ id: 'a', n: 2 }] });
      expect(isTrue(await fetchChangeset(service, 'main', 'c'), keys.publicKey)).toBe(true);
      await service.close();
    });

    it('copies large numbers, unusual keys and records with schema markers unchanged.', async () => {
      const { service, alice } = await start();
      const schema = { type: 'object', properties: { n: { type: 'integer' } } };
      await alice.request('PATCH', `/v1${source}`, { body: { data: { schema } } });
      const id = randomUUID();
      const raw = '{"data":{"n":12345678901234567890,"__proto__":{"constructor":"ü"},"10":1,"9":2,"𝒳":"\\u007f"}}';
      const headers = { 'Content-Type': 'application/json' };
      expect((await alice.request('PUT', `/v1${source}/records/${id}`, { raw, headers })).status).toBe(201);
      expect((await setStatus(alice, source, 'to-sign')).status).toBe(200);
      const texts = ['staging', 'main', 'preview'].map(async (bucket) => {
        return (await alice.request('GET', `/v1/buckets/${bucket}/collections/c/records`)).text;
      });
      const [inSource, inMain, inPreview] = await Promise.all(texts);
      expect(inSource).toContain(':12345678901234567890,');
      const withoutTime = (text: string | undefined): string => text!.replace(/"last_modified":\d+/, '');
      expect([inMain, inPreview].map(withoutTime)).toEqual([inSource, inSource].map(withoutTime));
      // Only clients that keep all digits can verify this.
      const { text } = await service.request('GET', '/v1/buckets/main/collections/c/changeset?_expected=0');
      const changeset = JSON.parse(text.replace(':12345678901234567890,', ':"BIG",')) as Changeset;
      const withDigits = (canonical: string): string => canonical.replace(':"BIG"', ':12345678901234567890');
      expect(isTrue(changeset, keys.publicKey, withDigits)).toBe(true);
      expect((await dataOf(alice, `${source}/records/${id}`))['schema']).toBeGreaterThan(0);
      written = [];
      await setStatus(alice, source, 'to-resign');
      await setStatus(alice, source, 'work-in-progress');
      await setStatus(alice, source, 'to-sign');
      expect(written).toEqual([]);
      await service.close();
    });
  });
});
