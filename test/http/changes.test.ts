// Monitored changes: the list of changes, changesets of collections, and broadcasts.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newestTimestamp } from '../../src/plugins/changes/monitored-collections.ts';
import { createTestClock, startTestService, type TestClient } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

interface Entry {
  readonly id: string;
  readonly bucket: string;
  readonly collection: string;
  readonly last_modified: number;
}

const monitor = '/v1/buckets/monitor/collections/changes/records';
const settings = {
  includes: 'changes',
  'changes.resources': '/buckets/main /buckets/other/collections/shown',
  'changes.excluded_collections': '/buckets/main/collections/hidden',
  'changes.http_host': 'settings.example.org',
  'main.c.record_cache_maximum_expires_seconds': '3600',
  'monitor.changes.record_cache_expires_seconds': '60',
};

async function fill(alice: TestClient): Promise<void> {
  for (const [bucket, names] of [
    ['main', ['c', 'hidden', 'c-preview', 'untouched']] as const,
    ['other', ['shown', 'private']] as const,
  ]) {
    await alice.request('PUT', `/v1/buckets/${bucket}`);
    for (const name of names) {
      await alice.request('PUT', `/v1/buckets/${bucket}/collections/${name}`, { body: { data: { title: name } } });
      if (name === 'untouched') continue;
      await alice.request('PUT', `/v1/buckets/${bucket}/collections/${name}/records/a`, { body: { data: { n: 1 } } });
    }
  }
}

forEachBackend((backend) => {
  describe(`monitored changes on ${backend.name}`, () => {
    it('are public, newest first, without unmonitored, excluded or deleted collections.', async () => {
      const service = await backend.start({ settings });
      try {
        const alice = service.asUser('alice');
        await fill(alice);
        const { status, body, headers } = await service.request('GET', monitor);
        const { data } = body as { data: readonly Entry[] };
        expect(status).toBe(200);
        expect(data.map(({ bucket, collection }) => `${bucket}/${collection}`)).toEqual([
          'other/shown',
          'main/c-preview',
          'main/c',
        ]);
        const hex = createHash('md5').update('settings.example.org/buckets/main/collections/c').digest('hex');
        expect(data[2]).toMatchObject({ host: 'settings.example.org' });
        expect(data[2]!.id.replaceAll('-', '')).toBe(hex);
        expect(headers['etag']).toBe(`"${data[0]!.last_modified}"`);
        expect(headers['cache-control']).toBe('max-age=60');
        const records = await alice.request('HEAD', '/v1/buckets/main/collections/c/records');
        expect(records.headers['etag']).toBe(`"${data[2]!.last_modified}"`);

        await alice.request('DELETE', '/v1/buckets/other/collections/shown');
        const after = (await service.request('GET', monitor)).body as { data: readonly Entry[] };
        expect(after.data).toHaveLength(2);
      } finally {
        await service.close();
      }
    });

    it('are returned as consistent changesets.', async () => {
      const service = await backend.start({ settings });
      try {
        const alice = service.asUser('alice');
        await fill(alice);
        const collection = '/v1/buckets/main/collections/c';
        await alice.request('PUT', `${collection}/records/b`, {
          body: { data: { n: 12345678901234567890n.toString() } },
        });
        await alice.request('DELETE', `${collection}/records/a`);
        const whole = await alice.request('GET', `${collection}/changeset?_expected=1`);
        expect(whole.body).toMatchObject({
          metadata: { id: 'c', bucket: 'main', title: 'c' },
          changes: [{ id: 'b' }],
        });
        const { timestamp } = whole.body as { timestamp: number };
        const recent = await alice.request('GET', `${collection}/changeset?_expected=1&_since="${timestamp - 1}"`);
        expect(recent.body).toMatchObject({
          timestamp,
          changes: [{ id: 'a', deleted: true, last_modified: timestamp }],
        });
        expect(recent.headers).not.toHaveProperty('etag');
        expect(recent.headers['cache-control']).toBe('private, max-age=3600');
        const one = await alice.request(
          'GET',
          `${collection}/changeset?_expected=1&_since=${timestamp - 10_000}&_limit=1`,
        );
        expect((one.body as { changes: unknown[] }).changes).toEqual([
          { id: 'a', deleted: true, last_modified: timestamp },
        ]);
        expect(await service.request('GET', `${collection}/changeset?_expected=1`)).toMatchObject({ status: 401 });
        const bob = service.asUser('bob');
        expect(await bob.request('GET', `${collection}/changeset?_expected=1`)).toMatchObject({ status: 403 });
        const missing = await alice.request('GET', '/v1/buckets/main/collections/missing/changeset?_expected=1');
        expect(missing).toMatchObject({ status: 404, body: { errno: 111 } });
      } finally {
        await service.close();
      }
    });

    it('are not in changesets for callers whom settings let read collections only.', async () => {
      const started = await backend.start({ settings });
      const { id } = ((await started.request('GET', '/v1/', { auth: 'bob' })).body as { user: { id: string } }).user;
      await started.close();
      const service = await backend.start({ settings: { ...settings, collection_read_principals: id } });
      try {
        const alice = service.asUser('alice');
        await fill(alice);
        const bob = service.asUser('bob');
        const collection = '/v1/buckets/main/collections/c';
        expect(await bob.request('GET', collection)).toMatchObject({ status: 200 });
        expect(await bob.request('GET', `${collection}/changeset?_expected=1`)).toMatchObject({ status: 403 });
        await alice.request('PATCH', collection, { body: { permissions: { read: [id] } } });
        expect(await bob.request('GET', `${collection}/changeset?_expected=1`)).toMatchObject({ status: 200 });
      } finally {
        await service.close();
      }
    });

    it('are cut only at the limit of the client, not where pages of lists end.', async () => {
      const pages = { paginate_by: '2', storage_max_fetch_size: '3' };
      const service = await backend.start({ settings: { ...settings, ...pages } });
      try {
        const alice = service.asUser('alice');
        await fill(alice);
        const collection = '/v1/buckets/main/collections/c';
        for (const id of ['b', 'c', 'd', 'e', 'f']) await alice.request('PUT', `${collection}/records/${id}`);
        await alice.request('DELETE', `${collection}/records/b`);
        const ids = async (query: string): Promise<string> => {
          const { body } = await alice.request('GET', `${collection}/changeset?_expected=1${query}`);
          return (body as { changes: readonly { id: string }[] }).changes.map(({ id }) => id).join('');
        };
        expect(await ids('')).toBe('fedca');
        expect(await ids('&_since=1')).toBe('bfedca');
        expect(await ids('&_limit=5&_since=1')).toBe('bfedc');
        expect(await ids('&_limit=42000')).toBe('fedca');
        const monitored = await service.request('GET', `${monitor.replace('records', 'changeset')}?_expected=1`);
        expect((monitored.body as { changes: readonly unknown[] }).changes).toHaveLength(3);
      } finally {
        await service.close();
      }
    });

    it('refuses a changeset with more deletions than fit in one response.', async () => {
      const limits = { max_page_bytes: '100', max_answer_bytes: '400' };
      const service = await backend.start({ settings: { ...settings, ...limits } });
      try {
        const alice = service.asUser('alice');
        await fill(alice);
        const collection = '/v1/buckets/main/collections/c';
        const remove = async (id: string): Promise<void> => {
          await alice.request('PUT', `${collection}/records/${id}`);
          await alice.request('DELETE', `${collection}/records/${id}`);
        };
        for (const id of ['b', 'c', 'd']) await remove(id);
        const read = (): Promise<unknown> => alice.request('GET', `${collection}/changeset?_expected=1&_since=1`);
        expect(await read()).toMatchObject({ body: { changes: [{ id: 'd' }, { id: 'c' }, { id: 'b' }, { id: 'a' }] } });
        await remove('e');
        expect(await read()).toMatchObject({ status: 413, body: { errno: 113 } });
      } finally {
        await service.close();
      }
    });

    it('returns a changeset larger than a page, up to the maximum response size.', async () => {
      const limits = { max_page_bytes: '500', max_answer_bytes: '2000' };
      const service = await backend.start({ settings: { ...settings, ...limits } });
      try {
        const alice = service.asUser('alice');
        await fill(alice);
        const collection = '/v1/buckets/main/collections/c';
        const put = (id: string): Promise<unknown> =>
          alice.request('PUT', `${collection}/records/${id}`, { body: { data: { text: 'x'.repeat(400) } } });
        for (const id of ['b', 'c', 'd', 'e']) await put(id);
        const whole = await alice.request('GET', `${collection}/changeset?_expected=1`);
        expect((whole.body as { changes: readonly { id: string }[] }).changes.map(({ id }) => id).join('')).toBe(
          'edcba',
        );
        await put('f');
        const large = await alice.request('GET', `${collection}/changeset?_expected=2`);
        expect(large).toMatchObject({ status: 413, body: { errno: 113 } });
        const first = await alice.request('GET', `${collection}/changeset?_expected=2&_limit=4`);
        expect((first.body as { changes: readonly unknown[] }).changes).toHaveLength(4);
      } finally {
        await service.close();
      }
    });
  });
});

describe('The list of changes', () => {
  it('has a timestamp however many collections are monitored.', () => {
    const names = { id: 'i', bucket: 'b', collection: 'c', host: 'h' };
    const entries = Array.from({ length: 300_000 }, (_, last_modified) => ({ ...names, last_modified }));
    const reached = { sharedClock: 0, completeTo: 500_000 };
    expect(newestTimestamp({ entries, ...reached }, 400_000)).toBe(299_999);
    expect(newestTimestamp({ entries: [], ...reached }, 400_000)).toBe(400_000);
  });

  it('keeps the timestamp that it has reached when a collection changes while it is read.', () => {
    const place = { id: 'i', bucket: 'b', collection: 'c', host: 'h' };
    const newestOf = (...timestamps: number[]): number => {
      const entries = timestamps.map((last_modified) => ({ ...place, last_modified }));
      return newestTimestamp({ entries, sharedClock: 200, completeTo: 200 }, 300);
    };
    expect(newestOf(100, 200)).toBe(200);
    expect(newestOf(100, 201)).toBe(200);
    // A collection with the newest timestamp was deleted.
    expect(newestOf(100, 150)).toBe(150);
  });

  it('has no timestamp from the future, which a client has set, so that followers miss no other change.', async () => {
    const clock = createTestClock();
    const service = await startTestService({ settings, clock });
    const alice = service.asUser('alice');
    await fill(alice);
    const future = { data: { last_modified: clock.now() + 86_400_000 } };
    await alice.request('PUT', '/v1/buckets/main/collections/c/records/far', { body: future });
    await alice.request('PUT', '/v1/buckets/other/collections/shown/records/b');
    const first = await service.request('GET', monitor);
    const { data } = first.body as { data: readonly Entry[] };
    const shown = data.find(({ collection }) => collection === 'shown')!;
    expect(data[0]).toMatchObject({ collection: 'c', last_modified: clock.now() + 86_400_000 });
    expect(first.headers['etag']).toBe(`"${shown.last_modified}"`);
    await alice.request('PUT', '/v1/buckets/other/collections/shown/records/c');
    const next = await service.request('GET', `${monitor}?_since=${first.headers['etag']}`);
    expect((next.body as { data: readonly Entry[] }).data.map(({ collection }) => collection)).toEqual(['c', 'shown']);
    const { body } = await service.request('GET', `${monitor.replace('records', 'changeset')}?_expected=0`);
    expect(body).toMatchObject({ timestamp: Number(next.headers['etag']!.replaceAll('"', '')) });
    // The next change of that collection does not move the timestamp, and is shown nevertheless.
    await alice.request('PUT', '/v1/buckets/main/collections/c/records/later');
    const headers = { 'If-None-Match': next.headers['etag']! };
    const last = await service.request('GET', `${monitor}?_since=${next.headers['etag']}`, { headers });
    expect(last).toMatchObject({ body: { data: [{ collection: 'c', last_modified: clock.now() + 86_400_001 }] } });
    expect(last.headers['etag']).toBe(next.headers['etag']);
    await service.close();
  });

  it('supports filters, sorting and paging.', async () => {
    const service = await startTestService({ settings: { ...settings, paginate_by: '2' } });
    await fill(service.asUser('alice'));
    const names = async (query: string): Promise<readonly string[]> => {
      const { body } = await service.request('GET', `${monitor}?${query}`);
      return (body as { data: readonly Entry[] }).data.map(({ collection }) => collection);
    };
    expect(await names('bucket=main&_sort=collection')).toEqual(['c', 'c-preview']);
    expect(await names('collection=shown')).toEqual(['shown']);
    const first = await service.request('GET', monitor);
    const next = new URL(first.headers['next-page']!);
    expect(await service.request('GET', next.pathname + next.search)).toMatchObject({
      body: { data: [{ collection: 'c' }] },
    });
    expect((await service.request('HEAD', monitor)).headers['total-records']).toBe('3');
    const fields = await service.request('GET', `${monitor}?_fields=collection&collection=c`);
    expect(Object.keys((fields.body as { data: readonly object[] }).data[0]!).toSorted()).toEqual([
      'collection',
      'id',
      'last_modified',
    ]);
    expect(await service.request('GET', `${monitor}?unknown=1`)).toMatchObject({ status: 400, body: { errno: 107 } });
    expect(await service.request('PUT', monitor)).toMatchObject({ status: 405 });
    await service.close();
  });

  it('handles clients that are up to date, notified late, or too old.', async () => {
    const service = await startTestService({ settings });
    await fill(service.asUser('alice'));
    const { headers } = await service.request('GET', monitor);
    const seen = await service.request('GET', monitor, { headers: { 'If-None-Match': headers['etag']! } });
    expect(seen).toMatchObject({ status: 200, body: { data: [] } });
    const now = Date.now();
    expect(await service.request('GET', `${monitor}?_since=${now}&_expected=${now - 1000}`)).toMatchObject({
      status: 204,
      text: '',
    });
    const old = now - 22 * 86_400_000;
    const away = await service.request('GET', `${monitor}?_since="${old}"&_expected=${now}`);
    expect(away).toMatchObject({ status: 307, headers: { 'cache-control': 'max-age=86400' } });
    expect(away.headers['location']).toBe(`https://settings.example.org${monitor}?_expected=${now}`);
    await service.close();
  });

  it('has its own changeset.', async () => {
    const service = await startTestService({ settings });
    await fill(service.asUser('alice'));
    const address = '/v1/buckets/monitor/collections/changes/changeset';
    const { body } = await service.request('GET', `${address}?_expected=1&bucket=main&_limit=1`);
    expect(body).toMatchObject({ metadata: { bucket: 'monitor' }, changes: [{ collection: 'c-preview' }] });
    const quoted = await service.request('GET', `${address}?_expected="1"`);
    expect(quoted.headers['location']).toBe(`https://settings.example.org${address}?_expected=1`);
    await service.close();
  });

  it.each([
    '',
    '?_expected=1&_since=x',
    '?_expected=1&_since=-1',
    '?_expected=1&_since=4102444800001',
    '?_expected=1&_limit=x',
    '?_expected=1&_since=',
  ])('refuses changesets with the query "%s".', async (query) => {
    const service = await startTestService({ settings });
    expect(await service.request('GET', `/v1/buckets/monitor/collections/changes/changeset${query}`)).toMatchObject({
      status: 400,
      body: { errno: 107 },
    });
    await service.close();
  });

  it('is broadcast without previews and with a minimum interval.', async () => {
    const service = await startTestService({ settings });
    const alice = service.asUser('alice');
    await fill(alice);
    await alice.request('DELETE', '/v1/buckets/other');
    const read = async (): Promise<unknown> => (await service.request('GET', '/v1/__broadcasts__')).body;
    const { headers } = await alice.request('HEAD', '/v1/buckets/main/collections/c/records');
    const first = await read();
    expect(first).toEqual({ broadcasts: { 'remote-settings/monitor_changes': headers['etag'] }, code: 200 });
    await alice.request('PUT', '/v1/buckets/main/collections/c/records/later');
    expect(await read()).toEqual(first);
    await service.close();
  });

  it('is not broadcast for a preview while another collection is far in the future.', async () => {
    const clock = createTestClock();
    const interval = { push_broadcast_min_debounce_interval_seconds: '0' };
    const service = await startTestService({ settings: { ...settings, ...interval }, clock });
    const alice = service.asUser('alice');
    await fill(alice);
    const read = async (): Promise<unknown> => (await service.request('GET', '/v1/__broadcasts__')).body;
    const future = { data: { last_modified: clock.now() + 86_400_000 } };
    await alice.request('PUT', '/v1/buckets/main/collections/c/records/far', { body: future });
    const first = await read();
    await alice.request('PUT', '/v1/buckets/main/collections/c-preview/records/later');
    expect(await read()).toEqual(first);
    await service.close();
  });

  it('lists monitored URIs in its capability, and refuses invalid ones.', async () => {
    const service = await startTestService({ settings });
    const { body } = await service.request('GET', '/v1/');
    expect(body).toMatchObject({
      capabilities: {
        changes: { collections: ['/buckets/main', '/buckets/other/collections/shown'], version: expect.any(String) },
      },
    });
    await service.close();
    const wrong = { ...settings, 'changes.resources': '/buckets/main/groups/g' };
    await expect(startTestService({ settings: wrong })).rejects.toThrow('/buckets/main/groups/g');
  });
});
