// Sessions for `EventSource`, which sends no `Authorization`: a cookie that counts for live updates alone.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testBackends, type TestResponse } from '../../src/testing/index.ts';
import { records, Stage } from './stage.ts';

const app = 'https://app.example';
const settings = { cors_origins: app, live_recheck_seconds: '0.5', trusted_proxies: '127.0.0.1' };

describe('sessions for live updates', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await Stage.start(testBackends[0]!, { settings }, {});
    await stage.setReaders(await stage.idOf('bob'));
  });
  afterEach(() => stage.close());

  async function begin(auth = 'bob', headers: Record<string, string> = {}): Promise<TestResponse> {
    return stage.service.request('POST', '/v1/live/session', { auth, headers });
  }

  async function cookieOf(auth = 'bob'): Promise<string> {
    const { headers } = await begin(auth);
    return headers['set-cookie']!.split(';')[0]!;
  }

  it('begin with a cookie for the paths of the API, out of reach of scripts', async () => {
    const { status, headers, body } = await begin();
    expect(status).toBe(201);
    expect(headers['set-cookie']).toMatch(/^coffer-live=[\w-]+; Max-Age=3600; Path=\/v1; HttpOnly; SameSite=Lax$/);
    expect(headers['set-cookie']).not.toContain('bob');
    expect((body as { expires: number }).expires).toBeGreaterThan(0);
    const ended = await stage.service.request('DELETE', '/v1/live/session');
    expect(ended.status).toBe(204);
    expect(ended.headers['set-cookie']).toMatch(/^coffer-live=; Max-Age=0; Path=\/v1;/);
  });

  it('cannot be planted by another host of the same domain', async () => {
    const https = { 'X-Forwarded-Proto': 'https' };
    const begun = await begin('bob', https);
    expect(begun.headers['set-cookie']).toMatch(
      /^__Host-coffer-live=[\w-]+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const own = begun.headers['set-cookie']!.split(';')[0]!;
    const ended = await stage.service.request('DELETE', '/v1/live/session', { headers: https });
    expect(ended.headers['set-cookie']).toMatch(/^__Host-coffer-live=; Max-Age=0; Path=\/;/);
    const planted = await cookieOf('mallory');
    const statusWith = async (cookie: string, headers: Record<string, string>): Promise<number> =>
      (await stage.follow(`${records}?_live=sse`, { headers: { ...headers, cookie } })).status;
    expect(await statusWith(`${own}; ${planted}`, https)).toBe(200);
    expect(await statusWith(planted, https)).toBe(401);
    // Without https there is no such protection, so two cookies count for nothing.
    expect(await statusWith(`${await cookieOf()}; ${planted}`, {})).toBe(401);
    expect(await statusWith(`${planted}; ${await cookieOf()}`, {})).toBe(401);
  });

  it('need credentials', async () => {
    expect((await stage.service.request('POST', '/v1/live/session')).status).toBe(401);
    const cookie = await cookieOf();
    expect((await stage.service.request('POST', '/v1/live/session', { headers: { cookie } })).status).toBe(401);
  });

  it('authenticate streams, long polls and several lists', async () => {
    const cookie = await cookieOf();
    const clock = await stage.clock();
    for (const path of [
      `${records}?_live=sse`,
      `/v1/live?watch=${encodeURIComponent('/buckets/b/collections/c/records')}`,
    ]) {
      expect((await stage.follow(path, { headers: { cookie } })).status, path).toBe(200);
    }
    await stage.put('x');
    const poll = await stage.service.request('GET', `${records}?_live=poll&_since=${clock}`, { headers: { cookie } });
    expect(poll.status).toBe(200);
  });

  it('count for nothing else', async () => {
    const cookie = await cookieOf();
    const send = (method: string, path: string, body?: object): Promise<TestResponse> =>
      stage.service.request(method, path, { headers: { cookie }, ...(body === undefined ? {} : { body }) });
    expect((await send('GET', records)).status).toBe(401);
    expect((await send('HEAD', records)).status).toBe(401);
    expect((await send('POST', `${records}?_live=sse`, { data: {} })).status).not.toBe(201);
    expect((await send('DELETE', `${records}?_live=sse`)).status).not.toBe(200);
    expect((await send('GET', `${records}/x?_live=sse`)).status).not.toBe(200);
    expect((await send('GET', '/v1/')).body).not.toHaveProperty('user');
    // The parameter means nothing there.
    expect((await send('GET', '/v1/?_live=sse')).body).not.toHaveProperty('user');
    expect((await send('GET', '/v1/buckets/b/collections/c/indexes?_live=sse')).status).toBe(401);
    expect((await send('GET', '/v1/permissions?_live=sse')).status).not.toBe(200);
    const batch = await send('POST', '/v1/batch', { requests: [{ path: '/buckets/b/collections/c/records' }] });
    expect(batch.body).toMatchObject({ responses: [{ status: 401 }] });
  });

  it('count for pages of named origins and of the service alone', async () => {
    const cookie = await cookieOf();
    const statusFrom = async (headers: Record<string, string>): Promise<number> =>
      (await stage.follow('', { headers: { cookie, ...headers } })).status;
    expect(await statusFrom({ origin: app })).toBe(200);
    // Browsers send no origin to the page's own.
    expect(await statusFrom({ 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(await statusFrom({ origin: 'https://evil.example' })).toBe(401);
    expect(await statusFrom({ origin: 'null' })).toBe(401);
    expect(await statusFrom({ 'sec-fetch-site': 'cross-site' })).toBe(401);
    // An image or a script of a page on another port of the host.
    expect(await statusFrom({ 'sec-fetch-site': 'same-site' })).toBe(401);
    const stream = await stage.follow('', { headers: { cookie, origin: app } });
    expect(stream.headers).toMatchObject({
      'access-control-allow-origin': app,
      'access-control-allow-credentials': 'true',
    });
    expect((await stage.follow('_sort=x', { headers: { cookie, origin: app } })).headers).toMatchObject({
      'access-control-allow-credentials': 'true',
    });
    const allowed = { 'access-control-allow-origin': app, 'access-control-allow-credentials': 'true' };
    expect((await begin('bob', { origin: app })).headers).toMatchObject(allowed);
    const preflight = await stage.service.request('OPTIONS', '/v1/live/session', {
      headers: {
        origin: app,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(preflight.headers).toMatchObject(allowed);
    const ordinary = await stage.service.request('GET', records, { auth: 'bob', headers: { origin: app } });
    expect(ordinary.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('do not make browsers ask for a password when they have ended', async () => {
    const ended = await stage.follow('', { headers: { cookie: 'coffer-live=x' } });
    expect(ended.status).toBe(401);
    expect(ended.headers).not.toHaveProperty('www-authenticate');
    const { headers } = await stage.service.request('GET', `${records}?_live=poll&_since=1`);
    expect(headers).toHaveProperty('www-authenticate');
  });

  it('are not forged', async () => {
    const [name, value] = (await cookieOf()).split('=') as [string, string];
    for (const each of [
      '',
      'x',
      value.slice(0, -2),
      ...changesOfLast(value),
      `${value.startsWith('A') ? 'B' : 'A'}${value.slice(1)}`,
      `${value}=`,
      `${value}.`,
      value + value,
    ]) {
      expect((await stage.follow('', { headers: { cookie: `${name}=${each}` } })).status, each).toBe(401);
    }
  });

  it('show what their user may see, until that ends', async () => {
    const cookie = await cookieOf('carol');
    expect((await stage.follow('', { headers: { cookie } })).status).toBe(403);
    const stream = await stage.follow('', { headers: { cookie: await cookieOf() } });
    await stream.until('current');
    await stage.setReaders();
    expect(await stream.next()).toMatchObject({ event: 'end', data: { errno: 121 } });
  });
});

/** Returns the text with other last characters, whose unused bits decoding ignores. */
function changesOfLast(text: string): readonly string[] {
  return ['A', 'B', 'Q', 'g', 'w', '-', '_']
    .filter((each) => !text.endsWith(each))
    .map((each) => text.slice(0, -1) + each);
}
