// Metrics for Prometheus: values, names, labels and limits.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';
import { parseExposition, type Scrape } from '../support/exposition.ts';

async function start(
  settings: Readonly<Record<string, string>> = {},
  more: TestServiceOptions = {},
): Promise<TestService> {
  const service = await startTestService({
    ...more,
    settings: { includes: 'prometheus', project_name: 'svc', ...settings },
  });
  onTestFinished(() => service.close());
  return service;
}

async function scrape(service: TestService): Promise<Scrape> {
  const { status, text } = await service.request('GET', '/v1/__metrics__');
  expect(status).toBe(200);
  return parseExposition(text);
}

describe('/__metrics__', () => {
  it('supports only GET and HEAD, as plain text.', async () => {
    const service = await start();
    const { status, headers } = await service.request('GET', '/v1/__metrics__');
    expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/plain; version=0\.0\.4/)]);
    const head = await service.request('HEAD', '/v1/__metrics__');
    expect([head.status, head.text]).toEqual([200, '']);
    const post = await service.request('POST', '/v1/__metrics__', { body: {} });
    expect([post.status, post.headers['allow']]).toEqual([405, expect.stringContaining('GET')]);
  });

  it('requires no credentials and ignores wrong ones.', async () => {
    const service = await start();
    for (const authorization of ['Basic %%%', 'Bearer nonsense', 'Basic YTpi']) {
      const { status } = await service.request('GET', '/v1/__metrics__', { headers: { authorization } });
      expect(status).toBe(200);
    }
    expect((await scrape(service)).value('svc_users_total')).toBeUndefined();
  });

  it('exists only with the plugin.', async () => {
    const service = await startTestService();
    onTestFinished(() => service.close());
    const { status, body } = await service.request('GET', '/v1/__metrics__');
    expect([status, body]).toMatchObject([404, { errno: 111 }]);
  });

  it('has a capability with its prefix and disabled metrics.', async () => {
    const service = await start({ prometheus_disabled_metrics: 'users_total', project_name: 'My Store 2' });
    const { body } = await service.request('GET', '/v1/');
    expect(body).toMatchObject({
      capabilities: { prometheus: { prefix: 'mystore2_', disabled_metrics: ['users_total'] } },
    });
  });

  it('has the software name as prefix unless a project name or a prefix is set.', async () => {
    const service = await startTestService({ settings: { includes: 'prometheus' } });
    onTestFinished(() => service.close());
    await service.request('GET', '/v1/');
    expect((await scrape(service)).value('coffer_request_summary_total', { endpoint: 'hello' })).toBe(1);
  });

  it('cannot be combined with StatsD.', async () => {
    const settings = { includes: 'prometheus statsd', statsd_url: 'udp://127.0.0.1:8125' };
    await expect(startTestService({ settings })).rejects.toThrow('contains both prometheus and statsd');
  });
});

describe('requests', () => {
  it('are counted by method, endpoint, ids and status.', async () => {
    const service = await start();
    const alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b');
    await alice.request('PUT', '/v1/buckets/b/collections/c');
    for (let n = 0; n < 3; n++) await alice.request('GET', '/v1/buckets/b/collections/c/records');
    await service.request('GET', '/v1/');
    const metrics = await scrape(service);
    const place = { method: 'get', endpoint: 'record-plural', bucket_id: 'b', collection_id: 'c', group_id: '' };
    expect(metrics.value('svc_request_summary_total', { ...place, status: '200' })).toBe(3);
    expect(metrics.value('svc_request_duration_seconds_count', place)).toBe(3);
    expect(metrics.value('svc_request_duration_seconds_bucket', { ...place, le: '+Inf' })).toBe(3);
    expect(metrics.value('svc_request_size_count', place)).toBe(3);
    expect(metrics.value('svc_request_size_sum', place)).toBe(3 * '{"data":[]}'.length);
    expect(metrics.value('svc_request_summary_total', { endpoint: 'hello', status: '200' })).toBe(1);
    expect(metrics.value('svc_request_summary_total', { endpoint: 'bucket-object', status: '201' })).toBe(1);
    expect([
      metrics.type('svc_request_summary_total'),
      metrics.type('svc_request_duration_seconds'),
      metrics.type('svc_request_size'),
    ]).toEqual(['counter', 'histogram', 'summary']);
  });

  it('prints labels in the order of their names and names the type in the help, like the reference server', async () => {
    const service = await start({ metrics_matchdict_fields: 'bucket_id collection_id group_id record_id' });
    const alice = service.asUser('alice');
    for (const path of ['', '/collections/c', '/collections/c/records/r']) {
      await alice.request('PUT', `/v1/buckets/b${path}`);
    }
    const { text } = await scrape(service);
    const place = 'bucket_id="b",collection_id="c",endpoint="record-object",group_id=""';
    for (const line of [
      `svc_request_summary_total{${place},method="put",record_id="r",status="201"} 1`,
      `svc_request_duration_seconds_count{${place},method="put",record_id="r"} 1`,
      `svc_request_duration_seconds_bucket{${place},le="+Inf",method="put",record_id="r"} 1`,
      `svc_request_size_count{${place},method="put",record_id="r"} 1`,
      '# HELP svc_request_size Summary of svc_request_size. ',
      '# HELP svc_request_summary_total Counter of svc_request_summary. ',
      '# HELP svc_request_duration_seconds Histogram of svc_request_duration_seconds. ',
    ]) {
      expect(text).toContain(line);
    }
  });

  it('has no label for ids of records unless metrics_matchdict_fields lists it', async () => {
    for (const [settings, values] of [
      [{}, [undefined]],
      [{ metrics_matchdict_fields: 'bucket_id record_id' }, ['r']],
    ] as const) {
      const service = await start(settings);
      const alice = service.asUser('alice');
      for (const path of ['', '/collections/c', '/collections/c/records/r']) {
        await alice.request('PUT', `/v1/buckets/b${path}`);
      }
      const written = (await scrape(service)).labels('svc_request_summary_total');
      const ofRecords = written.filter(({ endpoint }) => endpoint === 'record-object');
      expect(ofRecords.map(({ record_id: id }) => id)).toEqual(values);
    }
  });

  it('to unknown paths count as unknown, and ids of refused or missing objects are not labels.', async () => {
    const service = await start();
    await service.request('GET', '/v1/nothing/here');
    await service.request('GET', '/buckets');
    await service.asUser('alice').request('GET', '/v1/buckets/secret');
    await service.asUser('alice').request('DELETE', '/v1/buckets/secret');
    const metrics = await scrape(service);
    expect(metrics.value('svc_request_summary_total', { endpoint: 'unknown', status: '404' })).toBe(1);
    expect(metrics.value('svc_request_summary_total', { endpoint: 'unnamed', status: '307' })).toBe(1);
    const refused = metrics.labels('svc_request_summary_total').filter(({ status }) => status === '403');
    expect(refused.map(({ bucket_id: id }) => id)).toEqual(['', '']);
    expect(metrics.text).not.toContain('secret');
  });

  it('that are refused before dispatch are counted too.', async () => {
    const service = await start({ max_body_size: '10' });
    await service.request('POST', '/v1/buckets', { body: { data: { long: 'long' } } });
    const counted = { method: 'post', endpoint: 'unnamed', status: '413' };
    expect((await scrape(service)).value('svc_request_summary_total', counted)).toBe(1);
  });

  it('are counted by user and policy.', async () => {
    const service = await start();
    for (const user of ['alice', 'alice', 'bob']) await service.asUser(user).request('GET', '/v1/');
    await service.request('GET', '/v1/');
    const metrics = await scrape(service);
    expect(metrics.value('svc_authentication_total', { type: 'basicauth' })).toBe(3);
    const users = metrics.labels('svc_users_total');
    expect(users).toEqual(
      Array.from({ length: 2 }, () => ({ auth: 'basicauth', userid: expect.stringMatching(/^[0-9a-f]{64}$/) })),
    );
    expect(metrics.value('svc_authentication_basicauth_seconds_count', { method: 'authenticate' })).toBe(3);
  });

  it('count separately from the entries of a batch.', async () => {
    const service = await start();
    const requests = [{ method: 'PUT', path: '/buckets/b' }, { path: '/buckets/b' }, { path: '/nothing/' }];
    await service.asUser('alice').request('POST', '/v1/batch', { body: { requests } });
    const metrics = await scrape(service);
    expect(metrics.value('svc_request_summary_total', { endpoint: 'batch' })).toBe(1);
    expect(metrics.labels('svc_request_summary_total')).toHaveLength(1);
    expect([metrics.value('svc_batch_size_count'), metrics.value('svc_batch_size_sum')]).toEqual([1, 3]);
    expect(metrics.value('svc_batch_entries_total', { endpoint: 'bucket-object', status: '201' })).toBe(1);
    expect(metrics.value('svc_batch_entries_total', { endpoint: 'unknown', status: '404' })).toBe(1);
  });

  it('have limits of label values and of series, beyond which they count as others.', async () => {
    const service = await start({ metrics_max_label_values: '3' });
    const alice = service.asUser('alice');
    for (const id of ['b', 'c', 'd', 'e', 'f']) await alice.request('PUT', `/v1/buckets/${id}`);
    const ids = (await scrape(service)).labels('svc_request_summary_total').map((labels) => labels['bucket_id']);
    expect(new Set(ids)).toEqual(new Set(['b', 'c', 'd', '(other)']));
    const small = await start({ metrics_max_series: '2', metrics_matchdict_fields: 'bucket_id, status, odd-name' });
    for (const id of ['b', 'c', 'd']) await small.asUser('alice').request('PUT', `/v1/buckets/${id}`);
    const [first] = (await scrape(small)).labels('svc_request_summary_total');
    expect(Object.keys(first ?? {})).toEqual(['bucket_id', 'endpoint', 'method', 'odd_name', 'status']);
    const kept = (await scrape(small)).labels('svc_request_summary_total').map((labels) => labels['bucket_id']);
    expect(new Set(kept)).toEqual(new Set(['b', 'c', '(other)', '']));
    expect(kept.filter((id) => id === '')).toHaveLength(1);
  });
});

describe('settings of metrics', () => {
  it('control prefix, buckets and disabled metrics.', async () => {
    const service = await start({
      prometheus_prefix: '1-Shop',
      prometheus_histogram_buckets: '0.5, 2.5, Inf',
      prometheus_disabled_metrics: 'request_summary_total, _1shop_users, nodejs_version_info',
      prometheus_created_metrics_enabled: 'false',
    });
    await service.asUser('alice').request('GET', '/v1/');
    const metrics = await scrape(service);
    const bounds = metrics.labels('_1shop_request_duration_seconds_bucket').map(({ le }) => le);
    expect(bounds).toEqual(['0.5', '2.5', '+Inf']);
    for (const absent of ['request_summary', 'users', 'version_info', '_created']) {
      expect(metrics.text).not.toContain(absent);
    }
    expect(metrics.value('_1shop_authentication_total', {})).toBe(1);
  });

  it('refuse buckets in the wrong order.', async () => {
    await expect(start({ prometheus_histogram_buckets: '1 0.5' })).rejects.toThrow('rising order');
    await expect(start({ prometheus_histogram_buckets: '1 many' })).rejects.toThrow('rising order');
  });

  it('can export the creation time of each series.', async () => {
    const before = Date.now() / 1000;
    const service = await start();
    await service.request('GET', '/v1/');
    const metrics = await scrape(service);
    const created = metrics.value('svc_request_summary_created', { endpoint: 'hello' });
    expect(created).toBeGreaterThanOrEqual(before - 0.001);
    expect(metrics.type('svc_request_summary_created')).toBe('gauge');
  });

  it('include metrics of the process and its event loop.', async () => {
    const metrics = await scrape(await start());
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(metrics.value(name)).toBeGreaterThanOrEqual(0);
  });

  it('leaves out the metrics of handles, for which Node.js has no safe call', async () => {
    const original = Object.getOwnPropertyDescriptor(process, '_getActiveHandles')!;
    onTestFinished(() => void Object.defineProperty(process, '_getActiveHandles', original));
    let calls = 0;
    Object.defineProperty(process, '_getActiveHandles', { ...original, value: () => (calls++, []) });
    const { text } = await scrape(await start());
    expect(text).not.toContain('nodejs_active_handles');
    expect(text).toContain('# TYPE nodejs_active_resources gauge');
    expect(calls).toBe(0);
  });
});

describe('events', () => {
  it('measure the duration of listeners and plugins, even if they fail.', async () => {
    const plugin = definePlugin({
      name: 'watcher',
      setup: () => ({
        subscribers: [
          {
            name: 'my-watcher',
            on: 'ResourceChanged',
            handle({ changes: [change] }) {
              if (change?.ids['bucket_id'] === 'bad') throw new Error('no such thing');
            },
          },
        ],
        listeners: { noop: () => ({ handle: () => undefined }) },
      }),
    });
    const listeners = { event_listeners: 'quiet', 'event_listeners.quiet.use': 'noop' };
    const service = await start(listeners, { plugins: [plugin] });
    const statuses: number[] = [];
    for (const id of ['good', 'bad']) {
      statuses.push((await service.asUser('alice').request('PUT', `/v1/buckets/${id}`)).status);
    }
    expect(statuses).toEqual([201, 500]);
    const metrics = await scrape(service);
    expect(metrics.value('svc_plugins_my_watcher_seconds_count')).toBe(2);
    expect(metrics.value('svc_listeners_quiet_seconds_count')).toBe(1);
  });

  it('are not affected by an observer that throws, which is logged.', async () => {
    const lines: unknown[] = [];
    const logger = { ...silentLogger, error: (fields: unknown) => void lines.push(fields) };
    const plugin = definePlugin({
      name: 'clumsy',
      setup: () => ({
        observer: {
          observe() {
            throw new Error('clumsy');
          },
        },
      }),
    });
    const service = await start({}, { plugins: [plugin], logger });
    expect((await service.request('GET', '/v1/')).status).toBe(200);
    expect(lines).toEqual([{ err: expect.any(Error), observation: 'request' }]);
    expect((await scrape(service)).value('svc_request_summary_total', { endpoint: 'hello' })).toBe(1);
  });
});

forEachBackend((backend) => {
  describe(`calls to ${backend.name}`, () => {
    let service: TestService;
    beforeAll(async () => {
      const settings = { includes: 'prometheus default_bucket', project_name: 'svc', pagination_token_signed: 'false' };
      service = await backend.start({ settings });
    });
    afterAll(() => service.close());

    it('work as usual and are measured by operation.', async () => {
      const alice = service.asUser('alice');
      const list = '/v1/buckets/default/collections/c/records';
      for (const id of ['r', 's', 't']) {
        expect((await alice.request('PUT', `${list}/${id}`, { body: { data: { id } } })).status).toBe(201);
      }
      expect((await alice.request('GET', list)).body).toMatchObject({ data: [{}, {}, {}] });
      const clash = await alice.request('PUT', `${list}/r`, { headers: { 'If-None-Match': '*' } });
      expect(clash.status).toBe(412);
      // The next page of a deletion is a one-time token in the cache.
      const { headers } = await alice.request('DELETE', `${list}?_limit=2`);
      const next = new URL(headers['next-page'] ?? '');
      expect((await alice.request('DELETE', next.pathname + next.search)).status).toBe(200);
      const { status } = await service.request('GET', '/v1/__heartbeat__');
      expect(status).toBe(200);

      const metrics = await scrape(service);
      const count = (kind: string, method: string): number | undefined =>
        metrics.value(`svc_backend_${kind}_seconds_count`, { method });
      for (const method of ['begin', 'commit', 'lock', 'list_text', 'delete_all']) {
        expect([method, count('storage', method)]).toEqual([method, expect.any(Number)]);
      }
      expect(count('permission', 'check_permission')).toBeGreaterThan(3);
      expect(count('cache', 'set')).toBeGreaterThan(0);
      expect(metrics.value('svc_cache_hits_total')).toBeGreaterThan(0);
      expect(metrics.value('svc_backend_failures_total')).toBeUndefined();
      // All personal buckets share one label.
      const written = { method: 'put', endpoint: 'record-object', bucket_id: 'default', collection_id: 'c' };
      expect(metrics.value('svc_request_summary_total', { ...written, status: '201' })).toBe(3);
      if (backend.name !== 'memory') {
        expect(metrics.value('svc_backend_pool_waiting', { database: backend.name })).toBe(0);
        expect(metrics.value('svc_backend_pool_limit', { database: backend.name })).toBeGreaterThan(0);
      }
    });
  });
});
