// Attachments in S3 when the object store executes requests late or twice, or answers badly.
import { utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startTestService, type TestClient, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { FileFolder, upload } from '../support/attachments.ts';
import { Gate } from '../support/gate.ts';
import { S3Server } from '../support/s3-server.ts';

const first = '/buckets/b/collections/c/records/first';
const second = '/buckets/b/collections/c/records/second';

let server: S3Server;
let service: TestService;
let alice: TestClient;

beforeEach(async () => {
  server = await S3Server.start();
});
afterEach(async () => {
  await service.close();
  await server.close();
});

async function start(settings: Readonly<Record<string, string>>): Promise<void> {
  service = await startTestService({
    settings: {
      includes: 'attachments',
      bucket_create_principals: 'system.Authenticated',
      ...server.settings,
      ...settings,
    },
  });
  alice = service.asUser('alice');
  for (const uri of ['/buckets/b', '/buckets/b/collections/c']) await alice.request('PUT', `/v1${uri}`);
}

/** Returns the content of the file of a record. */
async function contentOf(record: string): Promise<string> {
  const { body } = await alice.request('GET', `/v1${record}`);
  const { location } = (body as { data: { attachment: { location: string } } }).data.attachment;
  return (await alice.request('GET', location)).text;
}

describe.each([
  ['its record is deleted', '{filename}', () => alice.request('DELETE', `/v1${first}`)],
  ['its record gets another file', '{filename}', () => upload(alice, first, { filename: 'other.txt' })],
  ['its upload is refused', '{filename}', () => upload(alice, first, { headers: { 'If-Match': '"1"' } })],
  ['its record is deleted', 'same', () => alice.request('DELETE', `/v1${first}`)],
] satisfies readonly (readonly [string, string, () => Promise<TestResponse>])[])(
  'The deletion of a file when %s, with names by the pattern %s,',
  (_case, pattern, lose) => {
    const settings = { 'attachment.randomize': 'false', 'attachment.filename_pattern': pattern };

    it('deletes no later file when the object store executes it late.', async () => {
      await start(settings);
      await upload(alice, first);
      const late = new Gate();
      server.delays = {
        DELETE(_key, { socket }) {
          server.delays = {};
          socket.destroy();
          return late.pass();
        },
      };
      expect((await lose()).status).toBeLessThan(500);
      await upload(alice, second, { content: 'second' });
      late.open();
      expect(await contentOf(second)).toBe('second');
    });

    it('deletes no later file when its answer is lost and it is repeated.', async () => {
      await start(settings);
      await upload(alice, first);
      server.delays = {
        async DELETE(key, { socket }) {
          server.delays = {};
          server.files.delete(key);
          await upload(alice, second, { content: 'second' });
          socket.destroy();
        },
      };
      expect((await lose()).status).toBeLessThan(500);
      expect(await contentOf(second)).toBe('second');
    });
  },
);

describe('An upload to an object store', () => {
  it('deletes the temporary files that a killed process has left behind a day ago.', async () => {
    const folder = await FileFolder.create();
    vi.stubEnv('TMPDIR', folder.path);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await folder.remove();
    });
    await start({});
    const others = folder.names;
    let uploading: readonly string[] = [];
    server.delays = {
      PUT() {
        uploading = folder.names.filter((name) => !others.includes(name));
        return Promise.resolve();
      },
    };
    await upload(alice, first);
    expect(uploading).toHaveLength(1);
    const left = join(folder.path, uploading[0]!);
    const recent = left.replace(/[0-9a-f]{12}\.part$/, '000000000000.part');
    for (const path of [left, recent, join(folder.path, 'of-others.part')]) await writeFile(path, 'x');
    for (const path of [left, join(folder.path, 'of-others.part')]) await utimes(path, 1000, 1000);
    await service.close();
    await start({});
    await upload(alice, first);
    expect(folder.names.filter((name) => name.endsWith('.part'))).toEqual([basename(recent), 'of-others.part']);
  });
});

describe('A download from an object store', () => {
  it('is refused when the file is not the expected one.', async () => {
    await start({});
    const { location } = (await upload(alice, first)).body as { location: string };
    const { headers } = await alice.request('GET', location);
    const read = async (condition: Record<string, string>): Promise<number> =>
      (await alice.request('GET', location, { headers: condition })).status;
    expect(await read({ 'If-Match': String(headers['etag']) })).toBe(200);
    expect(await read({ 'If-Match': '"another"' })).toBe(412);
    expect(await read({ 'If-Unmodified-Since': String(headers['last-modified']) })).toBe(200);
    expect(await read({ 'If-Unmodified-Since': new Date(0).toUTCString() })).toBe(412);
  });
});

describe('An object store whose answers are cut', () => {
  it.each(['aborted', 'stalled'] as const)('causes 503, also when its refusal is %s.', async (cut) => {
    await start({ 'attachment.aws.timeout_seconds': '0.5', 'attachment.aws.num_retries': '0' });
    const { body } = await upload(alice, second);
    for (const send of [
      () => upload(alice, first),
      () => alice.request('GET', (body as { location: string }).location),
    ]) {
      server.faults = [{ status: 403, code: 'AccessDenied', cut }];
      expect(await send()).toMatchObject({ status: 503, body: { errno: 201 } });
    }
  });
});
