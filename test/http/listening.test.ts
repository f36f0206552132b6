// `localhost` is both loopback addresses: clients that resolve the name to either reach the service, at one port.
import { once } from 'node:events';
import { Agent, createServer, get, type Server } from 'node:http';
import { createServer as createPlainServer, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connections } from '../../src/http/connections.ts';
import { listen, type Listening, type Loopback } from '../../src/http/listening.ts';

const addresses = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
const hasBothFamilies = addresses.includes('::1') && addresses.includes('127.0.0.1');

function answering(): Server {
  const server = createServer((_request, response) => void response.end('here'));
  onTestFinished(() => server.closeAllConnections());
  return server;
}

async function start(port = 0, local?: Loopback): Promise<Listening & { readonly port: number }> {
  const listening = await listen(answering(), { host: 'localhost', port }, local);
  onTestFinished(() => listening.close());
  return { ...listening, port: Number(new URL(listening.url).port) };
}

async function textFrom(host: string, port: number): Promise<string> {
  return (await fetch(`http://${host}:${port}/`, { headers: { connection: 'close' } })).text();
}

/** Returns whether the service answers. The port may be that of another program on an address that the service has left. */
async function isHere(host: string, port: number): Promise<boolean> {
  return (await textFrom(host.includes(':') ? `[${host}]` : host, port).catch(() => '')) === 'here';
}

/** Returns a port that a program holds on ::1 alone. */
async function portTakenOnV6(): Promise<number> {
  const other = createPlainServer().listen(0, '::1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  return (other.address() as AddressInfo).port;
}

describe.skipIf(!hasBothFamilies)('listening on localhost, where the machine has IPv4 and IPv6', () => {
  it('listens on 127.0.0.1 and on ::1 at one random port', async () => {
    const { port, url } = await start();
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect([await textFrom('127.0.0.1', port), await textFrom('[::1]', port)]).toEqual(['here', 'here']);
  });

  it('listens on both at a given port', async () => {
    const { port, close } = await start();
    await close();
    await start(port);
    expect([await textFrom('127.0.0.1', port), await textFrom('[::1]', port)]).toEqual(['here', 'here']);
  });

  it('fails when the port is taken on one of them, and listens on neither', async () => {
    const port = await portTakenOnV6();
    await expect(start(port)).rejects.toMatchObject({ code: 'EADDRINUSE', address: '::1', port });
    expect(await isHere('127.0.0.1', port)).toBe(false);
  });

  it('closes both, and waits for responses in flight', async () => {
    const server = createServer((_request, response) => void setImmediate(() => response.end('here')));
    const connections = new Connections(server);
    const listening = await listen(server, { host: 'localhost', port: 0 });
    const port = Number(new URL(listening.url).port);
    const agent = new Agent({ keepAlive: true });
    const [response] = await once(get({ host: '::1', port, agent }), 'response');
    connections.leave(0);
    const closed = listening.close();
    let text = '';
    for await (const chunk of response) text += String(chunk);
    await closed;
    expect(text).toBe('here');
    expect([await isHere('127.0.0.1', port), await isHere('::1', port)]).toEqual([false, false]);
  });
});

describe('listening on localhost, where the machine lacks a family of addresses', () => {
  it('listens on 127.0.0.1 only without IPv6', async () => {
    const { port } = await start(0, { v4: '127.0.0.1', v6: '2001:db8::1' });
    expect(await textFrom('127.0.0.1', port)).toBe('here');
  });

  it.skipIf(!hasBothFamilies)('listens on ::1 only without IPv4', async () => {
    const { port, url } = await start(0, { v4: '192.0.2.1', v6: '::1' });
    expect(url).toBe(`http://[::1]:${port}`);
    expect(await textFrom('[::1]', port)).toBe('here');
  });

  it('fails with neither', async () => {
    await expect(start(0, { v4: '192.0.2.1', v6: '2001:db8::1' })).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
  });
});
