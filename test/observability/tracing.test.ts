// Traces, as a collector receives them: which spans there are, what hangs together, and what stands in them.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import { findTracing } from '../../src/observability/tracing/environment.ts';
import { startTestService } from '../../src/testing/index.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number };
}

interface Collector {
  readonly spans: Span[];
  readonly texts: string[];
  readonly authorizations: (string | undefined)[];
}

/** A collector on a free port, that the environment names. */
async function startCollector(status = 200): Promise<Collector> {
  const collected: Collector = { spans: [], texts: [], authorizations: [] };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      collected.texts.push(text);
      collected.authorizations.push(request.headers.authorization);
      collected.spans.push(...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap(({ spans }) => spans)));
      response.writeHead(request.url === '/v1/traces' ? status : 404, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return collected;
}

const attributesOf = (span: Span | undefined): Readonly<Record<string, unknown>> =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));

describe('traces', () => {
  beforeEach(() => vi.unstubAllEnvs());

  it("A request is a child span of its caller's span, with calls to backends as children.", async () => {
    const collector = await startCollector();
    vi.stubEnv('OTEL_SERVICE_NAME', 'the shop');
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20hunter2');
    const service = await startTestService();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const body = { data: { note: 'hunter2' } };
    const path = '/v1/buckets/food?password=hunter2';
    await service.asUser('alice').request('PUT', path, { body, headers: { traceparent } });
    await service.close();
    const request = collector.spans.find(({ kind }) => kind === 2);
    expect(request).toMatchObject({
      name: 'PUT /buckets/{bucket_id}',
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
    });
    expect(attributesOf(request)).toMatchObject({
      'http.request.method': 'PUT',
      'http.route': '/buckets/{bucket_id}',
      'http.response.status_code': 201,
      'url.path': '/v1/buckets/food',
      'enduser.id': expect.stringMatching(/^basicauth:/),
    });
    const operations = collector.spans.filter(({ kind }) => kind === 3);
    expect(operations.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['storage begin', 'storage lock', 'storage create', 'storage commit']),
    );
    for (const span of operations) {
      expect([span.traceId, span.parentSpanId]).toEqual([request?.traceId, request?.spanId]);
      expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(request!.startTimeUnixNano));
      expect(BigInt(span.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request!.endTimeUnixNano));
    }
    const create = operations.find(({ name }) => name === 'storage create');
    expect(attributesOf(create)).toMatchObject({
      'db.system.name': 'memory',
      'coffer.kind': 'bucket',
      'coffer.parent': '',
    });
    expect(collector.texts.join('')).toContain('the shop');
    expect(collector.authorizations).toContain('Bearer hunter2');
    expect(collector.texts.join('')).not.toContain('hunter2');
  });

  it('Entries of a batch are spans of their own, and a request without caller begins a trace.', async () => {
    const collector = await startCollector();
    const service = await startTestService();
    const requests = [{ method: 'PUT', path: '/buckets/b' }, { path: '/buckets/b' }];
    const headers = { traceparent: 'nonsense' };
    await service.asUser('alice').request('POST', '/v1/batch', { body: { requests }, headers });
    await service.close();
    const outer = collector.spans.find(({ name }) => name === 'POST /batch');
    expect(outer?.parentSpanId ?? '').toBe('');
    const entries = collector.spans.filter(({ name }) => name.startsWith('batch: '));
    expect(entries.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ['batch: PUT /buckets/{bucket_id}', outer?.spanId],
      ['batch: GET /buckets/{bucket_id}', outer?.spanId],
    ]);
    const create = collector.spans.find(({ name }) => name === 'storage create');
    expect(create?.parentSpanId).toBe(entries[0]?.spanId);
    // What a batch wrote is committed once, at its end.
    expect(collector.spans.find(({ name }) => name === 'storage commit')?.parentSpanId).toBe(outer?.spanId);
  });

  it('Requests that overlap keep their spans apart.', async () => {
    const collector = await startCollector();
    const service = await startTestService();
    await Promise.all(Array.from({ length: 5 }, (_, n) => service.asUser('alice').request('PUT', `/v1/buckets/b${n}`)));
    await service.close();
    const outer = collector.spans.filter(({ kind }) => kind === 2);
    expect(new Set(outer.map(({ traceId }) => traceId)).size).toBe(5);
    const creations = collector.spans.filter(({ name }) => name === 'storage create');
    expect(new Set(creations.map(({ parentSpanId }) => parentSpanId))).toEqual(
      new Set(outer.map(({ spanId }) => spanId)),
    );
  });

  it('Spans that the caller does not sample are not sent, and none when tracing is disabled.', async () => {
    const collector = await startCollector();
    const service = await startTestService();
    const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00' };
    await service.request('GET', '/v1/', { headers });
    await service.close();
    vi.stubEnv('OTEL_SDK_DISABLED', 'true');
    const silent = await startTestService();
    await silent.request('GET', '/v1/');
    await silent.close();
    expect(collector.spans).toEqual([]);
  });

  it('A refusing or unreachable collector does not affect requests, and is logged without secrets.', async () => {
    await startCollector(400);
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20hunter2');
    const lines: unknown[] = [];
    const warn = (...line: readonly unknown[]): void => void lines.push(line);
    const service = await startTestService({ logger: { ...silentLogger, warn } });
    expect((await service.request('GET', '/v1/')).status).toBe(200);
    await service.close();
    expect(JSON.stringify(lines)).toContain('Tracing');
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });
});

describe('the environment of traces', () => {
  it.each([
    [{}, 'off'],
    [{ OTEL_SERVICE_NAME: 'x' }, 'off'],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, 'on'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, 'on'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, 'on'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, 'off'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'TRUE' }, 'off'],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, { unusable: expect.stringContaining('zipkin') }],
    [
      { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      { unusable: expect.stringContaining('grpc') },
    ],
  ])('%j means %j.', (environment: Readonly<Record<string, string>>, meaning) => {
    expect(findTracing(environment)).toEqual(meaning);
  });
});
