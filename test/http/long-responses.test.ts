// Responses of megabytes leave in steps: whole and in order, on pipelined connections and to clients that read late.
import { once } from 'node:events';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { authorizationOf } from '../../src/testing/service/service-client.ts';

const path = '/v1/buckets/b/collections/c/records/long';
const text = 'ä€x'.repeat(500_000);

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (const parent of ['/v1/buckets/b', '/v1/buckets/b/collections/c']) {
    await service.request('PUT', parent, { auth: 'ann' });
  }
  expect((await service.request('PUT', path, { auth: 'ann', body: { data: { text } } })).status).toBe(201);
});
afterAll(() => service.close());

function requestOf(method: string, target: string, connection: string): string {
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorizationOf('ann')}\r\nConnection: ${connection}\r\n\r\n`;
}

/** Returns the bytes of the responses to all requests of one connection, which are read after the first has begun. */
async function exchange(...requests: readonly string[]): Promise<Buffer> {
  const { hostname, port } = new URL(service.origin);
  const socket = connect(Number(port), hostname).pause();
  socket.write(requests.join(''));
  await once(socket, 'readable');
  return buffer(socket);
}

describe('Long responses', () => {
  it('are whole and in the order of pipelined requests', async () => {
    const all = await exchange(
      requestOf('GET', path, 'keep-alive'),
      requestOf('GET', path, 'keep-alive'),
      requestOf('GET', '/v1/__lbheartbeat__', 'close'),
    );
    const heads = all.toString().split('HTTP/1.1 200 OK').slice(1);
    expect(heads).toHaveLength(3);
    for (const response of heads.slice(0, 2)) {
      const body = JSON.parse(response.slice(response.indexOf('\r\n\r\n')));
      expect(body.data.text === text).toBe(true);
    }
    expect(heads[2]).toContain('{}');
  });

  it('have no body for HEAD, and the connection goes on', async () => {
    const all = await exchange(requestOf('HEAD', path, 'keep-alive'), requestOf('GET', '/v1/__lbheartbeat__', 'close'));
    expect(all.length).toBeLessThan(4000);
    expect(all.toString().match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });
});
