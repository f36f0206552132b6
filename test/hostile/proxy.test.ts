// The service behind nginx and HAProxy, and requests that two servers may understand differently: both understand the same requests, or
// the sender gets 400. Each attack is followed by a harmless request through the same connection between the two, which
// has to get its own answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { startNginx } from '../support/nginx.ts';
import type { ForwardedRequest, Proxy } from '../support/proxy.ts';
import { exchangeBytes } from './exchange.ts';

interface Understood {
  readonly method: string;
  readonly target: string;
  readonly status: number;
}

const host = 'Host: x\r\n';
const get = `GET /v1/ HTTP/1.1\r\n${host}`;
const post = `POST /v1/batch HTTP/1.1\r\n${host}Content-Type: application/json\r\n`;
const empty = '{"requests":[]}';
const smuggled = `GET /v1/smuggled HTTP/1.1\r\n${host}\r\n`;
const chunked = `f\r\n${empty}\r\n0\r\n\r\n`;
/** A body that is complete by its chunks and incomplete by its length. */
const twoMeanings = `0\r\n\r\n${smuggled}`;
const length = (text: string): string => `Content-Length: ${text.length}\r\n`;

const attacks: readonly (readonly [string, string])[] = [
  ['length and chunks', `${post}${length(twoMeanings)}Transfer-Encoding: chunked\r\n\r\n${twoMeanings}`],
  ['chunks and length', `${post}Transfer-Encoding: chunked\r\n${length(twoMeanings)}\r\n${twoMeanings}`],
  [
    'length and chunks that are folded',
    `${post}${length(twoMeanings)}Transfer-Encoding:\r\n chunked\r\n\r\n${twoMeanings}`,
  ],
  [
    'chunks with a space before the colon',
    `${post}${length(twoMeanings)}Transfer-Encoding : chunked\r\n\r\n${twoMeanings}`,
  ],
  ['chunks with a tab', `${post}${length(twoMeanings)}Transfer-Encoding:\tchunked\r\n\r\n${twoMeanings}`],
  ['chunks by an underscore', `${post}${length(twoMeanings)}Transfer_Encoding: chunked\r\n\r\n${twoMeanings}`],
  ['chunks in capitals', `${post}${length(twoMeanings)}TRANSFER-ENCODING: CHUNKED\r\n\r\n${twoMeanings}`],
  ['chunks in quotes', `${post}${length(twoMeanings)}Transfer-Encoding: "chunked"\r\n\r\n${twoMeanings}`],
  ['an unknown coding', `${post}${length(twoMeanings)}Transfer-Encoding: xchunked\r\n\r\n${twoMeanings}`],
  ['two codings', `${post}Transfer-Encoding: chunked, identity\r\n\r\n${chunked}${smuggled}`],
  [
    'two headers of codings',
    `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${chunked}${smuggled}`,
  ],
  [
    'a coding after a vertical tab',
    `${post}${length(twoMeanings)}Transfer-Encoding: \x0bchunked\r\n\r\n${twoMeanings}`,
  ],
  [
    'a header behind a bare line feed',
    `${post}${length(twoMeanings)}X-A: b\nTransfer-Encoding: chunked\r\n\r\n${twoMeanings}`,
  ],
  [
    'a header behind a bare carriage return',
    `${post}${length(twoMeanings)}X-A: b\rTransfer-Encoding: chunked\r\n\r\n${twoMeanings}`,
  ],
  ['a header behind a null', `${post}${length(twoMeanings)}X-A: b\0Transfer-Encoding: chunked\r\n\r\n${twoMeanings}`],
  ['two lengths', `${post}Content-Length: 15\r\nContent-Length: 0\r\n\r\n${empty}${smuggled}`],
  ['lengths in one header', `${post}Content-Length: 15, 0\r\n\r\n${empty}${smuggled}`],
  ['a length with a sign', `${post}Content-Length: +15\r\n\r\n${empty}${smuggled}`],
  ['a length in hexadecimal', `${post}Content-Length: 0xf\r\n\r\n${empty}${smuggled}`],
  ['a length by an underscore', `${post}Content_Length: 0\r\n${length(empty)}\r\n${empty}`],
  ['a length that Connection names', `${post}Connection: content-length\r\n${length(empty)}\r\n${empty}`],
  [
    'bare line feeds',
    `POST /v1/batch HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: 15\n\n${empty}`,
  ],
  ['a folded header', `${get}X-A: b\r\n c: d\r\n\r\n`],
  ['chunks with extensions', `${post}Transfer-Encoding: chunked\r\n\r\nf;a=b;c="d"\r\n${empty}\r\n0;x\r\n\r\n`],
  [
    'an extension with a line feed',
    `${post}Transfer-Encoding: chunked\r\n\r\nf;a\nb\r\n${empty}\r\n0\r\n\r\n${smuggled}`,
  ],
  ['chunks that end with bare line feeds', `${post}Transfer-Encoding: chunked\r\n\r\nf\n${empty}\n0\n\n${smuggled}`],
  ['a chunk longer than it says', `${post}Transfer-Encoding: chunked\r\n\r\ne\r\n${empty}\r\n0\r\n\r\n${smuggled}`],
  [
    'a size of a chunk that overflows',
    `${post}Transfer-Encoding: chunked\r\n\r\n1000000000000000f\r\n${empty}\r\n0\r\n\r\n`,
  ],
  [
    'trailers that are headers',
    `${post}Transfer-Encoding: chunked\r\n\r\nf\r\n${empty}\r\n0\r\nContent-Length: 99\r\nHost: y\r\n\r\n`,
  ],
  ['a request in the body of a read', `${get}${length(smuggled)}\r\n${smuggled}`],
  ['two requests in one body', `${post}${length(empty + smuggled)}\r\n${empty}${smuggled}`],
  ['a body that promises', `${post}Expect: 100-continue\r\n${length(empty)}\r\n${empty}`],
  ['a target with a line', `GET /v1/%0d%0aX:%20y HTTP/1.1\r\n${host}\r\n`],
  ['a target with a space', `GET /v1/ HTTP/1.1 HTTP/1.1\r\n${host}\r\n`],
  ['an absolute target', `GET http://y/v1/ HTTP/1.1\r\n${host}\r\n`],
  ['an encoded path', `GET /v1/..%2f..%2fv1/buckets HTTP/1.1\r\n${host}\r\n`],
  ['a path with dots', `GET /v1/a/../buckets?x=../y HTTP/1.1\r\n${host}\r\n`],
  ['chunks in HTTP/1.0', `POST /v1/batch HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n${chunked}${smuggled}`],
  [
    'another protocol by upgrade',
    `${get}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  ],
];

/** Answers of proxies to what they do not forward. */
const refusals = [400, 405, 413, 414, 501];

let service: TestService;
const proxies = new Map<string, Proxy>();
const served: Understood[] = [];

beforeAll(async () => {
  const logger = createLogger({ level: 'info', format: 'json', name: 'svc' }, { write: readLine });
  service = await startTestService({ logger });
  proxies.set('nginx', await startNginx(service.origin));
  proxies.set('HAProxy', await startHaproxy(service.origin));
}, 120_000);
afterAll(async () => {
  for (const proxy of proxies.values()) await proxy.stop();
  await service?.close();
});

/** Remembers a request as the service has understood it. */
function readLine(line: string): void {
  const { Type, Fields } = JSON.parse(line) as { readonly Type: string; readonly Fields: Record<string, unknown> };
  if (Type !== 'request.summary') return;
  const { method, path, querystring, code } = Fields;
  const query = typeof querystring === 'string' && querystring !== '' ? `?${querystring}` : '';
  served.push({ method: String(method), target: `${String(path)}${query}`, status: Number(code) });
}

const ways = ['nginx', 'HAProxy'].flatMap((name) => [
  [name, 'whole', ({ origin }: Proxy): string => origin] as const,
  [name, 'in pieces', ({ streamingOrigin }: Proxy): string => streamingOrigin] as const,
]);

describe.each(ways)('behind %s that passes bodies on %s', (proxyName, _way, originOf) => {
  it.each(attacks)('%s: both understand the same, and the next request gets its own answer.', async (_name, bytes) => {
    const proxy = proxies.get(proxyName)!;
    const before = { proxy: (await proxy.requests()).length, service: served.length };
    // Surplus responses are read too.
    const { statuses } = await exchangeBytes(originOf(proxy), `${bytes}${get}Connection: close\r\n\r\n`, 4);
    const marker = `/v1/marker-${before.proxy}`;
    const next = await exchangeBytes(originOf(proxy), `GET ${marker} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 2);
    expect(next.statuses).toEqual([404]);
    expect(next.text).toContain('"errno":111');

    const understood = await requestsUntil(proxy, marker, before.proxy);
    const forwarded = understood.filter(({ isForwarded }) => isForwarded);
    const got = served.slice(before.service);
    expect(got.filter(isReadable).map(nameOf)).toEqual(forwarded.filter(isReadable).map(nameOf));
    // What the service cannot read at all is in no log, but what it has read was forwarded.
    expect(forwarded.map(nameOf)).toEqual(expect.arrayContaining(got.map(nameOf)));
    // The proxy has answered each request that it knows of, and no other.
    expect(statuses.filter((status) => status !== 100)).toEqual(understood.slice(0, -1).map(({ status }) => status));
    for (const { status, isForwarded } of understood)
      expect(isForwarded ? status < 500 : refusals.includes(status), `answered with ${status}`).toBe(true);
  });
});

/** What the proxy has served since, with the marker as the last. */
async function requestsUntil(proxy: Proxy, marker: string, begin: number): Promise<readonly ForwardedRequest[]> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const requests = (await proxy.requests()).slice(begin);
    if (requests.at(-1)?.target === marker) return requests;
    if (performance.now() > deadline) throw new Error(`${marker} is not in the log: ${JSON.stringify(requests)}`);
    await new Promise(setImmediate);
  }
}

function isReadable({ status }: Understood): boolean {
  return status !== 400;
}

function nameOf({ method, target, status }: Understood): string {
  return `${method} ${target} ${status}`;
}
