// How many connections one address may have (S13).
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';

async function start(settings: Readonly<Record<string, string>>): Promise<TestService> {
  const service = await startTestService({ settings: { max_connections_per_address: '2', ...settings } });
  onTestFinished(() => service.close());
  return service;
}

/** A connection, and what comes back when something is asked over it: the first line, or nothing when it is closed. */
async function ask({ origin }: TestService, localAddress = '127.0.0.1'): Promise<readonly [Socket, string]> {
  const socket = connect({ port: Number(new URL(origin).port), host: '127.0.0.1', localAddress });
  onTestFinished(() => void socket.destroy());
  // Writing to a connection that was closed is an error on some systems.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close').then(() => '');
  socket.write('GET /v1/__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n');
  const answered = once(socket, 'data').then(([data]) => String(data).split('\r\n')[0]!);
  return [socket, await Promise.race([answered, closed])];
}

const fine = 'HTTP/1.1 200 OK';

test('Connections beyond the limit are closed, those of other addresses are not, and a closed one frees its place.', async () => {
  const service = await start({});
  const [first, answer] = await ask(service);
  expect(answer).toBe(fine);
  expect((await ask(service))[1]).toBe(fine);
  expect((await ask(service))[1]).toBe('');
  expect((await ask(service, '127.0.0.2'))[1]).toBe(fine);
  first.end();
  await once(first, 'close');
  // The service notices the end a moment later.
  while ((await ask(service))[1] !== fine);
  expect((await ask(service))[1]).toBe('');
});

test('Trusted proxies have no limit.', async () => {
  const service = await start({ trusted_proxies: '127.0.0.0/8' });
  for (let i = 0; i < 5; i++) expect((await ask(service))[1]).toBe(fine);
});
