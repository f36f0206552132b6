// S27: a service without configuration is closed. Strangers can neither delete, measure nor see anything, the console shows
// users what the API shows, no password has a known default, and no port is open to the network.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import { findRisks } from '../../src/maintenance/risks.ts';
import { createService, type Service } from '../../src/app/service.ts';
import { RequestBody } from '../../src/engine/exchange.ts';
import type { ServiceResponse } from '../../src/engine/exchange.ts';
import { loadSettings, settingsOf } from '../../src/backends/load-settings.ts';
import { authorizationOf } from '../../src/testing/index.ts';

describe('A service without configuration (S27)', () => {
  let folder: string;
  let service: Service;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coffer-test-'));
    const file = join(folder, 'data', 'coffer.sqlite3');
    const places = { storage_url: file, permission_url: file };
    const settings = loadSettings({ cwd: folder, environment: {}, overrides: places });
    service = await createService({ settings, logger: silentLogger });
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (method: string, path: string, user?: string, body?: unknown): Promise<ServiceResponse> =>
    service.answer({
      method,
      target: path,
      headers: {
        ...(user === undefined ? {} : { authorization: authorizationOf(user) }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body:
        body === undefined
          ? RequestBody.none
          : RequestBody.ofBytes(Buffer.from(JSON.stringify(body)), { maxDepth: 9, maxValues: 1000 }),
      origin: 'http://localhost',
      id: 'x',
    });
  const statusOf = async (method: string, path: string, user?: string): Promise<number> =>
    (await ask(method, path, user)).status;

  it('listens to its own machine alone.', () => {
    expect(service.settings.get('host')).toBe('127.0.0.1');
    expect(settingsOf({ userid_hmac_secret: 'x' }).get('host')).toBe('127.0.0.1');
    expect(service.settings.get('admin_host')).toBe('127.0.0.1');
    expect(service.settings.get('trusted_proxies')).toEqual([]);
  });

  it('has its own secret, which no other user of the machine can read.', async () => {
    const secret = service.settings.get('userid_hmac_secret');
    expect(Buffer.from(secret, 'base64url').length).toBeGreaterThanOrEqual(32);
    expect((await stat(join(folder, 'data', 'secret'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'data'))).mode & 0o777).toBe(0o700);
    // Without one it does not start.
    expect(() => settingsOf({})).toThrow('userid_hmac_secret');
  });

  it('can be neither emptied nor measured, and creates no accounts.', async () => {
    for (const user of [undefined, 'ann', 'admin', 'root']) {
      expect(await statusOf('POST', '/v1/__flush__', user)).toBe(404);
      expect(await statusOf('GET', '/v1/__metrics__', user)).toBe(404);
      expect(await statusOf('POST', '/v1/accounts', user)).toBe(404);
      expect(await statusOf('DELETE', '/v1/__user_data__/ann', user)).not.toBe(200);
    }
  });

  it('shows strangers nothing, lets them change nothing, and users nothing of others.', async () => {
    expect((await ask('PUT', '/v1/buckets/hers', 'ann', { data: { a: 1 } })).status).toBe(201);
    expect((await ask('PUT', '/v1/buckets/hers/collections/c', 'ann', {})).status).toBe(201);
    for (const [user, status] of [
      [undefined, 401],
      ['bob', 403],
    ] as const) {
      for (const path of [
        '/v1/buckets/hers',
        '/v1/buckets/hers/collections',
        '/v1/buckets/hers/collections/c/records',
      ]) {
        for (const method of ['GET', 'DELETE']) expect(await statusOf(method, path, user)).toBe(status);
      }
    }
    expect(await statusOf('PUT', '/v1/buckets/theirs')).toBe(401);
    expect(await statusOf('GET', '/v1/buckets')).toBe(401);
    const { body } = await ask('GET', '/v1/buckets', 'bob');
    expect(body).toBe('{"data":[]}');
  });

  it('serves the console as one file for all users, and lists only permissions of the caller.', async () => {
    expect((await ask('PUT', '/v1/buckets/ann-s', 'ann', { data: { a: 1 } })).status).toBe(201);
    const pages = await Promise.all([undefined, 'ann', 'bob'].map((user) => ask('GET', '/v1/admin/', user)));
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
    const policies = pages.map(({ headers }) => headers['Content-Security-Policy']);
    expect(policies).toEqual([policies[0], policies[0], policies[0]]);
    expect(policies[0]).toContain("default-src 'none'");
    for (const user of [undefined, 'bob']) {
      const { body } = await ask('GET', '/v1/permissions', user);
      expect(body).not.toContain('ann-s');
      expect(body).not.toContain('hers');
    }
    for (const [user, status] of [
      [undefined, 401],
      ['bob', 403],
    ] as const) {
      expect(await statusOf('GET', '/v1/buckets/ann-s/history', user)).toBe(status);
    }
  });

  it('tells strangers neither where it is installed nor what is inside when something is wrong.', async () => {
    for (const [method, path] of [
      ['GET', '/v1/nowhere'],
      ['POST', '/v1/batch'],
      ['GET', '/v1/%ff'],
      ['GET', '/v1/'],
    ]) {
      const { body } = await ask(method!, path!);
      expect(body).not.toMatch(/\bat .*\.[jt]s:\d|node_modules|sqlite3?:|\/tmp\/|dist\/|data\/coffer/);
    }
  });
});

describe('What opens a service (S27)', () => {
  const risksOf = (more: Readonly<Record<string, string>>): readonly string[] =>
    findRisks(
      settingsOf({
        userid_hmac_secret: 'x'.repeat(40),
        storage_backend: 'sqlite',
        permission_backend: 'sqlite',
        allowed_hosts: 'loopback',
        ...more,
      }),
    );

  it('is named among the risks, or warned of at start.', () => {
    expect(risksOf({})).toEqual([]);
    expect(risksOf({ allowed_hosts: '*' }).join()).toContain('DNS rebinding');
    expect(risksOf({ allowed_hosts: '*', trusted_proxies: 'loopback' })).toEqual([]);
    expect(risksOf({ host: '0.0.0.0', http_scheme: 'https' }).join()).toContain('requests from other machines get 421');
    expect(risksOf({ host: '0.0.0.0' }).join()).toContain('TLS');
    expect(risksOf({ host: '0.0.0.0', includes: 'prometheus' }).join()).toContain('admin_port');
    expect(risksOf({ host: '0.0.0.0', includes: 'prometheus', admin_port: '9000' }).join()).not.toContain(
      '__metrics__',
    );
    expect(risksOf({ admin_port: '9000', admin_host: '0.0.0.0' }).join()).toContain('admin_host is 0.0.0.0');
    expect(risksOf({ userid_hmac_secret: 'short' }).join()).toContain('short');
    expect(risksOf({ bucket_create_principals: 'system.Everyone' }).join()).toContain('system.Everyone');
    const flush = settingsOf({ userid_hmac_secret: 'x', flush_endpoint_enabled: 'true' });
    expect(flush.warnings.join()).toContain('any client can delete all data');
  });
});
