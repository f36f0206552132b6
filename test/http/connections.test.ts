// Open connections when the service stops: no request is aborted, and no connection delays the end.
import { once } from 'node:events';
import { Agent, createServer, get, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { Connections } from '../../src/http/connections.ts';

const large = 20_000_000;

interface Ending {
  readonly server: Server;
  readonly port: number;
  /** Ends the server; resolves when all connections are closed. */
  close(lingerMs: number): Promise<void>;
}

async function startServer(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Ending> {
  const server = createServer(answer);
  const connections = new Connections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async close(lingerMs) {
      connections.leave(lingerMs);
      expect(connections.areLeaving).toBe(true);
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const head = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test('a slow reader gets the whole response, although the service had completed it before it stopped', async () => {
  const { port, close } = await startServer((_request, response) => void response.end(Buffer.alloc(large)));
  const response = await new Promise<IncomingMessage>((resolve) => {
    get({ port, host: '127.0.0.1', agent: new Agent({ keepAlive: true }) }, resolve);
  });
  const closed = close(0);
  await Promise.race([closed, once(response, 'readable')]);
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  expect(bytes).toBe(large);
  await closed;
});

test('an idle connection does not prevent the service from stopping', async () => {
  const { port, close } = await startServer((_request, response) => void response.end('done'));
  const socket = await open(port);
  socket.write(head);
  await once(socket, 'data');
  await close(0);
});

test('a connection without any request does not prevent the service from stopping', async () => {
  const { port, server, close } = await startServer((_request, response) => void response.end('done'));
  const accepted = once(server, 'connection');
  const socket = await open(port);
  await accepted;
  const ended = once(socket, 'close');
  await close(0);
  await ended;
});

test('a request in flight gets its response when the service stops', async () => {
  const { port, server, close } = await startServer((_request, response) => void response.end('done'));
  const accepted = once(server, 'connection');
  const fresh = await open(port);
  await accepted;
  const kept = await open(port);
  kept.write(head);
  await once(kept, 'data');
  kept.write(head.slice(0, 20));
  const closed = close(100);
  fresh.write(head);
  expect(String((await once(fresh, 'data'))[0])).toContain('200 OK');
  kept.write(head.slice(20));
  expect(String((await once(kept, 'data'))[0])).toContain('200 OK');
  await closed;
});

test('a client that continues to use its connection meanwhile gets a response', async () => {
  const { port, close } = await startServer((_request, response) => {
    response.setHeader('Connection', 'close');
    response.end('done');
  });
  const socket = await open(port);
  const outgoing = request({ port, host: '127.0.0.1', createConnection: () => socket });
  const closed = close(60_000);
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  response.resume();
  // Long before the time for idle connections is over.
  await closed;
});

test.each([
  ['that the client wants to be the last', 'Connection: close\r\n'],
  ['that the server wants to be the last', ''],
])(
  'a response before the end of its request, %s, reaches a client that sends everything first',
  async (_who, header) => {
    const { port } = await startServer((_request, response) => {
      if (header === '') response.setHeader('Connection', 'close');
      response.writeHead(413).end('refused');
    });
    const socket = await open(port);
    const failed = new Promise<Error>((resolve) => {
      socket.once('error', resolve);
    });
    const sent = new Promise<void>((resolve) => {
      socket.write(`PUT / HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${large}\r\n\r\n`);
      socket.write(Buffer.alloc(large), () => {
        resolve();
      });
    });
    expect(await Promise.race([sent, failed])).toBeUndefined();
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 [^]*refused/);
  },
);
