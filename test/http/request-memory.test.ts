// What large requests may hold in memory, and that they give it back (docs/guides/limits.md#memory).
import { once } from 'node:events';
import { request as ask } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTestService, type TestRequest, type TestService } from '../../src/testing/index.ts';
import { derivedBudgetBytes } from '../../src/http/request-memory.ts';

const list = '/v1/buckets/b/collections/c/records';
const megabyte = 1_000_000;
/** Ten for bodies that arrive, 25 for work: three bodies of a megabyte, and no more. */
const budget = { memory_budget_bytes: String(40 * megabyte), memory_wait_seconds: '0' };

async function start(settings: Readonly<Record<string, string>> = budget): Promise<TestService> {
  const service = await startTestService({ settings: { ...settings, includes: 'prometheus' } });
  onTestFinished(() => service.close());
  const everyone = { permissions: { write: ['system.Authenticated'] } };
  await service.request('PUT', '/v1/buckets/b', { auth: 'ann', body: everyone });
  await service.request('PUT', '/v1/buckets/b/collections/c', { auth: 'ann' });
  return service;
}

function body(bytes: number): { readonly data: { readonly text: string } } {
  return { data: { text: 'x'.repeat(bytes) } };
}

/** A connection on which a request has been begun. */
async function open(service: TestService, head: readonly string[], rest = ''): Promise<Socket> {
  const socket = connect(Number(new URL(service.origin).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const credentials = Buffer.from('eve:secret').toString('base64');
  socket.write(`${head.join('\r\n')}\r\nHost: x\r\nAuthorization: Basic ${credentials}\r\n\r\n${rest}`);
  return socket;
}

/** Resolves when the server knows of what the client did on the socket before. */
async function closed(service: TestService, socket: Socket): Promise<void> {
  const gone = once(socket, 'close');
  socket.destroy();
  await gone;
  for (let n = 0; n < 3; n++) await service.request('GET', '/v1/__lbheartbeat__');
}

const upload = [`PUT ${list}/slow HTTP/1.1`, 'Content-Type: application/json', `Content-Length: ${8 * megabyte}`];

describe('Large requests', () => {
  it('are refused with 503 while others use the memory, and counted, while small ones are served.', async () => {
    const service = await start();
    const slow = await open(service, upload, '{"data":');
    // The request has begun when others that came after it are answered.
    await service.request('GET', '/v1/__lbheartbeat__');
    const refused = await service.request('PUT', `${list}/large`, { auth: 'ann', body: body(3 * megabyte) });
    expect(refused).toMatchObject({ status: 503, body: { code: 503, errno: 201 } });
    expect(refused.headers['retry-after']).toBeDefined();
    expect(refused.headers['connection']).not.toBe('close');
    const small = await service.request('PUT', `${list}/small`, { auth: 'ann', body: body(60_000) });
    expect(small.status).toBe(201);
    const { text } = await service.request('GET', '/v1/__metrics__');
    expect(text).toMatch(/coffer_requests_refused_total\{reason="memory"\} 1/);
    slow.destroy();
  });

  it('wait for memory that is released in time.', async () => {
    const service = await start({ ...budget, memory_wait_seconds: '60' });
    const slow = await open(service, upload, '{"data":');
    await service.request('GET', '/v1/__lbheartbeat__');
    const waiting = service.request('PUT', `${list}/large`, { auth: 'ann', body: body(3 * megabyte) });
    await service.request('GET', '/v1/__lbheartbeat__');
    slow.destroy();
    expect((await waiting).status).toBe(201);
  });

  it('are refused with 413 when they need more than the budget.', async () => {
    const service = await start();
    const refused = await service.request('PUT', `${list}/large`, { auth: 'ann', body: body(4 * megabyte) });
    expect(refused).toMatchObject({ status: 413, body: { errno: 113 } });
    const values = { data: { values: Array.from({ length: 300_000 }, () => 1) } };
    expect((await service.request('PUT', `${list}/large`, { auth: 'ann', body: values })).status).toBe(413);
  });

  it('may be chunked, without Content-Length.', async () => {
    const service = await start({ ...budget, max_body_size: String(5 * megabyte) });
    for (const [bytes, status] of [
      [10, 201],
      [2 * megabyte, 201],
      [6 * megabyte, 413],
    ] as const) {
      const outgoing = ask(`${service.origin}${list}/chunks${bytes}`, { method: 'PUT', agent: false, auth: 'ann:x' });
      outgoing.setHeader('Content-Type', 'application/json');
      outgoing.on('error', () => undefined);
      outgoing.write('{"data":{"text":"');
      outgoing.end(`${'x'.repeat(bytes)}"}}`);
      const [incoming] = (await once(outgoing, 'response')) as [{ statusCode: number; resume(): void }];
      incoming.resume();
      expect([bytes, incoming.statusCode]).toEqual([bytes, status]);
    }
  });

  it('release all memory, however they end.', async () => {
    // What is not given back lets the next request wait until the test has failed.
    const service = await start({ ...budget, memory_wait_seconds: '60', max_body_size: String(9 * megabyte) });
    const large = { auth: 'ann', body: body(3 * megabyte) };
    expect((await service.request('PUT', `${list}/large`, large)).status).toBe(201);
    for (let n = 0; n < 4; n++) {
      // Bodies that are aborted, malformed or refused; requests that fail; responses that the client does not read to the end.
      await closed(service, await open(service, upload, `{"data":"${'x'.repeat(n * 200_000)}`));
      const broken = { auth: 'ann', raw: 'x'.repeat(3 * megabyte), headers: { 'Content-Type': 'application/json' } };
      expect((await service.request('PUT', `${list}/large`, broken)).status).toBe(400);
      expect((await service.request('PUT', '/v1/buckets/none/collections/c', large)).status).toBe(403);
      const failing = { ...large, headers: { 'If-Match': '"1"' } };
      expect((await service.request('PUT', `${list}/large`, failing)).status).toBe(412);
      const reader = await open(service, [`GET ${list}/large HTTP/1.1`]);
      await once(reader, 'data');
      await closed(service, reader);
    }
    expect((await service.request('PUT', `${list}/large`, large)).status).toBe(200);
    expect((await service.request('GET', list, { auth: 'ann' })).text.length).toBeGreaterThan(3 * megabyte);
  });

  it('hold memory until their responses are read, so that stalled readers are refused.', async () => {
    const service = await start();
    const large = { auth: 'ann', body: body(3 * megabyte) };
    for (const id of ['a', 'b', 'c']) {
      expect((await service.request('PUT', `${list}/${id}`, large)).status).toBe(201);
    }
    const readers: Socket[] = [];
    const statuses = new Set<string>();
    for (let n = 0; n < 4; n++) {
      const reader = await open(service, [`GET ${list} HTTP/1.1`]);
      const [first] = (await once(reader, 'data')) as [Buffer];
      reader.pause();
      statuses.add(first.toString('latin1', 9, 12));
      readers.push(reader);
    }
    expect(statuses).toEqual(new Set(['200', '503']));
    for (const reader of readers) await closed(service, reader);
    let last = await service.request('GET', list, { auth: 'ann' });
    // The server learns a little later that they have gone.
    for (let n = 0; n < 100 && last.status === 503; n++) last = await service.request('GET', list, { auth: 'ann' });
    expect(last.status).toBe(200);
  });
});

/** A service whose memory is nearly used up by a reader who does not read; with three objects in the list. */
async function startBesideReader(settings: Readonly<Record<string, string>>): Promise<[TestService, Socket]> {
  const service = await start(settings);
  for (const id of ['a', 'b', 'c']) {
    const stored = await service.request('PUT', `${list}/${id}`, { auth: 'ann', body: body(2.9 * megabyte) });
    expect(stored.status).toBe(201);
  }
  const reader = await open(service, [`GET ${list} HTTP/1.1`]);
  await once(reader, 'data');
  reader.pause();
  return [service, reader];
}

describe('Snapshots', () => {
  it('wait for memory for their further pages.', async () => {
    // 100 MB for work, of which one address may have 75.
    const settings = { memory_budget_bytes: String(160 * megabyte), memory_wait_seconds: '60', includes: 'history' };
    const service = await startTestService({ settings });
    onTestFinished(() => service.close());
    const everyone = { permissions: { write: ['system.Authenticated'] } };
    await service.request('PUT', '/v1/buckets/b', { auth: 'ann', body: everyone });
    for (const path of ['/v1/buckets/b/collections/c', '/v1/buckets/b/collections/d'])
      await service.request('PUT', path, { auth: 'ann' });
    for (const id of ['a', 'b', 'c', 'd'])
      await service.request('PUT', `${list}/${id}`, { auth: 'ann', body: body(4.4 * megabyte) });
    const other = '/v1/buckets/b/collections/d/records/r';
    await service.request('PUT', other, { auth: 'ann', body: body(9.9 * megabyte) });
    const reader = await open(service, [`GET ${other} HTTP/1.1`]);
    await once(reader, 'data');
    reader.pause();
    const path = `/v1/buckets/b/snapshot/collections/c@${Number.MAX_SAFE_INTEGER}`;
    const waiting = service.request('GET', path, { auth: 'bob' });
    for (let n = 0; n < 20; n++) await service.request('GET', '/v1/__lbheartbeat__');
    await closed(service, reader);
    expect((await waiting).status).toBe(200);
  });
});

describe('Small requests about large objects', () => {
  const requests: readonly [string, string, TestRequest][] = [
    ['PATCH', `${list}/a`, { auth: 'ann', body: { data: { n: 1 } } }],
    ['PATCH', `${list}/a`, { auth: 'ann', body: { data: { n: 1 } }, headers: { 'Response-Behavior': 'light' } }],
    ['PUT', `${list}/b`, { auth: 'ann', body: { permissions: {} } }],
    ['GET', `${list}/c?_fields=id`, { auth: 'ann' }],
    ['POST', '/v1/batch', { auth: 'ann', body: { requests: [{ path: `${list}/c?_fields=id` }] } }],
  ];

  it('are refused with 503 while others use the memory.', async () => {
    const [service, reader] = await startBesideReader(budget);
    for (const [method, path, request] of requests) {
      const refused = await service.request(method, path, request);
      expect([method, refused.status, refused.headers['retry-after']]).toEqual([method, 503, expect.anything()]);
    }
    await closed(service, reader);
    for (const [method, path, request] of requests) {
      const served = await service.request(method, path, request);
      expect([method, served.status]).toEqual([method, 200]);
    }
  });

  it('wait for memory, and are done once.', async () => {
    const [service, reader] = await startBesideReader({ ...budget, memory_wait_seconds: '60' });
    const patches = [1, 2, 3].map((n) => {
      const add = [{ op: 'add', path: '/data/seen/-', value: n }];
      const headers = { 'Content-Type': 'application/json-patch+json' };
      return { method: 'PATCH', path: `${list}/d`, headers, body: add };
    });
    const seen = { data: { seen: [], text: 'x'.repeat(100_000) } };
    const first = { method: 'PUT', path: `${list}/d`, body: seen };
    const large = { method: 'PATCH', path: `${list}/a`, body: { data: { n: 1 } } };
    const batch = { auth: 'ann', body: { requests: [first, ...patches, large] } };
    const waiting = service.request('POST', '/v1/batch', batch);
    await service.request('GET', '/v1/__lbheartbeat__');
    await closed(service, reader);
    const { responses } = (await waiting).body as { responses: readonly { status: number }[] };
    expect(responses.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200]);
    const { body: after } = await service.request('GET', `${list}/d?_fields=seen`, { auth: 'ann' });
    expect(after).toMatchObject({ data: { seen: [1, 2, 3] } });
  });
});

describe('The budget that is not set', () => {
  it('is half of the heap limit, and bounded.', () => {
    expect(derivedBudgetBytes(256 * 1_048_576)).toBe(128 * 1_048_576);
    expect(derivedBudgetBytes(64 * 1_073_741_824)).toBe(384 * 1_048_576);
  });
});
