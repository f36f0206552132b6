// Invalid forms: each gets a response and leaves no file, and the service continues.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  authorizationOf,
  startTestService,
  type TestClient,
  type TestResponse,
  type TestService,
} from '../../src/testing/index.ts';
import { boundary, FileFolder, form, formBytes, upload, type FormPart } from '../support/attachments.ts';

const path = '/v1/buckets/b/collections/c/records/r/attachment';
const file: FormPart = { name: 'attachment', filename: 'a.txt', type: 'text/plain', content: 'hello' };
const maxBytes = 1_000_000;

let folder: FileFolder;
let service: TestService;
let alice: TestClient;

beforeAll(async () => {
  folder = await FileFolder.create();
  service = await startTestService({
    settings: {
      includes: 'attachments',
      bucket_create_principals: 'system.Authenticated',
      max_body_size: '100000',
      max_json_depth: '10',
      max_json_values: '1000',
      header_timeout_seconds: '1',
      body_timeout_seconds: '2',
      'attachment.base_path': folder.path,
      'attachment.max_size_bytes': String(maxBytes),
    },
  });
  alice = service.asUser('alice');
  await alice.request('PUT', '/v1/buckets/b');
  await alice.request('PUT', '/v1/buckets/b/collections/c');
});
afterAll(async () => {
  await service.close();
  await folder.remove();
});
beforeEach(() => async () => {
  await alice.request('DELETE', '/v1/buckets/b/collections/c/records/r');
  expect(folder.names).toEqual([]);
});

interface Refusal {
  readonly name: string;
  readonly parts?: readonly FormPart[];
  readonly raw?: string | Buffer;
  readonly type?: string;
  readonly status?: number;
  readonly errno: number;
  readonly details?: unknown;
}

const part = (head: string, content = ''): string => `--${boundary}\r\n${head}\r\n\r\n${content}\r\n`;
const end = `--${boundary}--\r\n`;
const disposition = 'Content-Disposition: form-data; name="attachment"; filename="a.txt"';
const aboutBody = [{ location: 'body', name: 'attachment' }];

const refusals: readonly Refusal[] = [
  { name: 'without file', parts: [{ name: 'data', content: '{}' }], errno: 109, details: aboutBody },
  { name: 'with nothing in it', parts: [], errno: 109, details: aboutBody },
  {
    name: 'with another part',
    parts: [file, { name: 'other', content: 'x' }],
    errno: 109,
    details: [{ name: 'other' }],
  },
  { name: 'with another file', parts: [file, { ...file, name: 'other' }], errno: 109, details: [{ name: 'other' }] },
  { name: 'with a part called __proto__', parts: [file, { name: '__proto__', content: '{}' }], errno: 109 },
  { name: 'with two files', parts: [file, file], errno: 109, details: aboutBody },
  {
    name: 'with data twice',
    parts: [file, { name: 'data', content: '{}' }, { name: 'data', content: '{}' }],
    errno: 109,
  },
  {
    name: 'with data that is no JSON',
    parts: [file, { name: 'data', content: '{' }],
    errno: 109,
    details: [{ name: 'data' }],
  },
  { name: 'with data that is a list', parts: [file, { name: 'data', content: '[]' }], errno: 109 },
  {
    name: 'with data as a file',
    parts: [file, { ...file, name: 'data', content: '{}' }],
    errno: 109,
    details: [{ name: 'data' }],
  },
  { name: 'with permissions as a file', parts: [{ ...file, name: 'permissions', content: '{}' }, file], errno: 109 },
  {
    name: 'with data that is nested too deeply',
    parts: [file, { name: 'data', content: '{"a":'.repeat(50) }],
    errno: 109,
  },
  {
    name: 'with data that has too many values',
    parts: [file, { name: 'data', content: `{"a":[${'1,'.repeat(1000)}1]}` }],
    errno: 109,
  },
  { name: 'with unknown permissions', parts: [file, { name: 'permissions', content: '{"fly":[]}' }], errno: 107 },
  {
    name: 'with data that is too long',
    parts: [file, { name: 'data', content: `{"a":"${'x'.repeat(100_000)}"}` }],
    status: 413,
    errno: 113,
  },
  {
    name: 'with a file that is no file',
    parts: [{ name: 'attachment', content: 'x' }],
    errno: 107,
    details: aboutBody,
  },
  { name: 'with a file without name', parts: [{ ...file, filename: '' }], errno: 107, details: aboutBody },
  {
    name: 'with a file whose name is a path only',
    parts: [{ ...file, filename: '../..' }],
    errno: 107,
    details: aboutBody,
  },
  {
    name: 'with a file of bytes without name',
    raw: part('Content-Disposition: form-data; name="attachment"\r\nContent-Type: application/octet-stream', 'x') + end,
    errno: 107,
  },
  {
    name: 'with an extension that is not accepted',
    parts: [{ ...file, filename: 'a.EXE' }],
    errno: 107,
    details: aboutBody,
  },
  {
    name: 'with a file that is too large',
    parts: [{ ...file, content: Buffer.alloc(maxBytes + 1) }],
    errno: 107,
    details: aboutBody,
  },
  {
    name: 'with thousands of parts',
    parts: Array.from({ length: 5000 }, () => ({ name: 'data', content: '{}' })),
    errno: 109,
  },
  { name: 'with thousands of parts without name', raw: part('X: y').repeat(5000) + end, errno: 109 },
  { name: 'with huge headers', raw: part(`X: ${'y'.repeat(500_000)}\r\n${disposition}`, 'x') + end, errno: 109 },
  { name: 'with thousands of headers', raw: part(`${'X: y\r\n'.repeat(5000)}${disposition}`, 'x') + end, errno: 109 },
  { name: 'with a long preamble', raw: 'x'.repeat(3_000_000) + formBytes([file]).toString(), status: 413, errno: 113 },
  { name: 'without end', raw: part(disposition, 'x'), errno: 107 },
  { name: 'without end of its headers', raw: `--${boundary}\r\n${disposition}`, errno: 107 },
  { name: 'that is empty', raw: '', errno: 107 },
  {
    name: 'that is noise',
    raw: Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 256)),
    errno: 107,
  },
  { name: 'with another boundary', raw: formBytes([file]), type: 'multipart/form-data; boundary=another', errno: 107 },
  { name: 'without boundary', raw: formBytes([file]), type: 'multipart/form-data', errno: 107 },
  { name: 'of another kind', raw: formBytes([file]), type: `multipart/mixed; boundary=${boundary}`, errno: 107 },
  { name: 'that is not one', raw: 'a=b', type: 'application/x-www-form-urlencoded', errno: 107 },
];

describe('A form', () => {
  it.each(refusals)('$name is refused.', async ({ parts, raw, type, status = 400, errno, details }) => {
    const headers = { 'Content-Type': type ?? `multipart/form-data; boundary=${boundary}` };
    const sent = parts === undefined ? { raw: raw ?? '', headers } : form(parts);
    const answer = await alice.request('POST', path, sent);
    expect(answer).toMatchObject({ status, body: { code: status, errno } });
    if (details !== undefined) expect(answer.body).toMatchObject({ details });
    expect((await alice.request('GET', '/v1/buckets/b/collections/c/records')).body).toEqual({ data: [] });
    // The service continues on the same or another connection.
    expect((await alice.request('GET', '/v1/buckets/b')).status).toBe(200);
  });

  it('is accepted with parts in any order, with preamble and epilogue, and in small chunks.', async () => {
    const parts = [{ name: 'data', content: '{"a":1}' }, { name: 'permissions', content: '{"read":["x"]}' }, file];
    const bytes = Buffer.concat([Buffer.from('before\r\n'), formBytes(parts), Buffer.from('after')]);
    const type = `Multipart/Form-Data; boundary="${boundary}"`;
    const socket = await open(`Content-Type: ${type}\r\nTransfer-Encoding: chunked`);
    for (let at = 0; at < bytes.length; at += 3) {
      const piece = bytes.subarray(at, at + 3);
      socket.write(`${piece.length.toString(16)}\r\n`);
      socket.write(piece);
      socket.write('\r\n');
    }
    socket.write('0\r\n\r\n');
    expect(await readAnswer(socket)).toMatch(/^HTTP\/1.1 201 /);
    const record = await alice.request('GET', '/v1/buckets/b/collections/c/records/r');
    expect(record.body).toMatchObject({ data: { a: 1, attachment: { size: 5 } }, permissions: { read: ['x'] } });
  });

  it('is discarded when its client disconnects.', async () => {
    const head = `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 500000`;
    for (const sent of ['', `--${boundary}`, part(disposition, 'x'.repeat(100_000)).slice(0, -2)]) {
      const socket = await open(head);
      socket.write(sent);
      // A part of the file exists, or will in a moment.
      if (sent.length > 1000) await expect.poll(() => folder.names.length).toBe(1);
      socket.destroy();
      await expect.poll(() => folder.names).toEqual([]);
    }
  });

  it('is discarded after a timeout without data.', async () => {
    const socket = await open(`Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 500000`);
    socket.write(part(disposition, 'x'.repeat(1000)).slice(0, -2));
    await expect.poll(() => folder.names.length).toBe(1);
    expect(await readAnswer(socket)).toMatch(/^HTTP\/1.1 408 /);
    await expect.poll(() => folder.names).toEqual([]);
  });

  it('gets a response as soon as it is too large, and the rest is drained.', async () => {
    const socket = await open(`Content-Type: multipart/form-data; boundary=${boundary}\r\nTransfer-Encoding: chunked`);
    const piece = Buffer.alloc(65_536, 'x');
    const send = (bytes: Buffer): boolean =>
      socket.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
    send(Buffer.from(part(disposition).slice(0, -2)));
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    for (let sent = 0; answer === '' && sent < 1000; sent++) if (!send(piece)) await once(socket, 'drain');
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('larger than 1000000 bytes');
    // The rest is drained, and the connection can be reused.
    for (let sent = 0; sent < 20; sent++) if (!send(piece)) await once(socket, 'drain');
    answer = '';
    socket.write('0\r\n\r\nGET /v1/__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => answer).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });

  it('is not read for callers without permission.', async () => {
    const head = `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 100000000`;
    const socket = await open(head, authorizationOf('bob'));
    expect(await readAnswer(socket)).toMatch(/^HTTP\/1.1 403 /);
    socket.destroy();
    expect(await readAnswer(await open(head, 'Basic nonsense'))).toMatch(/^HTTP\/1.1 401 /);
  });

  it('is requested with 100 Continue only after the permission check.', async () => {
    const bytes = formBytes([file]);
    const type = `multipart/form-data; boundary=${boundary}`;
    const socket = await open(`Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\nExpect: 100-continue`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1.1 100 /);
    socket.write(bytes);
    expect(await readAnswer(socket)).toMatch(/^HTTP\/1.1 201 /);
  });

  it('does not block other writers while it arrives.', async () => {
    const bytes = formBytes([file]);
    const socket = await open(
      `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${bytes.length}`,
    );
    socket.write(bytes.subarray(0, -10));
    await expect.poll(() => folder.names.length).toBe(1);
    expect((await upload(alice, '/buckets/b/collections/c/records/other')).status).toBe(201);
    expect((await alice.request('DELETE', '/v1/buckets/b/collections/c/records/other')).status).toBe(200);
    socket.write(bytes.subarray(-10));
    expect(await readAnswer(socket)).toMatch(/^HTTP\/1.1 201 /);
  });
});

/** Sends the beginning of an upload. */
async function open(
  head: string,
  authorization: string = authorizationOf('alice'),
  { origin }: TestService = service,
): Promise<Socket> {
  const { port } = new URL(origin);
  const socket = connect(Number(port), '127.0.0.1');
  // The service may close the connection before everything is sent.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n${head}\r\n\r\n`);
  return socket;
}

async function readAnswer(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    const length = /content-length: (\d+)/i.exec(text)?.[1];
    const start = text.indexOf('\r\n\r\n') + 4;
    if (start > 3 && text.length - start >= Number(length ?? 0)) break;
  }
  return text;
}

/** Starts a service with a memory budget, and a collection that all users may write. */
async function startWithBudget(bytes: number): Promise<TestService> {
  const files = await FileFolder.create();
  const started = await startTestService({
    settings: { includes: 'attachments', memory_budget_bytes: String(bytes), 'attachment.base_path': files.path },
  });
  onTestFinished(async () => {
    await started.close();
    await files.remove();
  });
  const body = { permissions: { write: ['system.Authenticated'] } };
  await started.request('PUT', '/v1/buckets/b', { auth: 'alice', body });
  await started.request('PUT', '/v1/buckets/b/collections/c', { auth: 'alice' });
  return started;
}

describe('A form with large data', () => {
  it('is accepted up to max_body_size, also when the budget has room for one at a time.', async () => {
    // As derived from a heap of 256 MB.
    const client = (await startWithBudget(136_000_000)).asUser('alice');
    const data = { text: 'x'.repeat(9_900_000) };
    const uploads = ['r', 's'].map((id) => upload(client, `/buckets/b/collections/c/records/${id}`, { data }));
    for (const { status } of await Promise.all(uploads)) expect([201, 503]).toContain(status);
    const idle = await upload(client, '/buckets/b/collections/c/records/t', { data });
    expect(idle.status).toBe(201);
  });
});

describe('Forms that stall', () => {
  const whole = part('Content-Disposition: form-data; name="data"', `{"a":[${'{},'.repeat(20_000)}{}]}`);

  it.each([
    ['in a file after small data', 60_000, whole + part(disposition, 'xxx').slice(0, -2), 3],
    ['in small data', 60_000, whole.slice(0, -20), 3],
    ['before their first byte', 0, '', 60],
  ])('%s share the memory budget, and others are served.', async (_where, dataBytes, sent, accepted) => {
    // Five million bytes for small bodies, and two and a half for those of one user that find no room there.
    const small = await startWithBudget(40_000_000);
    const head = `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 500000`;
    const sockets: Socket[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    const answers: string[] = [];
    for (let n = 0; answers.length === 0 && n <= accepted; n++) {
      const socket = await open(head, authorizationOf('eve'), small);
      sockets.push(socket);
      socket.on('data', (chunk: Buffer) => answers.push(chunk.toString()));
      socket.write(sent);
    }
    await expect.poll(() => answers).toEqual([expect.stringMatching(/^HTTP\/1.1 503 [^]*retry-after/i)]);
    expect((await upload(small.asUser('bob'), '/buckets/b/collections/c/records/bob')).status).toBe(201);
    for (const socket of sockets) socket.destroy();
    // The memory is given back as soon as the service knows of the end of the connections.
    const data = { text: 'x'.repeat(dataBytes) };
    const again = (n: number): Promise<TestResponse> =>
      upload(small.asUser('eve'), `/buckets/b/collections/c/records/eve${n}`, { data });
    for (let n = 0; n <= accepted; n++) await expect.poll(async () => (await again(n)).status).toBeLessThan(300);
  });
});
