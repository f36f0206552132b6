// Bytes that no decent client sends, written to the socket one by one: each gets one interpretation, or 400 and the end of
// the connection, and the service goes on.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testBackends } from '../../src/testing/service/service-backends.ts';
import { exchangeBytes, type Bytes, type Exchange } from './exchange.ts';
import { startWatched, type WatchedService } from './service.ts';

const host = 'Host: x\r\n';
const post = `POST /v1/batch HTTP/1.1\r\n${host}`;
const get = `GET /v1/ HTTP/1.1\r\n${host}`;
const smuggled = `GET /v1/buckets HTTP/1.1\r\n${host}\r\n`;

let watched: WatchedService;

beforeAll(async () => {
  watched = await startWatched(testBackends[0]!, { header_timeout_seconds: '1', body_timeout_seconds: '2' });
});
afterAll(async () => {
  await watched.service.close();
  expect(watched.errors).toEqual([]);
});

function exchange(bytes: Bytes, answers = 1, origin = watched.service.origin): Promise<Exchange> {
  return exchangeBytes(origin, bytes, answers);
}

const refused: readonly (readonly [string, string])[] = [
  ['a missing host', 'GET /v1/ HTTP/1.1\r\n\r\n'],
  ['two hosts', 'GET /v1/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['two credentials', `${get}Authorization: Basic YTpi\r\nauthorization: Basic Yzpk\r\n\r\n`],
  ['length and chunks', `${post}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG`],
  ['chunks and length', `${post}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG`],
  ['two lengths', `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `],
  ['two equal lengths', `${post}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
  ['a negative length', `${post}Content-Length: -1\r\n\r\n`],
  ['a length with a sign', `${post}Content-Length: +2\r\n\r\n{}`],
  ['an unknown transfer coding', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ['a malformed chunk size', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
  ['an endless chunk', `${post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n`],
  ['a folded header', `${get}X-A: b\r\n c\r\n\r\n`],
  ['bare line feeds', 'GET /v1/ HTTP/1.1\nHost: x\n\n'],
  ['a space before the colon', `${get}X-A : b\r\n\r\n`],
  ['a null in a header', `${get}X-A: b\0c\r\n\r\n`],
  ['a null in the path', `GET /v1/\0 HTTP/1.1\r\n${host}\r\n`],
  ['a raw byte in the query', `GET /v1/buckets?a=\xff HTTP/1.1\r\n${host}\r\n`],
  ['a method with a quote', `"GET" /v1/ HTTP/1.1\r\n${host}\r\n`],
  ['an unknown version', `GET /v1/ HTTP/9.9\r\n${host}\r\n`],
  ['another protocol', '\x16\x03\x01\x00\xff\r\n\r\n'],
];

describe('bytes that are no request', () => {
  it.each(refused)('%s: 400 with the standard body, and nothing after it is served.', async (_name, bytes) => {
    const { statuses, text } = await exchange(bytes.startsWith('GET /v1/ HTTP/1.1\r\n') ? bytes : bytes + smuggled);
    expect(statuses).toEqual([400]);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject({
      code: 400,
      errno: 107,
      error: 'Bad Request',
    });
  });

  it.each([
    ['FOO', `FOO /v1/ HTTP/1.1\r\n${host}\r\n`],
    ['get', `get /v1/ HTTP/1.1\r\n${host}\r\n`],
  ])('The unknown method %s is not allowed, and nothing after it is served.', async (_name, bytes) => {
    const { statuses, text } = await exchange(bytes + smuggled);
    expect(statuses).toEqual([405]);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toMatchObject({ code: 405, errno: 115 });
    expect(text).toMatch(/^Allow: GET, /m);
  });

  it.each([
    ['headers', `${get}X-A: ${'b'.repeat(70_000)}\r\n\r\n`],
    ['addresses', `GET /v1/${'b'.repeat(70_000)} HTTP/1.1\r\n${host}\r\n`],
  ])('Very long %s are refused with 431.', async (_name, bytes) => {
    expect((await exchange(bytes)).statuses).toEqual([431]);
  });

  // Proves S-246.
  it.each([
    ['announced', `PUT /v1/buckets/x HTTP/1.1\r\n${host}Content-Length: 10485761\r\n\r\n`],
    ['announced beyond measure', `${post}Content-Length: 99999999999\r\n\r\n`],
  ])('A body too large is refused when %s, before it is sent.', async (_name, bytes) => {
    expect((await exchange(bytes)).statuses).toEqual([413]);
  });

  it('A body too large in chunks is refused when it is too large.', async () => {
    const { statuses } = await exchange((socket) => {
      socket.write(`PUT /v1/buckets/x HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\na00001\r\n`);
      socket.write(Buffer.alloc(0xa00001, ' '));
      socket.write('\r\n0\r\n\r\n');
    });
    expect(statuses).toEqual([413]);
  });

  it.each([
    ['HTTP/1.0 without host', 'GET /v1/ HTTP/1.0\r\n\r\n', 200],
    ['an absolute address', `GET http://evil/v1/ HTTP/1.1\r\n${host}\r\n`, 200],
    ['an absolute address without path', `GET http://evil HTTP/1.1\r\n${host}\r\n`, 307],
    ['a star', `GET * HTTP/1.1\r\n${host}\r\n`, 307],
    ['a star for OPTIONS', `OPTIONS * HTTP/1.1\r\n${host}\r\n`, 400],
    ['TRACE', `TRACE /v1/ HTTP/1.1\r\n${host}X-Secret: a-secret-of-the-test\r\n\r\n`, 405],
    ['an upgrade', `GET /v1/ HTTP/1.1\r\n${host}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`, 200],
    ['an unknown expectation', `${post}Expect: x\r\nContent-Length: 15\r\n\r\n{"requests":[]}`, 200],
    [
      'a chunk with an extension',
      `${post}Transfer-Encoding: chunked\r\n\r\nf;a=b\r\n{"requests":[]}\r\n0\r\n\r\n`,
      200,
    ],
    ['a compressed body', `${post}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b`, 415],
    ['an empty media type', `${post}Content-Type:\r\nContent-Length: 15\r\n\r\n{"requests":[]}`, 415],
  ] as const)('%s has one meaning.', async (_name, bytes, status) => {
    const { statuses, text } = await exchange(bytes);
    expect(statuses).toEqual([status]);
    expect(text).not.toContain('a-secret-of-the-test');
  });

  it('A promised body is asked for and answered.', async () => {
    const { statuses } = await exchange(`${post}Expect: 100-continue\r\nContent-Length: 15\r\n\r\n{"requests":[]}`);
    expect(statuses).toEqual([100, 200]);
  });

  it('Requests in one go are answered in order, bodies of reads being skipped.', async () => {
    const read = `GET /v1/__lbheartbeat__ HTTP/1.1\r\n${host}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
    const { statuses } = await exchange(read.repeat(20), 20);
    expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it('CONNECT opens nothing.', async () => {
    expect(await exchange(`CONNECT evil:80 HTTP/1.1\r\n${host}\r\n`)).toMatchObject({ isClosed: true, statuses: [] });
  });

  it('A HEAD that cannot be read gets no body.', async () => {
    const { statuses, text } = await exchange(`HEAD /v1/\xe9 HTTP/1.1\r\n${host}\r\n`);
    expect(statuses).toEqual([400]);
    expect(text.endsWith('\r\n\r\n')).toBe(true);
  });

  it('Clients that go away in the middle leave nothing behind.', async () => {
    const begin = `PUT /v1/buckets/gone HTTP/1.1\r\n${host}Authorization: Basic YTpi\r\nContent-Length: 20\r\n\r\n{"data":{}`;
    await exchange((socket) => socket.end(begin));
    await exchange((socket) => socket.write(begin, () => socket.resetAndDestroy()));
    const { status } = await watched.service.request('GET', '/v1/buckets/gone', {
      headers: { Authorization: 'Basic YTpi' },
    });
    expect(status).toBe(403);
  });

  it.each([
    ['headers', `GET /v1/ HTTP/1.1\r\n`, 'a: b\r\n'],
    ['a body', `${post}Content-Length: 999\r\n\r\n`, ' '],
  ])('Whoever sends %s drop by drop is cut off.', async (_name, first, drop) => {
    const { statuses } = await exchange((socket) => {
      socket.write(first);
      const dripping = setInterval(() => socket.writable && socket.write(drop), 200);
      socket.on('close', () => clearInterval(dripping));
    });
    expect(statuses).toEqual([408]);
  });

  it('A body that stops half-way is cut off, however long headers may take.', async () => {
    const limits = { header_timeout_seconds: '30', body_timeout_seconds: '1' };
    const { service } = await startWatched(testBackends[0]!, limits);
    try {
      const { statuses } = await exchange(`${post}Content-Length: 999\r\n\r\n{`, 1, service.origin);
      expect(statuses).toEqual([408]);
    } finally {
      await service.close();
    }
  });
});
