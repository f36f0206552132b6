// The figures of the overview: from observations at chosen times, and from services on every backend.
import { describe, expect, test } from 'vitest';
import type { RequestObservation } from '../../../src/contracts/observer.ts';
import { DurationHistogram } from '../../../src/plugins/operations/duration-histogram.ts';
import { Figures, ringSizes } from '../../../src/plugins/operations/figures.ts';
import { SlowRequests } from '../../../src/plugins/operations/slow-requests.ts';
import { TimeRing } from '../../../src/plugins/operations/time-ring.ts';
import { forEachBackend } from '../../support/backends.ts';
import { memory, operate } from './operators.ts';

const start = 1_700_000_000_000;

function steppingClock(): { readonly now: () => number; readonly advance: (ms: number) => void } {
  let now = start;
  return { now: () => now, advance: (ms) => void (now += ms) };
}

const request = (milliseconds: number, status = 200): RequestObservation => ({
  kind: 'request',
  method: 'GET',
  path: `/v1/${milliseconds}`,
  query: '',
  endpoint: 'hello',
  route: '/',
  ids: {},
  status,
  errno: 0,
  userId: undefined,
  milliseconds,
  requestId: 'id',
  agent: undefined,
  language: undefined,
  requestBytes: 0,
  responseBytes: 0,
  plan: undefined,
  entries: undefined,
});

describe('Durations', () => {
  test.each([0.2, 3, 47, 900, 12_345])('A percentile of %d ms is within a tenth.', (milliseconds) => {
    const histogram = new DurationHistogram();
    for (let n = 0; n < 99; n++) histogram.add(milliseconds);
    histogram.add(milliseconds * 20);
    expect(histogram.percentile(0.5)! / milliseconds).toBeGreaterThan(0.9);
    expect(histogram.percentile(0.5)! / milliseconds).toBeLessThan(1.1);
    expect(histogram.percentile(0.99)).toBe(histogram.percentile(0.5));
    expect(histogram.maxMs).toBe(milliseconds * 20);
  });

  test('Extreme durations are counted, and no durations have no percentile.', () => {
    const histogram = new DurationHistogram();
    expect([histogram.percentile(0.5), histogram.maxMs]).toEqual([null, null]);
    for (const milliseconds of [0, 1e-9, 1e12]) histogram.add(milliseconds);
    const merged = new DurationHistogram();
    merged.merge(histogram.counts);
    merged.merge(histogram.counts);
    expect(merged.counts.buckets.reduce((sum, [, count]) => sum + count, 0)).toBe(6);
    expect(merged.maxMs).toBe(1e12);
  });
});

describe('Rings', () => {
  test('A ring forgets the oldest steps.', () => {
    const ring = new TimeRing({ stepMs: 10, steps: 3, create: () => ({ count: 0 }) });
    for (const time of [100, 105, 110, 120, 130, 139]) ring.at(time).count++;
    expect(ring.until(139)).toEqual([
      { index: 11, value: { count: 1 } },
      { index: 12, value: { count: 1 } },
      { index: 13, value: { count: 2 } },
    ]);
    expect(ring.until(155)).toEqual([{ index: 13, value: { count: 2 } }]);
    expect(ring.until(1000)).toEqual([]);
  });

  test('The series never exceed their sizes, however long the process runs.', () => {
    const clock = steppingClock();
    const figures = new Figures(clock, null);
    for (let n = 0; n < 2000; n++) {
      figures.observe(request(5, n % 2 === 0 ? 200 : 404), clock.now());
      figures.observe({ kind: 'event-loop', meanMs: 1, maxMs: 2 }, clock.now());
      clock.advance(ringSizes.hour.stepMs);
    }
    const { rings, classes } = figures.report();
    expect(classes).toEqual([0, 1000, 0, 1000, 0]);
    expect(rings.hour.length).toBeLessThanOrEqual(ringSizes.hour.steps);
    expect(rings.day.length).toBeLessThanOrEqual(ringSizes.day.steps);
    expect(rings.hour.at(-1)).toMatchObject({ loop: { sumMs: 1, count: 1, maxMs: 2 }, liveStreams: 0 });
  });

  test('The slowest requests of each window are kept, and forgotten after an hour.', () => {
    const clock = steppingClock();
    const slow = new SlowRequests(clock);
    for (let n = 1; n <= 1000; n++) slow.observe(request(n), clock.now());
    const kept = slow.report().map(({ milliseconds }) => milliseconds);
    expect(kept).toEqual(Array.from({ length: 50 }, (_, n) => 1000 - n));
    clock.advance(1_800_000);
    slow.observe(request(1), clock.now());
    expect(slow.report()).toHaveLength(51);
    clock.advance(1_800_000);
    expect(slow.report()).toHaveLength(1);
  });
});

interface Overview {
  readonly data: {
    readonly requests: Record<string, number>;
    readonly storage: Record<string, number | string | null>;
    readonly collections: { readonly is_complete: boolean; readonly largest: readonly object[] };
    readonly health: Record<string, boolean>;
    readonly latency: Record<string, number | null>;
    readonly processes: readonly object[];
    readonly series: Record<'hour' | 'day', Record<string, readonly unknown[]>>;
  };
}

forEachBackend((backend) => {
  describe(`The overview on ${backend.name}`, () => {
    test('shows requests, health, objects and the largest collections.', { timeout: 60_000 }, async () => {
      const clock = steppingClock();
      const service = await operate(backend, { clock });
      const ann = service.asUser('ann');
      for (const path of ['/b', '/b/collections/c', '/b/collections/d', '/b/collections/c/records/1']) {
        await ann.request('PUT', `/v1/buckets${path}`);
      }
      await ann.request('GET', '/v1/nothing');
      // The first measurement at the start is old now.
      clock.advance(60_000);
      const { data } = (await service.read('overview')) as unknown as Overview;
      await service.close();
      expect(data).toMatchObject({
        requests: { total: 5, '2xx': 4, '4xx': 1, '5xx': 0 },
        health: { storage: true, permission: true, cache: true },
        storage: { engine: backend.name, measured: clock.now(), buckets: 1, groups: 0, collections: 2, records: 1 },
        collections: { is_complete: true, largest: [{ uri: '/buckets/b/collections/c', records: 1 }] },
        processes: [{ pid: process.pid, worker: null, started: start }],
      });
      const size = data.storage['size_bytes'];
      if (backend.name === 'sqlite' || backend.name === 'postgresql') expect(size).toBeGreaterThan(8000);
      else expect(size).toBeNull();
      for (const name of ['hour', 'day'] as const) {
        const { step_seconds: _, requests, collections, ...columns } = data.series[name];
        const length = columns['time']!.length;
        expect(length).toBeLessThanOrEqual(name === 'hour' ? 7 : 2);
        for (const column of [...Object.values(columns), ...Object.values(requests!)])
          expect(column).toHaveLength(length);
        expect(columns['records']!.at(-1)).toBe(1);
        expect(collections).toMatchObject([{ uri: '/buckets/b/collections/c' }]);
      }
      expect(data.series.hour.requests).toMatchObject({ '2xx': expect.arrayContaining([4]) });
    });
  });
});

test('Many requests at once measure the stores and check the health once.', async () => {
  const service = await operate(memory);
  const all = await Promise.all(Array.from({ length: 20 }, () => service.read('overview')));
  const measured = all.map(({ data }) => (data as Overview['data']).storage['measured']);
  expect(new Set(measured).size).toBe(1);
  await service.close();
});

test('Slow requests have their route, and secrets in queries are redacted.', async () => {
  const service = await operate(memory);
  const ann = service.asUser('ann');
  await ann.request('PUT', '/v1/buckets/b');
  await ann.request('GET', '/v1/?access_token=s3cret&x=1');
  await ann.request('GET', '/v1/buckets/b/groups?_explain=true&n=1');
  await ann.request('POST', '/v1/batch', { body: { requests: [{ path: '/v1/' }] } });
  const { data } = await service.read('slow?_limit=200');
  expect(JSON.stringify(data)).not.toContain('s3cret');
  expect(data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ route: '/', query: 'access_token=[removed]&x=1', plan: null }),
      expect.objectContaining({ route: '/buckets/{bucket_id}/groups', plan: expect.stringMatching(/^scan/) }),
      expect.objectContaining({ method: 'POST', route: '/batch', batch_entries: 1 }),
    ]),
  );
  expect((await service.read('slow?_limit=2')).data).toHaveLength(2);
  await service.close();
});
