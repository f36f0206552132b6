// A port for those who run the service (docs/guides/limits.md#a-port-for-operators).
import { describe, expect, it, onTestFinished } from 'vitest';
import { createService } from '../../src/app/service.ts';
import { silentLogger } from '../../src/contracts/logger.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { authorizationOf, startTestService } from '../../src/testing/index.ts';

const all = {
  userid_hmac_secret: 'secret for tests',
  includes: 'prometheus flush admin',
  host: '127.0.0.1',
  http_port: '0',
};
const forOperators = ['/__metrics__', '/__heartbeat__', '/__flush__', '/admin', '/admin/', '/admin/index.html'];

interface Ports {
  readonly open: string;
  readonly own: string;
}

async function start(more: Readonly<Record<string, string>> = {}): Promise<Ports> {
  const service = await createService({
    settings: settingsOf({ ...all, admin_port: '0', ...more }),
    logger: silentLogger,
  });
  const url = await service.listen();
  onTestFinished(() => service.close());
  return { open: url.slice(0, -1), own: service.adminUrl!.slice(0, -1) };
}

describe('With an admin port', () => {
  it('operators use endpoints there that the public port does not serve.', async () => {
    const { open, own } = await start();
    for (const path of forOperators) {
      const method = path === '/__flush__' ? 'POST' : 'GET';
      expect([path, (await fetch(open + path, { method })).status]).toEqual([path, 404]);
      expect((await fetch(own + path, { method })).status).toBeLessThan(300);
    }
    const unversioned = new URL(open).origin;
    expect((await fetch(`${unversioned}/__heartbeat__`)).status).toBe(404);
    for (const port of [open, own]) expect((await fetch(`${port}/__lbheartbeat__`)).status).toBe(200);
  });

  it('operators have all other endpoints there too, because the console uses its own origin.', async () => {
    const { open, own } = await start();
    const headers = { Authorization: authorizationOf('ann') };
    expect((await fetch(`${own}/buckets/b`, { method: 'PUT', headers })).status).toBe(201);
    expect((await fetch(`${open}/buckets/b`, { headers })).status).toBe(200);
  });

  it('operator endpoints cannot be reached by a batch, by another spelling of the path, or by headers of proxies.', async () => {
    const { open, own } = await start({ trusted_proxies: 'loopback' });
    const { host } = new URL(own);
    const requests = ['/v1/__flush__', '/v1/%5f_flush__', '/__flush__', '/v1//__flush__', '/v1/./__flush__'];
    const batch = await fetch(`${open}/batch`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ requests: requests.map((path) => ({ method: 'POST', path })) }),
    });
    const { responses } = (await batch.json()) as { responses: readonly { status: number }[] };
    expect(responses.map(({ status }) => status)).toEqual(requests.map(() => 404));
    const headers = {
      'X-Forwarded-Host': host,
      'X-Forwarded-Port': new URL(own).port,
      'X-Original-URL': '/v1/__flush__',
    };
    expect((await fetch(`${open}/__flush__`, { method: 'POST', headers })).status).toBe(404);
  });

  it('browsers are redirected to the console only on the port that serves it.', async () => {
    const { open, own } = await start();
    const headers = { Accept: 'text/html' };
    for (const [port, path] of [
      [open, '/v1/'],
      [own, '/v1/admin/'],
    ] as const) {
      const { origin } = new URL(port);
      const answer = await fetch(`${origin}/`, { headers, redirect: 'manual' });
      expect(answer.headers.get('location')).toBe(origin + path);
    }
  });

  it('descriptions of the service omit endpoints that the port does not serve.', async () => {
    const { open } = await start();
    const { paths } = (await (await fetch(`${open}/openapi.json`)).json()) as { paths: Record<string, unknown> };
    expect(Object.keys(paths)).toContain('/__lbheartbeat__');
    expect(Object.keys(paths).filter((path) => forOperators.includes(path))).toEqual([]);
  });

  it('operators are neither limited nor refused there.', async () => {
    const { open, own } = await start({ rate_limits: 'x', 'rate_limits.x.requests': '1', max_requests_under_way: '1' });
    const ask = async (port: string): Promise<number> => (await fetch(`${port}/`)).status;
    expect([await ask(open), await ask(open)]).toEqual([200, 429]);
    expect([await ask(own), await ask(own), await ask(own)]).toEqual([200, 200, 200]);
  });
});

describe('Without an admin port', () => {
  it('the public port serves operator endpoints.', async () => {
    const service = await startTestService({ settings: { includes: 'prometheus' } });
    onTestFinished(() => service.close());
    expect((await service.request('GET', '/v1/__metrics__')).status).toBe(200);
    expect((await service.request('GET', '/v1/__heartbeat__')).status).toBe(200);
  });

  it('the admin port must differ from the public port.', () => {
    expect(() => settingsOf({ ...all, http_port: '8888', admin_port: '8888' })).toThrow('must differ from http_port');
  });
});
