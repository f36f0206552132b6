// What subscribers hear who want to know of a whole request at once, or of deletions before the cascade.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/core/errors.ts';
import type { Change } from '../../src/engine/events/event.ts';
import { definePlugin, type PluginHost } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

let heard: string[][] = [];
let deleted: string[] = [];
let host: PluginHost | undefined;

function describeChange({ action, kind, ids }: Change): string {
  return `${action} ${kind} ${ids[`${kind}_id`]}`;
}

const plugin = definePlugin({
  name: 'listener',
  setup(given) {
    host = given;
    return {
      subscribers: [
        {
          name: 'mirror',
          on: 'ResourceChanged',
          actions: ['create'],
          kinds: ['record'],
          async handle({ changes, request }, { unit }) {
            for (const { ids, caller } of changes) {
              if (ids['record_id'] !== 'mirrored') continue;
              const place = host!.objects.place('record', { ...ids, record_id: 'mirror' });
              await host!.objects.write({ unit, caller, request }, place, { attributes: () => ({}) });
            }
          },
        },
        {
          name: 'all',
          on: 'RequestChanged',
          handle(changes) {
            heard.push(changes.map(describeChange));
            if (changes.some(({ ids }) => ids['record_id'] === 'vetoed')) throw new ServiceError('forbidden');
          },
        },
        {
          name: 'groups',
          on: 'RequestChanged',
          kinds: ['group'],
          actions: ['delete'],
          handle: (changes) => void heard.push(['groups', ...changes.map(describeChange)]),
        },
        {
          name: 'deleting',
          on: 'ResourceDeleting',
          kinds: ['collection'],
          async handle(change, unit) {
            const { storage } = await unit.writer();
            const records = await storage.countAll({ kind: 'record', parent: change.uri }, { filters: [] });
            deleted.push(`${describeChange(change)} with ${records}`);
          },
        },
      ],
    };
  },
});

forEachBackend((backend) => {
  describe(`whole requests on ${backend.name}`, () => {
    let service: TestService;
    let alice: TestClient;
    let count = 0;
    let bucket = '';

    beforeAll(async () => {
      service = await backend.start({ plugins: [plugin], settings: { flush_endpoint_enabled: 'true' } });
      alice = service.asUser('alice');
    });
    afterAll(() => service.close());
    beforeEach(async () => {
      bucket = `/buckets/b${(count += 1)}`;
      await batch(`PUT ${bucket}`, `PUT ${bucket}/collections/c`);
      [heard, deleted] = [[], []];
    });

    async function batch(...lines: readonly string[]): Promise<number> {
      const requests = lines.map((line) => {
        const [method, path] = line.split(' ');
        return { method, path };
      });
      return (await alice.request('POST', '/v1/batch', { body: { requests } })).status;
    }

    it('All changes are delivered at once, in their order.', async () => {
      const records = `${bucket}/collections/c/records`;
      await batch(
        `PUT ${records}/a`,
        `PUT ${bucket}/groups/g`,
        `PUT ${records}/b`,
        `PUT ${records}/a`,
        `DELETE ${bucket}/groups/g`,
      );
      expect(heard).toEqual([
        ['create record a', 'create group g', 'create record b', 'update record a', 'delete group g'],
        ['groups', 'delete group g'],
      ]);
    });

    it('Changes by other subscribers are delivered with the rest.', async () => {
      await alice.request('PUT', `/v1${bucket}/collections/c/records/mirrored`);
      expect(heard).toEqual([['create record mirrored', 'create record mirror']]);
    });

    it('Nothing is delivered without changes, or after a rollback.', async () => {
      await alice.request('GET', `/v1${bucket}`);
      await alice.request('DELETE', `/v1${bucket}/collections/c/records`);
      await alice.request('PUT', `/v1${bucket}`, { headers: { 'If-None-Match': '*' } });
      expect(heard).toEqual([]);
    });

    it('A refusal is the response, and rolls everything back.', async () => {
      const records = `${bucket}/collections/c/records`;
      expect(await batch(`PUT ${records}/a`, `PUT ${records}/vetoed`)).toBe(403);
      expect((await alice.request('GET', `/v1${records}/a`)).status).toBe(404);
    });

    it('Changes before a flush are not delivered, because they are deleted.', async () => {
      await batch(`PUT ${bucket}/groups/g`, 'POST /__flush__', `PUT ${bucket}`);
      expect(heard).toEqual([[`create bucket ${bucket.slice('/buckets/'.length)}`]]);
    });

    it('A deletion is delivered while the objects below still exist.', async () => {
      await batch(
        `PUT ${bucket}/collections/c/records/a`,
        `PUT ${bucket}/collections/d`,
        `DELETE ${bucket}/collections/c`,
      );
      await alice.request('DELETE', `/v1${bucket}/collections`);
      await alice.request('DELETE', `/v1${bucket}`);
      expect(deleted).toEqual(['delete collection c with 1', 'delete collection d with 0']);
    });
  });
});
