// Faults that attacks have found, each kept from coming back.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestClient, TestResponse } from '../../src/testing/service/service-client.ts';
import { backends, startWatched, type WatchedService } from './service.ts';

const list = '/v1/buckets/b/collections/c/records';

describe.each(backends)('faults found by attack on $name', (backend) => {
  let watched: WatchedService;
  let alice: TestClient;
  const put = (path: string, data: unknown): Promise<TestResponse> => alice.request('PUT', path, { body: { data } });

  beforeAll(async () => {
    watched = await startWatched(backend);
    alice = watched.service.asUser('alice');
    await put('/v1/buckets/b', {});
    await put('/v1/buckets/b/collections/c', {});
  });
  afterAll(async () => {
    await watched.service.close();
    expect(watched.errors).toEqual([]);
  });

  it('No timestamp of a client can bring the clock of a list to its end.', async () => {
    for (const wrong of [2 ** 53 - 1, 2 ** 52 + 1]) {
      expect((await put('/v1/buckets/poison', { last_modified: wrong })).status).toBe(400);
      expect((await put(`${list}/poison`, { last_modified: wrong })).status).toBe(400);
    }
    await put(`${list}/gone`, {});
    expect((await alice.request('DELETE', `${list}/gone?last_modified=${2 ** 53 - 1}`)).status).toBe(400);
    expect((await put(`${list}/latest`, { last_modified: 2 ** 52 })).status).toBe(201);
    const times: number[] = [];
    for (const id of ['x', 'y', 'z']) {
      const { status, body } = await put(`${list}/${id}`, {});
      expect(status).toBe(201);
      times.push((body as { data: { last_modified: number } }).data.last_modified);
    }
    expect(times).toEqual([2 ** 52 + 1, 2 ** 52 + 2, 2 ** 52 + 3]);
  });

  it('A host that is none is refused, so that it gets into no address.', async () => {
    for (const host of ['evil/path', 'h\u00e9', 'a b', '"><x', 'a@b', 'a?b', 'a#b', 'a\\b']) {
      const { status, text } = await alice.request('GET', '/v1/', { headers: { Host: host } });
      expect([host, status]).toEqual([host, 400]);
      expect(text).not.toContain(host);
    }
    for (const host of ['example.com', 'example.com:8888', '[::1]:80', 'my_host']) {
      expect((await alice.request('GET', '/v1/', { headers: { Host: host } })).status).toBe(200);
    }
  });

  it('No way leads from a batch into another batch.', async () => {
    const inner = { requests: [{ path: '/' }] };
    const paths = [
      '/batch',
      '/v1/batch',
      '/batch/',
      '/v1/batch//',
      '/%62atch',
      '/batch%2F',
      '/batch?x=1',
      '/v1/batch/?a',
    ];
    for (const path of paths) {
      const { status } = await alice.request('POST', '/v1/batch', {
        body: { requests: [{ method: 'POST', path, body: inner }] },
      });
      expect([path, status]).toEqual([path, 400]);
    }
    for (const path of [
      '/v1/v1/batch',
      '/v0/batch',
      '//batch',
      '/v1//batch',
      '/BATCH',
      '/v1/../batch',
      '/buckets//x/v1/batch/',
      '/x/../batch',
      '/batch;x',
    ]) {
      const { status, body } = await alice.request('POST', '/v1/batch', {
        body: { requests: [{ method: 'POST', path, body: inner }] },
      });
      const [entry] = (body as { responses: { status: number }[] }).responses;
      expect([path, status, entry!.status]).toEqual([path, 200, 404]);
    }
  });

  it('A heartbeat in a batch does not wait for the batch.', async () => {
    // One that waited would find the storage ill, after the timeout of heartbeats.
    const requests = [
      { method: 'PUT', path: '/buckets/b/collections/beat' },
      { path: '/__heartbeat__' },
      { method: 'PUT', path: '/buckets/nobody' },
    ];
    for (const client of [alice, watched.service]) {
      const { status, body } = await client.request('POST', '/v1/batch', { body: { requests } });
      expect(status).toBe(200);
      expect((body as { responses: unknown[] }).responses[1]).toMatchObject({
        status: 200,
        body: { storage: true, permission: true, cache: true },
      });
    }
  });

  it('Headers of batch entries hold no line breaks.', async () => {
    for (const text of ['a\r\nb', 'a\nb', 'a\0b']) {
      const { status } = await alice.request('POST', '/v1/batch', {
        body: { requests: [{ path: '/', headers: { 'X-Request-Id': text } }] },
      });
      expect(status).toBe(400);
    }
  });

  it('Caching times end where dates do.', async () => {
    const permissions = { read: ['system.Everyone'] };
    await alice.request('PUT', '/v1/buckets/b/collections/cached', {
      body: { data: { cache_expires: 9e15 }, permissions },
    });
    const { headers } = await watched.service.request('GET', '/v1/buckets/b/collections/cached/records');
    expect(headers['cache-control']).toBe('max-age=2147483647');
    expect(Number.isNaN(Date.parse(headers['expires']!))).toBe(false);
  });

  it('The personal bucket takes no longer ids than others.', async () => {
    const path = `/v1/buckets/default/collections/${'a'.repeat(3000)}`;
    for (const [method, below] of [
      ['GET', '/records'],
      ['PUT', ''],
      ['POST', '/records'],
      ['GET', ''],
    ] as const) {
      expect((await alice.request(method, path + below)).status).toBe(400);
    }
    expect((await alice.request('GET', '/v1/buckets/default/collections')).body).toEqual({ data: [] });
  });

  it('Methods that nothing serves are not allowed, whatever the shell thinks of them.', async () => {
    for (const method of ['QUERY', 'PROPFIND', 'LINK', 'TRACE', 'PURGE', 'M-SEARCH']) {
      const { status, body } = await alice.request(method, '/v1/buckets');
      expect([method, status, (body as { errno: number }).errno]).toEqual([method, 405, 115]);
    }
  });
});
