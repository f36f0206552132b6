// Indexes that kinds of plugins declare: they serve queries and text search, keep values unique, and are built for lists that
// have objects when a new version of the plugin declares others.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonArray } from '../../src/base/json.ts';
import { definePlugin, type Plugin } from '../../src/http/plugin.ts';
import { listIndexes } from '../../src/maintenance/indexes.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { startTestService, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

/** A shareable kind, one below it, and one of which each user has a list. */
function parcels(indexes: JsonArray): Plugin {
  const kinds = [
    { name: 'parcel', path: '/parcels', flavour: 'shareable', indexes },
    { name: 'stop', path: '/parcels/{parcel_id}/stops', flavour: 'shareable', parent: 'parcel', indexes },
    { name: 'sender', path: '/senders', flavour: 'user', indexes },
  ] as const;
  return definePlugin({
    name: 'parcels',
    setup: () => ({ kinds: kinds.map((kind) => ({ ...kind, idGenerator: 'NameGenerator' })) }),
  });
}

const declared: JsonArray = [
  { fields: ['status', '-weight'] },
  { fields: ['label'], unique: true },
  { text: ['note'] },
];
const settings = { parcel_create_principals: 'system.Authenticated' };

interface Item {
  readonly id: string;
}

function client(
  service: TestService,
): (method: string, path: string, data?: object, auth?: string) => Promise<TestResponse> {
  return (method, path, data, auth = 'alice') =>
    service.request(method, `/v1${path}`, { auth, ...(data === undefined ? {} : { body: { data } }) });
}

function idsOf({ status, body }: TestResponse): readonly string[] {
  expect(status).toBe(200);
  return (body as { data: Item[] }).data.map(({ id }) => id);
}

forEachBackend((backend) => {
  describe.each(['/parcels/p/stops', '/senders'])(`indexes of a kind at %s on ${backend.name}`, (list) => {
    it('serve filters, sorting, totals and text search, and keep values unique', async () => {
      const service = await backend.start({ plugins: [parcels(declared)], settings });
      try {
        const send = client(service);
        await send('PUT', '/parcels/p');
        for (let n = 0; n < 6; n++) {
          const data = {
            status: n % 2 === 0 ? 'sent' : 'lost',
            weight: n,
            label: `l${n}`,
            note: `box number${n} green`,
          };
          expect((await send('PUT', `${list}/o${n}`, data)).status).toBe(201);
        }
        const query = `${list}?status=sent&_sort=-weight&_limit=2`;
        expect(idsOf(await send('GET', query))).toEqual(['o4', 'o2']);
        // The first query has begun the build.
        const plan = async (): Promise<string | undefined> =>
          (await send('GET', `${query}&_explain=true`)).headers['query-plan'];
        await expect.poll(plan, { timeout: 30_000 }).toMatch(/^index=status%2C-weight; objects=3; .*order=index/);
        const first = await send('GET', query);
        expect(idsOf(first)).toEqual(['o4', 'o2']);
        const next = first.headers['next-page']!.replace(/^.*\/v1/, '');
        expect(idsOf(await send('GET', next))).toEqual(['o0']);
        expect((await send('HEAD', `${list}?status=lost&min_weight=2`)).headers['total-objects']).toBe('2');

        const refused = await send('POST', list, { label: 'l3' });
        expect(refused).toMatchObject({
          status: 409,
          body: { errno: 122, details: { field: 'label', record: { id: 'o3' } } },
        });
        expect((await send('PATCH', `${list}/o2`, { label: 'l3' })).status).toBe(409);
        expect((await send('PATCH', `${list}/o3`, { label: 'other' })).status).toBe(200);
        expect((await send('PATCH', `${list}/o2`, { label: 'l3' })).status).toBe(200);

        const found = await send('GET', `${list}?_q=green+number4`);
        if (backend.name === 'redis') expect(found.status).toBe(400);
        else expect(idsOf(found)).toEqual(['o4']);
        expect(idsOf(await send('DELETE', `${list}?status=sent&gt_weight=0`)).toSorted()).toEqual(['o2', 'o4']);
        expect(idsOf(await send('GET', `${list}?status=sent`))).toEqual(['o0']);
      } finally {
        await service.close();
      }
    });
  });

  it(`indexes of a shareable kind on ${backend.name} are explained to callers who may write its list only`, async () => {
    const service = await backend.start({
      plugins: [parcels(declared)],
      settings: {
        ...settings,
        parcel_read_principals: 'system.Authenticated',
        parcel_write_principals: 'basicauth:none',
      },
    });
    try {
      const send = client(service);
      expect((await send('PUT', '/parcels/p', { label: 'x' })).status).toBe(201);
      const { headers } = await send('GET', '/parcels?label=x&_explain=true', undefined, 'bob');
      expect(headers['query-plan']).toBeUndefined();
    } finally {
      await service.close();
    }
  });
});

/** Indexes that versions of a plugin declare, their states, and the status of a write with the values of another object. */
const versions: readonly (readonly [JsonArray, readonly string[], number])[] = [
  [[], [], 201],
  [[{ fields: ['n'], unique: true }], ['parcel n ready', 'stop n ready'], 409],
  [[{ fields: ['n', 'm'] }], ['parcel n,m ready', 'stop n,m ready'], 201],
  [[], [], 201],
];

describe('a new version of a plugin', () => {
  it('gets the indexes that it declares built, and those of the version before removed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'coffer-test-'));
    const url = join(folder, 'coffer.sqlite3');
    const stored = {
      ...settings,
      storage_backend: 'sqlite',
      storage_url: url,
      permission_backend: 'sqlite',
      permission_url: url,
    };
    const states = async (): Promise<readonly string[]> =>
      (await listIndexes(settingsOf({ ...stored, userid_hmac_secret: 'secret' })))
        .flatMap(({ list, indexes }) => indexes.map(({ name, status }) => `${list.kind} ${name} ${status}`))
        .toSorted();
    try {
      for (const [version, expected, status] of versions) {
        const service = await startTestService({ plugins: [parcels(version)], settings: stored });
        const send = client(service);
        await send('PUT', '/parcels/p', { n: 1 });
        await send('PUT', '/parcels/p/stops/a', { n: 1 });
        await expect.poll(states, { timeout: 30_000 }).toEqual(expected);
        expect((await send('PUT', '/parcels/q', { n: 1 })).status).toBe(status);
        await send('DELETE', '/parcels/q');
        await service.close();
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
