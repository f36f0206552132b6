// Slow readers of files, in both kinds of stores: the share of a user and of an address, and what their end frees. Files that
// cannot be opened.
import { once } from 'node:events';
import fs, { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { serveFile } from '../../src/http/static-files.ts';
import { authorizationOf, startTestService, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { FileFolder, upload } from '../support/attachments.ts';
import { allClosed, watchFiles } from '../support/downloads.ts';
import { Gate } from '../support/gate.ts';
import { S3Server } from '../support/s3-server.ts';

const collection = '/buckets/b/collections/c';
/** More than the system takes from the service for a client that does not read. */
const large = Buffer.alloc(24_000_000);

let folder: FileFolder;
let server: S3Server;
let service: TestService;
let sockets: Socket[];

beforeEach(async () => {
  folder = await FileFolder.create();
  server = await S3Server.start();
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await service.close();
  await server.close();
  await folder.remove();
});

/** Starts a service with a collection that everyone may read. */
async function start(settings: Readonly<Record<string, string>>): Promise<void> {
  service = await startTestService({ settings: { includes: 'attachments', trusted_proxies: 'loopback', ...settings } });
  const alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/b');
  await alice.request('PUT', `/v1${collection}`, { body: { permissions: { read: ['system.Everyone'] } } });
}

async function store(record: string, content: string | Buffer): Promise<string> {
  const { body } = await upload(service.asUser('alice'), `${collection}/records/${record}`, { content });
  return (body as { location: string }).location;
}

/** Begins a download and reads nothing after the first bytes. */
async function stall(path: string, user: string, address: string): Promise<Socket> {
  const { hostname, port } = new URL(service.origin);
  const socket = connect(Number(port), hostname).pause();
  sockets.push(socket);
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorizationOf(user)}\r\nX-Forwarded-For: ${address}\r\n\r\n`,
  );
  await once(socket, 'readable');
  return socket;
}

function get(path: string, user: string, address: string): Promise<TestResponse> {
  return service.request('GET', path, { auth: user, headers: { 'X-Forwarded-For': address } });
}

describe.each(['folder', 'bucket'])('Slow downloads from a %s', (kind) => {
  const begin = (settings: Readonly<Record<string, string>>): Promise<void> =>
    start({ ...(kind === 'folder' ? { 'attachment.base_path': folder.path } : server.settings), ...settings });

  it('take no more than an eighth of all places for a user, and a quarter for an address', async () => {
    await begin({ 'attachment.max_downloads': '16', 'attachment.download_wait_seconds': '0' });
    const [slow, small] = [await store('large', large), await store('small', 'small')];
    for (const user of ['ann', 'ann', 'ben', 'ben']) await stall(slow, user, '192.0.2.1');
    for (const user of ['ann', 'carl']) {
      const refused = await get(small, user, '192.0.2.1');
      expect(refused).toMatchObject({ status: 503, body: { errno: 201 }, headers: { 'retry-after': '3' } });
    }
    for (const user of ['ann', 'carl']) {
      expect(await get(small, user, '192.0.2.2')).toMatchObject({ status: 200, text: 'small' });
    }
  });

  it('free their place when the client has left', async () => {
    await begin({ 'attachment.max_downloads': '1', 'attachment.download_wait_seconds': '60' });
    const [slow, small] = [await store('large', large), await store('small', 'small')];
    const socket = await stall(slow, 'ann', '192.0.2.1');
    const other = get(small, 'ben', '192.0.2.2');
    socket.destroy();
    expect(await other).toMatchObject({ status: 200, text: 'small' });
  });

  it('delay no batch, which may hold locks, and no HEAD', async () => {
    await begin({ 'attachment.max_downloads': '1', 'attachment.download_wait_seconds': '3600' });
    const [slow, small] = [await store('large', large), await store('small', 'small')];
    await stall(slow, 'ann', '192.0.2.1');
    const alice = service.asUser('alice');
    const record = `${collection}/records/other`;
    for (const requests of [
      [{ method: 'PUT', path: record }, { path: small }],
      [{ path: small }, { method: 'PUT', path: record }],
    ]) {
      const { status, body } = await alice.request('POST', '/v1/batch', { body: { requests } });
      expect([400, 200]).toContain(status);
      expect(JSON.stringify(body)).toContain('a batch cannot');
    }
    expect((await alice.request('HEAD', small)).status).toBe(200);
    expect([200, 201]).toContain((await alice.request('PUT', `/v1${record}`)).status);
  });

  it('refuse requests at once while as many wait as there are places', async () => {
    await begin({ 'attachment.max_downloads': '1', 'attachment.download_wait_seconds': '60' });
    const [slow, small] = [await store('large', large), await store('small', 'small')];
    const socket = await stall(slow, 'ann', '192.0.2.1');
    const all = [1, 2].map((number) => get(small, 'ben', `192.0.2.${number}`));
    expect((await Promise.race(all)).status).toBe(503);
    socket.destroy();
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([200, 503]));
  });

  it('do not take a place when they are refused, unchanged, or in a batch', async () => {
    await begin({ 'attachment.max_downloads': '1', 'attachment.download_wait_seconds': '0' });
    const small = await store('small', 'small');
    const alice = service.asUser('alice');
    const { headers } = await alice.request('GET', small);
    const statuses: number[] = [];
    for (const sent of [{ 'If-None-Match': headers['etag']! }, { Range: 'bytes=9-' }, {}]) {
      statuses.push((await alice.request('GET', small, { headers: sent })).status);
    }
    statuses.push((await alice.request('HEAD', small)).status);
    const batch = { requests: [{ path: small }] };
    statuses.push((await alice.request('POST', '/v1/batch', { body: batch })).status);
    statuses.push((await alice.request('GET', small)).status);
    expect(statuses).toEqual([304, 416, 200, 200, 400, 200]);
  });
});

describe('A file in a folder', () => {
  let path: string;

  beforeEach(async () => {
    await start({ 'attachment.base_path': folder.path, 'attachment.max_downloads': '1' });
    path = await store('small', 'small');
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const inFolder = (): string => join(folder.path, folder.names[0]!);

  it('that is deleted before it is open does not exist (404)', async () => {
    watchFiles(folder.path, () => rmSync(inFolder()));
    const answer = await service.request('GET', path).catch(() => 'no response');
    expect(answer).toMatchObject({ status: 404, body: { errno: 111 } });
  });

  it('that cannot be opened is not available now (503)', async () => {
    const open = fs.createReadStream;
    vi.spyOn(fs, 'createReadStream').mockImplementationOnce(() => open(folder.path, { flags: 'wx' }));
    expect(await service.request('GET', path)).toMatchObject({ status: 503, body: { errno: 201 } });
    expect((await service.request('GET', path)).text).toBe('small');
  });

  it.each([
    ['GET', {}, 1, 200],
    ['GET', { range: 'bytes=1-2' }, 1, 206],
    ['GET', { range: 'bytes=9-' }, 0, 416],
    ['GET', { 'if-none-match': '*' }, 0, 304],
    ['GET', { 'if-match': '"other"' }, 0, 412],
    ['HEAD', {}, 0, 200],
  ])(
    'is opened for a response with its content only, and closed at its end: %s %j',
    async (method, headers, count, status) => {
      const streams = watchFiles(folder.path);
      expect((await service.request(method, path, { headers })).status).toBe(status);
      expect(streams).toHaveLength(count);
      await allClosed(streams);
    },
  );

  it('that is deleted while it is sent is sent to its end', async () => {
    const request = { method: 'GET', headers: {} } as Parameters<typeof serveFile>[0];
    const { body } = await serveFile(request, { root: folder.path, path: folder.names[0]! });
    rmSync(inFolder());
    const chunks: unknown[] = [];
    for await (const chunk of body as AsyncIterable<unknown>) chunks.push(chunk);
    expect(chunks.map(String)).toEqual(['small']);
  });
});

describe('Many slow downloads from a bucket', () => {
  it('delay neither uploads and deletions nor the check of the store', async () => {
    await start({ ...server.settings, 'attachment.max_downloads': '1000' });
    const slow = await store('slow', 'a slow file');
    const gates = Array.from({ length: 70 }, () => new Gate());
    const arriving = gates.values();
    server.delays = { GET: () => arriving.next().value?.pass() ?? Promise.resolve() };
    const alice = service.asUser('alice');
    const downloads = gates.map(() => alice.request('GET', slow));
    await Promise.all(gates.map(({ reached }) => reached));
    expect((await upload(alice, `${collection}/records/other`)).status).toBe(201);
    expect((await alice.request('DELETE', `/v1${collection}/records/other`)).status).toBe(200);
    expect(server.files.size).toBe(1);
    expect((await service.request('GET', '/v1/__heartbeat__')).status).toBe(200);
    for (const gate of gates) gate.open();
    expect(new Set((await Promise.all(downloads)).map(({ text }) => text))).toEqual(new Set(['a slow file']));
  });
});
