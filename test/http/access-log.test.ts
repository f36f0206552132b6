// The access log: which lines there are, which fields they have, and what never stands in them.
import { connect } from 'node:net';
import { once } from 'node:events';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import { startTestService, type TestService } from '../../src/testing/index.ts';

interface Line {
  readonly Type: string;
  readonly Fields: Readonly<Record<string, unknown>>;
}

let lines: string[] = [];
beforeEach(() => {
  lines = [];
});

const login = definePlugin({
  name: 'login',
  setup: () => ({
    endpoints: [
      {
        name: 'login',
        path: '/login',
        isResource: false,
        operations: { GET: { id: 'login', handle: () => Promise.resolve(jsonResponse(200, {})) } },
      },
    ],
  }),
});

async function start(settings: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const level = (settings['log_level'] ?? 'info') as 'info';
  const logger = createLogger({ level, format: 'json', name: 'svc' }, { write: (line) => lines.push(line) });
  const service = await startTestService({ settings, logger, plugins: [login] });
  onTestFinished(() => service.close());
  return service;
}

const parsed = (): readonly Line[] => lines.map((line) => JSON.parse(line) as Line);
const ofType = (type: string): readonly Line['Fields'][] =>
  parsed().flatMap((line) => (line.Type === type ? [line.Fields] : []));

describe('the access log', () => {
  it('Each request has one line with caller, method, path and status.', async () => {
    const service = await start();
    const headers = { 'User-Agent': 'shopper/1', 'Accept-Language': 'pt-BR', 'X-Request-Id': 'abc-1' };
    await service.asUser('alice').request('PUT', '/v1/buckets/food?x=1&y=%20', { headers });
    expect(ofType('request.summary')).toEqual([
      {
        method: 'PUT',
        path: '/v1/buckets/food',
        querystring: 'x=1&y=%20',
        code: 201,
        errno: 0,
        t: expect.any(Number),
        uid: expect.stringMatching(/^basicauth:[0-9a-f]{64}$/),
        authn_type: 'basicauth',
        rid: 'abc-1',
        agent: 'shopper/1',
        lang: 'pt-BR',
        time: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/),
      },
    ]);
  });

  it('Anonymous callers have no user id, and errors have their number.', async () => {
    const service = await start();
    await service.request('GET', '/v1/nothing');
    const [line] = ofType('request.summary');
    expect(line).toMatchObject({ path: '/v1/nothing', code: 404, errno: 111 });
    for (const absent of ['uid', 'authn_type', 'querystring', 'batch_size', 'lang'])
      expect(line).not.toHaveProperty(absent);
  });

  it('A batch is one line, with its size, and a line for each of its entries.', async () => {
    const service = await start();
    const requests = [{ method: 'PUT', path: '/buckets/b' }, { path: '/buckets/b/' }, { path: '/buckets/nobodys' }];
    const headers = { 'X-Request-Id': 'the-batch' };
    await service.asUser('alice').request('POST', '/v1/batch', { headers, body: { requests } });
    expect(ofType('request.summary')).toMatchObject([
      { path: '/v1/batch', code: 200, batch_size: 3, rid: 'the-batch' },
    ]);
    // The second entry was redirected.
    expect(ofType('subrequest.summary')).toMatchObject([
      { method: 'PUT', path: '/v1/buckets/b', code: 201, errno: 0, rid: 'the-batch', authn_type: 'basicauth' },
      { method: 'GET', path: '/v1/buckets/b', code: 200 },
      { method: 'GET', path: '/v1/buckets/nobodys', code: 403, errno: 121 },
    ]);
  });

  it('Refusals name the permission, the object and the caller.', async () => {
    const service = await start();
    await service.asUser('alice').request('PUT', '/v1/buckets/b');
    await service.asUser('bob').request('DELETE', '/v1/buckets/b');
    await service.request('POST', '/v1/buckets/b/collections', { body: {} });
    expect(ofType('Permission refused')).toEqual([
      { perm: 'write', uri: '/buckets/b', userid: expect.stringMatching(/^basicauth:/), rid: expect.any(String) },
      { perm: 'create', uri: '/buckets/b/collections', rid: expect.any(String) },
    ]);
  });

  it('Requests that are too large, or have no host, are logged too.', async () => {
    const service = await start({ max_body_size: '10' });
    await service.request('POST', '/v1/buckets', { body: { data: { long: 'long' } } });
    const { hostname, port } = new URL(service.origin);
    const socket = connect(Number(port), hostname);
    socket.write('GET /v1/ HTTP/1.1\r\nConnection: close\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    expect(ofType('request.summary')).toMatchObject([
      { code: 413, errno: 113, path: '/v1/buckets' },
      { code: 400, errno: 107, path: '/v1/' },
    ]);
  });

  it('Bodies, credentials and secrets in URLs are never logged.', async () => {
    const service = await start({ log_level: 'debug' });
    const alice = service.asUser('alice');
    await alice.request('PUT', '/v1/buckets/b', {
      body: { data: { note: 'hunter2-body' } },
      headers: { Cookie: 'hunter2-cookie' },
    });
    await alice.request('GET', '/v1/login?code=hunter2-code&state=hunter2-state&ok=visible-1');
    await alice.request('GET', '/v1/buckets?access_token=hunter2-token&state=visible-2&code=visible-3');
    const { hostname, port } = new URL(service.origin);
    const socket = connect(Number(port), hostname);
    socket.write('GET http://hunter2:hunter2@host/v1/?a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    const text = lines.join('');
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain(Buffer.from('alice:secret of alice').toString('base64'));
    for (const n of [1, 2, 3]) expect(text).toContain(`visible-${n}`);
    expect(ofType('request.summary').at(-1)).toMatchObject({ path: '/v1/', querystring: 'a', code: 200 });
  });

  it('Requests are not logged when the level is above info.', async () => {
    const service = await start({ log_level: 'warn' });
    await service.request('GET', '/v1/');
    expect(lines.filter((line) => line.includes('summary'))).toEqual([]);
  });
});
