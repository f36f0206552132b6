// S24: a batch holds its locks until its last entry is done, so the objects that its entries read and change are limited
// together, however little the entries send and are answered.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TestResponse, TestService } from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';

const list = '/buckets/b/collections/c/records';
const limits = { batch_max_bytes: '1000000' };

interface Entry {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

describe.each(allBackends)('A batch on $name', ({ start }) => {
  async function open(): Promise<TestService> {
    const service = await start({ settings: limits });
    onTestFinished(() => service.close());
    await service.request('PUT', '/v1/buckets/b', { auth: 'ann' });
    await service.request('PUT', '/v1/buckets/b/collections/c', { auth: 'ann' });
    for (const id of ['x', 'y', 'z']) {
      const body = { data: { n: 0, text: id.repeat(400_000) } };
      expect((await service.request('PUT', `/v1${list}/${id}`, { auth: 'ann', body })).status).toBe(201);
    }
    return service;
  }

  function send(service: TestService, requests: readonly Entry[]): Promise<TestResponse> {
    return service.request('POST', '/v1/batch', { auth: 'ann', body: { requests } });
  }

  function patch(id: string, n: number): Entry {
    const headers = { 'Response-Behavior': 'light' };
    return { method: 'PATCH', path: `${list}/${id}`, headers, body: { data: { n } } };
  }

  it('is refused and undone as a whole when it changes more than it may.', async () => {
    const service = await open();
    const small: Entry = { method: 'PUT', path: `${list}/small`, body: { data: {} } };
    const refused = await send(service, [small, patch('x', 1), patch('y', 1), patch('z', 1)]);
    expect(refused).toMatchObject({ status: 413, body: { errno: 113 } });
    expect((refused.body as { message: string }).message).toMatch(/read and change are larger than 1000000 bytes/);
    const after = await service.request('GET', `/v1${list}?_fields=n`, { auth: 'ann' });
    expect(after.body).toMatchObject({ data: [{ n: 0 }, { n: 0 }, { n: 0 }] });

    const fitting = await send(service, [small, patch('x', 1), patch('y', 1)]);
    expect(fitting.body).toMatchObject({ responses: [{ status: 201 }, { status: 200 }, { status: 200 }] });
  });

  it('counts one object as often as it is changed, and as long as it becomes.', async () => {
    const service = await open();
    expect((await send(service, [patch('x', 1), patch('x', 2), patch('x', 3)])).status).toBe(413);
    const headers = { 'Response-Behavior': 'light', 'Content-Type': 'application/json-patch+json' };
    const copies = ['a', 'b'].map((name) => ({ op: 'copy', from: '/data/text', path: `/data/${name}` }));
    const grow: Entry = { method: 'PATCH', path: `${list}/y`, headers, body: copies };
    expect((await send(service, [grow])).status).toBe(413);
    expect((await service.request('GET', `/v1${list}/y`, { auth: 'ann' })).text.length).toBeLessThan(500_000);
  });

  it.each<[string, (id: string) => Entry]>([
    ['fields', (id) => ({ path: `${list}/${id}?_fields=n` })],
    ['lists of fields', () => ({ path: `${list}?_fields=n&_limit=1` })],
    ['the state', (id) => ({ method: 'HEAD', path: `${list}/${id}` })],
    ['what has changed meanwhile', (id) => ({ ...patch(id, 1), headers: { 'If-Match': '"1"' } })],
    ['what keeps its attributes', (id) => ({ method: 'PUT', path: `${list}/${id}`, body: { permissions: {} } })],
  ])('counts objects of which it reads %s.', async (_, entry) => {
    const service = await open();
    const [x, y, z] = ['x', 'y', 'z'].map(entry);
    expect((await send(service, [x!, y!, z!])).status).toBe(413);
    expect((await send(service, [x!, y!])).status).toBe(200);
  });

  it('has limits that single requests do not have.', async () => {
    const service = await open();
    const body = { data: { n: 0, text: 'x'.repeat(1_500_000) } };
    expect((await service.request('PUT', `/v1${list}/large`, { auth: 'ann', body })).status).toBe(201);
    const headers = { 'Response-Behavior': 'light' };
    for (let n = 1; n < 3; n++) {
      const change = { auth: 'ann', headers, body: { data: { n } } };
      const changed = await service.request('PATCH', `/v1${list}/large`, change);
      expect([changed.status, changed.body]).toEqual([200, { data: { n } }]);
    }
  });
});
