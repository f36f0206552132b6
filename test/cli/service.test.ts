// The service as operators run it: start without configuration, stop, restart, and the commands on its data.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { basic, run, start, workingFolder } from './process.ts';

const json = { authorization: basic('alice'), 'content-type': 'application/json' };

async function put(url: string, path: string, data: object = {}): Promise<number> {
  const response = await fetch(`${url}${path}`, { method: 'PUT', headers: json, body: JSON.stringify({ data }) });
  await response.text();
  return response.status;
}

async function statusOf(url: string, path: string, method = 'GET'): Promise<number> {
  const response = await fetch(`${url}${path}`, { method, headers: { authorization: json.authorization } });
  await response.text();
  return response.status;
}

describe('coffer start without configuration', () => {
  test('listens on this machine only, keeps data over a restart, and exits with 0.', async () => {
    const cwd = workingFolder();
    const first = await start([], { cwd });
    expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/$/);
    expect(await put(first.url, 'buckets/shop', { open: true })).toBe(201);
    first.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    expect(first.log.at(-1)?.Type).toBe('Stopped');

    const second = await start([], { cwd });
    const response = await fetch(`${second.url}buckets/shop`, { headers: { authorization: json.authorization } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { id: 'shop', open: true } });
    second.kill('SIGINT');
    expect(await second.ended).toBe(0);
  });

  test('has personal buckets, and no flush endpoint.', async () => {
    const { url } = await start([], { cwd: workingFolder() });
    expect(await statusOf(url, 'buckets/default')).toBe(200);
    expect(await statusOf(url, '__flush__', 'POST')).toBe(404);
    const root: unknown = await (await fetch(url)).json();
    expect(root).toMatchObject({ config: null, settings: { readonly: false, batch_max_requests: 25 } });
  });
});

describe('coffer start', () => {
  test('shows its file in the root view, and logs deprecated and unknown names, but no secrets.', async () => {
    const cwd = workingFolder();
    const lines = [
      '[app:main]',
      'kinto.userid_hmac_secret = hunter2',
      'redonly = true',
      'multiauth.policies = basicauth',
    ];
    const content = `${lines.join('\n')}\n`;
    writeFileSync(join(cwd, 'my.ini'), content);
    const { url, log } = await start(['--ini', 'my.ini'], { cwd });
    const root: unknown = await (await fetch(url)).json();
    expect(root).toMatchObject({ config: { path: 'my.ini', hash: expect.stringMatching(/^[0-9a-f]{64}$/) } });
    const warnings = log.filter(({ Severity }) => Severity === 4).map(({ Type }) => Type);
    expect(warnings.join('\n')).toContain('my.ini: 1 setting in a deprecated spelling (kinto.userid_hmac_secret)');
    expect(warnings.join('\n')).toContain('did you mean readonly?');
    expect(JSON.stringify([log, root])).not.toContain('hunter2');
    // The secret cannot be guessed from a hash of the file.
    expect(JSON.stringify(root)).not.toContain(createHash('sha256').update(content).digest('hex'));
  });

  test('completes the request in flight when it is stopped.', async () => {
    const service = await start([], { cwd: workingFolder() });
    const socket = connect(service.port, '127.0.0.1');
    await once(socket, 'connect');
    const body = JSON.stringify({ data: { id: 'late' } });
    const head = `POST /v1/buckets HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${json.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
    socket.write(head);
    // The interim answer shows that the request has arrived.
    const [interim] = (await once(socket, 'data')) as [Buffer];
    expect(interim.toString()).toContain('100 Continue');
    service.kill('SIGTERM');
    await service.logged('Stopping');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    socket.end(body);
    expect(await service.ended).toBe(0);
    expect(answer).toContain('HTTP/1.1 201');
    expect(answer).toContain('"id":"late"');
  });

  test('exits at once with 1 on the second stop signal.', async () => {
    const service = await start([], { cwd: workingFolder() });
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('POST /v1/buckets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
    await once(socket, 'data');
    service.kill('SIGTERM');
    await service.logged('Stopping');
    service.kill('SIGTERM');
    expect(await service.ended).toBe(1);
  });

  test('aborts requests, and exits with 1, when they take longer than shutdown_timeout_seconds.', async () => {
    const service = await start([], { cwd: workingFolder(), environment: { SVC_SHUTDOWN_TIMEOUT_SECONDS: '50ms' } });
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('POST /v1/buckets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
    await once(socket, 'data');
    service.kill('SIGTERM');
    expect(await service.ended).toBe(1);
    expect(service.log.at(-1)?.Type).toContain('aborted');
  });

  test('reports that the port is in use.', async () => {
    const { port } = await start([], { cwd: workingFolder() });
    const { code, err } = await run(['start', '--port', String(port)], { cwd: workingFolder() });
    expect(code).toBe(1);
    expect(err).toBe(
      `coffer: port ${port} of 127.0.0.1 is in use; choose another one with --port, or stop the program that uses it\n`,
    );
  });

  test('reports an address of another machine.', async () => {
    const { code, err } = await run(['start', '--host', '192.0.2.1'], { cwd: workingFolder() });
    expect(code).toBe(1);
    expect(err).toContain('192.0.2.1 is not an address of this machine');
  });
});

describe('The maintenance commands', () => {
  // Proves S-069.
  test('migrate lists its steps, executes them once, has none left afterwards, and ends with done.', async () => {
    const cwd = workingFolder();
    const planned = await run(['migrate', '--dry-run'], { cwd });
    expect(planned.code).toBe(0);
    expect(planned.out).toMatch(
      /^Backends \(storage sqlite, .*\): pending steps:\n {2}create the tables .*\nNothing was changed\.\n$/s,
    );
    const done = await run(['migrate'], { cwd });
    expect([done.code, done.err]).toEqual([0, '']);
    expect(done.out).toMatch(/: completed steps:\n {2}create the tables .*\nDone\.\n$/s);
    const again = await run(['migrate'], { cwd });
    expect(again).toEqual({ code: 0, out: expect.stringMatching(/: nothing to do\.\nDone\.\n$/), err: '' });
  });

  test('webhooks refuses unknown names, and lists the known ones.', async () => {
    const cwd = workingFolder();
    const environment = {
      SVC_EVENT_LISTENERS: 'partner other',
      SVC_EVENT_LISTENERS_PARTNER_USE: 'webhook',
      SVC_EVENT_LISTENERS_OTHER_USE: './other.js',
    };
    expect(await run(['webhooks', '--retry', 'x'], { cwd, environment })).toEqual({
      code: 1,
      out: '',
      err: 'coffer: nothing was done: no webhook is called "x". Known: partner.\n',
    });
    const known = await run(['webhooks', '--retry', 'partner'], { cwd, environment });
    expect([known.code, known.out]).toEqual([0, '0 deliveries of partner will be retried.\n']);
    expect((await run(['webhooks', '--forget', 'x'], { cwd })).err).toContain('The settings define no webhooks.');
  });

  test('webhooks reports when no listener is configured.', async () => {
    const { code, out, err } = await run(['webhooks'], { cwd: workingFolder() });
    expect([code, out, err]).toEqual([0, 'No webhooks: event_listeners names no listener whose use is webhook.\n', '']);
  });

  test('flush-cache exits with 0.', async () => {
    expect(await run(['flush-cache'], { cwd: workingFolder() })).toMatchObject({ code: 0, err: '' });
  });

  test('purge-deleted deletes all but the newest tombstones and prints their number.', async () => {
    const cwd = workingFolder();
    const { url, kill, ended } = await start([], { cwd });
    for (const id of ['a', 'b', 'c']) {
      await put(url, `buckets/${id}`);
      expect(await statusOf(url, `buckets/${id}`, 'DELETE')).toBe(200);
    }
    kill('SIGTERM');
    await ended;
    expect(await run(['purge-deleted', 'bucket', 'record', '1'], { cwd })).toEqual({ code: 0, out: '2\n', err: '' });
    expect(await run(['purge-deleted', 'bucket', '1'], { cwd })).toEqual({ code: 0, out: '0\n', err: '' });
  });

  test('resync makes clients of a restored backup synchronise in full, once.', async () => {
    const cwd = workingFolder();
    const records = 'buckets/shop/collections/list/records';
    const serve = async (work: (url: string) => Promise<void>): Promise<void> => {
      const { url, kill, ended } = await start([], { cwd });
      await work(url);
      kill('SIGTERM');
      await ended;
    };
    const follow = async (url: string, since: string): Promise<Response> =>
      fetch(`${url}${records}?_since=${encodeURIComponent(since)}`, { headers: { authorization: json.authorization } });
    await serve(async (url) => {
      for (const path of ['buckets/shop', 'buckets/shop/collections/list', `${records}/kept`]) await put(url, path);
    });
    cpSync(join(cwd, 'data'), join(cwd, 'backup'), { recursive: true });
    let seen = '';
    await serve(async (url) => {
      await put(url, `${records}/lost`);
      seen = (await follow(url, '0')).headers.get('etag')!;
    });
    rmSync(join(cwd, 'data'), { recursive: true });
    cpSync(join(cwd, 'backup'), join(cwd, 'data'), { recursive: true });
    const { code, out } = await run(['resync'], { cwd });
    expect([code, out]).toEqual([0, 'Clients of 5 lists will synchronise in full.\n']);
    await serve(async (url) => {
      const told = await follow(url, seen);
      expect([told.status, await told.json()]).toEqual([200, { data: [] }]);
      expect(told.headers.get('resync')).toBe(told.headers.get('etag'));
      expect(Number(told.headers.get('etag')!.slice(1, -1))).toBeGreaterThan(Number(seen.slice(1, -1)));
      const again = await follow(url, told.headers.get('etag')!);
      expect([again.status, again.headers.has('resync')]).toEqual([200, false]);
      await put(url, `${records}/new`);
      expect(await (await follow(url, told.headers.get('etag')!)).json()).toMatchObject({ data: [{ id: 'new' }] });
    });
    const refused = await run(['resync'], { cwd, environment: { SVC_READONLY: 'true' } });
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('readonly')]);
  });

  test('delete-collection deletes, and has an exit code for each reason not to.', async () => {
    const cwd = workingFolder();
    const { url, kill, ended } = await start([], { cwd });
    await put(url, 'buckets/shop');
    await put(url, 'buckets/shop/collections/news');
    expect(await put(url, 'buckets/shop/collections/news/records/one')).toBe(201);
    kill('SIGTERM');
    await ended;
    const code = async (bucket: string, collection: string, environment = {}): Promise<number | null> =>
      (await run(['delete-collection', '--bucket', bucket, '--collection', collection], { cwd, environment })).code;
    expect(await code('shop', 'news', { SVC_READONLY: 'true' })).toBe(31);
    expect(await code('nowhere', 'news')).toBe(32);
    expect(await code('shop', 'nothing')).toBe(33);
    expect(await code('shop', 'news')).toBe(0);
    expect(await code('shop', 'news')).toBe(33);
    const again = await start([], { cwd });
    expect(await statusOf(again.url, 'buckets/shop/collections/news/records/one')).toBe(404);
  });
});
