// Names, types and serving of files; settings and their overrides.
import fc from 'fast-check';
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/contracts/logger.ts';
import { blobNames, requireBlobName } from '../../src/contracts/blob-names.ts';
import { writeLink } from '../../src/plugins/attachments/file-links.ts';
import { cleanFilename, storedName } from '../../src/plugins/attachments/file-name.ts';
import {
  cleanMimetype,
  extensionOf,
  isDisplayable,
  parseExtensions,
} from '../../src/plugins/attachments/file-types.ts';
import { startTestService, type TestClient, type TestResponse, type TestService } from '../../src/testing/index.ts';
import { FileFolder, form, upload } from '../support/attachments.ts';
import { S3Server } from '../support/s3-server.ts';
import { openDoor } from './accounts/service.ts';

let folder: FileFolder;
let service: TestService | undefined;
let alice: TestClient;

beforeEach(async () => {
  folder = await FileFolder.create();
});
afterEach(async () => {
  await service?.close();
  service = undefined;
  await folder.remove();
});

const collection = '/buckets/b/collections/c';

const door = openDoor();

async function start(settings: Readonly<Record<string, string>> = {}, path = true): Promise<TestService> {
  service = await startTestService({
    plugins: [door.plugin],
    settings: {
      includes: 'attachments',
      bucket_create_principals: 'system.Authenticated',
      ...(path ? { 'attachment.base_path': folder.path } : {}),
      ...settings,
    },
  });
  alice = service.asUser('alice');
  for (const uri of ['/buckets/b', collection, '/buckets/b/collections/d', '/buckets/o', '/buckets/o/collections/c']) {
    await alice.request('PUT', `/v1${uri}`);
  }
  return service;
}

/** Changes the link of the record `r` to one that another server may have written. */
async function changeLink(link: Parameters<typeof writeLink>[2]): Promise<void> {
  const { storage } = door.stores();
  const transaction = await storage.database.begin();
  await writeLink(storage.writer(transaction), { bucket: 'b', collection: 'c', record: 'r' }, link);
  await transaction.commit();
}

function attachmentOf({ body }: TestResponse): { filename: string; location: string; mimetype: string } {
  return body as { filename: string; location: string; mimetype: string };
}

describe('The name of a file', () => {
  it.each([
    ['pic.jpg', 'pic.jpg'],
    ['C:\\Documents\\My pic.jpg', 'My pic.jpg'],
    ['../../etc/passwd', 'passwd'],
    ['/abs/olute.txt', 'olute.txt'],
    ['Crème brûlée.txt', 'Crème brûlée.txt'],
    ['gpj.\u202Etxt.exe', 'gpj.txt.exe'],
    ['a\0b\n\x7F.txt', 'ab.txt'],
    ['..', ''],
    ['a/', ''],
    [' \t ', ''],
    ['untitled', 'untitled'],
    ['.htaccess', '.htaccess'],
    [`${'x'.repeat(300)}.png`, `${'x'.repeat(251)}.png`],
  ])('%j is shown as %j.', (given, shown) => {
    expect(cleanFilename(given)).toBe(shown);
  });

  const rules = { folder: '', keepsOldFiles: false, randomizes: false, pattern: '{filename}', maxSizeBytes: 0 };
  const parts = { recordId: 'r1', ids: { bucket: 'b', collection: 'c' }, now: Date.UTC(2027, 0, 2, 3, 4, 5) };

  it.each([
    ['pic.jpg', 'pic.jpg'],
    ['My pic (1).JPG', 'My_pic_1.jpg'],
    ['Crème brûlée.txt', 'Creme_brulee.txt'],
    ['日本語.png', 'file.png'],
    ['.htaccess', 'htaccess.bin'],
    ['image.php.png', 'image_php.png'],
    ['archive.tar.gz', 'archive.tar.gz'],
    ['v1.2.PHP.7z.so', 'v1.2_PHP.7z.so'],
    ['con.txt', 'file_con.txt'],
    ['COM1', 'file_COM1.bin'],
    ['lpt1.tar.gz', 'file_lpt1.tar.gz'],
    ['untitled', 'untitled.bin'],
    ['a.t x', 'a.t_x'],
    ['-rf', '-rf.bin'],
  ])('%j is stored as %j.', (filename, stored) => {
    expect(storedName(rules, { ...parts, filename })).toBe(stored);
  });

  it('follows the pattern and the folder.', () => {
    const filled = { ...rules, pattern: '{datetime}-{rid}-{filename}', folder: '{bucket_id}/{collection_id}/x' };
    expect(storedName(filled, { ...parts, filename: 'pic.jpg' })).toBe('b/c/x/20270102030405-r1-pic.jpg');
    expect(storedName({ ...rules, pattern: '{rid}' }, { ...parts, filename: 'pic.jpg' })).toBe('r1.jpg');
    expect(storedName({ ...filled, randomizes: true }, { ...parts, filename: 'pic.JPG' })).toMatch(
      /^b\/c\/x\/20270102030405-r1-[0-9a-f-]{36}\.jpg$/,
    );
    const odd = { ...parts, ids: { bucket: '..', collection: '../../etc' }, filename: 'pic.jpg' };
    expect(storedName({ ...rules, folder: '../{bucket_id}//{collection_id}/{other}' }, odd)).toBe('etc/other/pic.jpg');
  });

  it('has parts that file systems accept and its extension, even with long ids.', () => {
    const id = 'x'.repeat(512);
    const long = { ...rules, pattern: '{rid}-{filename}', folder: '{bucket_id}/{collection_id}' };
    const ids = { bucket: id, collection: id };
    const name = storedName(long, { ...parts, recordId: id, ids, filename: 'pic.jpg' });
    expect(name.split('/').map(({ length }) => length)).toEqual([200, 200, 200]);
    expect(name).toMatch(/x\.jpg$/);
  });

  it('is always valid for stores, for any input of clients and settings.', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('.', '/', '\\', ' ', '{', '}', 'a', 'é', '\0', '_', '-', '~') }),
    );
    fc.assert(
      fc.property(text, text, text, text, fc.boolean(), (given, pattern, path, recordId, randomizes) => {
        const filename = cleanFilename(given);
        if (filename === '') return;
        const name = storedName({ ...rules, pattern, folder: path, randomizes }, { ...parts, recordId, filename });
        requireBlobName(name.slice(0, 1000));
        // No file can take the name of a folder.
        expect(
          name
            .split('/')
            .map((part) => part.includes('.'))
            .indexOf(true),
        ).toBe(name.split('/').length - 1);
      }),
    );
  });

  it('gets a number before its extension if it is taken.', () => {
    const first = (name: string): readonly string[] => [...blobNames(name)].slice(0, 3);
    expect(first('a/b.c/d.txt')).toEqual(['a/b.c/d.txt', 'a/b.c/d-1.txt', 'a/b.c/d-2.txt']);
    expect(first('a.b/plain')).toEqual(['a.b/plain', 'a.b/plain-1', 'a.b/plain-2']);
  });
});

describe('The type of a file', () => {
  it('can be restricted to groups and extensions.', () => {
    expect(parseExtensions('any')).toBeUndefined();
    expect(parseExtensions('images+any')).toBeUndefined();
    expect([...parseExtensions('default')!]).toEqual(expect.arrayContaining(['pdf', 'txt', 'svg', 'json']));
    expect(parseExtensions('default')!.has('mp4')).toBe(false);
    expect([...parseExtensions('archives + .PEM+text')!]).toEqual([
      'gz',
      'bz2',
      'zip',
      'tar',
      'tgz',
      'txz',
      '7z',
      'pem',
      'txt',
    ]);
  });

  it('follows the last extension.', () => {
    expect(['a.JPG', 'a.tar.gz', 'a', '.profile', 'a.'].map(extensionOf)).toEqual(['jpg', 'gz', '', '', '']);
  });

  it.each([
    ['text/plain', 'text/plain'],
    ['IMAGE/PNG', 'image/png'],
    ['image', 'application/octet-stream'],
    ['text/html\r\nX-Evil: 1', 'application/octet-stream'],
    [undefined, 'application/octet-stream'],
  ])('%j becomes %j.', (given, type) => {
    expect(cleanMimetype(given)).toBe(type);
  });

  it.each(['text/html', 'image/svg+xml', 'application/xhtml+xml', 'text/xml', 'application/pdf', 'text/javascript'])(
    '%s is not shown by browsers.',
    (type) => {
      expect(isDisplayable(type)).toBe(false);
    },
  );
});

describe('Uploads', () => {
  it('keep the type from the client unless the settings override it.', async () => {
    await start({ 'attachment.mimetypes': '.txt:text/x-own; .csv : text/csv', 'attachment.extensions': 'any' });
    const types = [];
    for (const [filename, type] of [
      ['a.png', 'image/png'],
      ['a.TXT', 'text/plain'],
      ['a.csv', 'application/vnd.ms-excel'],
      ['key.pem', 'text/plain'],
      ['odd.bin', 'nonsense'],
    ] as const) {
      types.push(attachmentOf(await upload(alice, `${collection}/records/r`, { filename, type })).mimetype);
    }
    expect(types).toEqual([
      'image/png',
      'text/x-own',
      'text/csv',
      'application/x-pem-file',
      'application/octet-stream',
    ]);
  });

  it('are accepted by extension, and without any.', async () => {
    await start();
    const statuses = [];
    for (const filename of ['a.png', 'a.pdf', 'untitled', 'a.mp4', 'a.exe', 'a.png.exe', 'a.тхт', '.exe']) {
      statuses.push((await upload(alice, `${collection}/records/${statuses.length}`, { filename })).status);
    }
    expect(statuses).toEqual([201, 201, 201, 400, 400, 400, 400, 201]);
  });

  it('follow rules of buckets and collections.', async () => {
    await start({
      'attachment.folder': '{bucket_id}',
      'attachment.max_size_bytes': '10',
      'attachment.resources.b.randomize': 'false',
      'attachment.resources.b.max_size_bytes': '20',
      'attachment.resources.b.c.max_size_bytes': '0',
      'attachment.resources.b.c.folder': 'special/{collection_id}',
      'attachment.resources.b.d.filename_pattern': '{rid}-{filename}',
    });
    const content = 'x'.repeat(15);
    const put = async (path: string, text: string): Promise<number> =>
      (await upload(alice, path, { content: text })).status;
    expect(await put('/buckets/o/collections/c/records/r', content)).toBe(400);
    expect(await put('/buckets/o/collections/c/records/r', 'x'.repeat(10))).toBe(201);
    expect(await put('/buckets/b/collections/d/records/r', content)).toBe(201);
    expect(await put('/buckets/b/collections/d/records/r', content + content)).toBe(400);
    expect(await put('/buckets/b/collections/c/records/r', content + content)).toBe(201);
    const { names } = folder;
    expect(names).toHaveLength(3);
    expect(names).toContain('b/r-hello.txt');
    expect(names).toContain('special/c/hello.txt');
    expect(names[1]).toMatch(/^o\/[0-9a-f-]{36}\.txt$/);
  });

  it('with the same name at the same time get different names.', async () => {
    await start({ 'attachment.randomize': 'false', 'attachment.base_url': 'https://files.example.org/' });
    const answers = await Promise.all(['1', '2', '3'].map((id) => upload(alice, `${collection}/records/${id}`)));
    expect(folder.names).toEqual(['hello-1.txt', 'hello-2.txt', 'hello.txt']);
    const locations = answers.map((answer) => attachmentOf(answer).location).toSorted();
    expect(locations).toEqual(folder.names.map((name) => `https://files.example.org/${name}`));
  });

  it.each([
    ['photos', 'photos', ''],
    ['photos.txt', 'photos.txt', ''],
    ['deeper/photos', 'photos', 'deeper'],
  ])('do not take the name of a folder: %s.', async (path, filename, parent) => {
    await start({
      'attachment.randomize': 'false',
      'attachment.resources.b.folder': parent,
      'attachment.resources.o.folder': path,
    });
    expect((await upload(alice, `${collection}/records/r`, { filename })).status).toBe(201);
    expect((await upload(alice, '/buckets/o/collections/c/records/r')).status).toBe(201);
  });

  it('get 503 while the folder is missing.', async () => {
    await start();
    await folder.remove();
    expect(await upload(alice, `${collection}/records/r`)).toMatchObject({
      status: 503,
      body: { errno: 201 },
      headers: { 'retry-after': '3' },
    });
    const heartbeat = await service!.request('GET', '/v1/__heartbeat__');
    expect(heartbeat).toMatchObject({ status: 503, body: { attachments: false, storage: true } });
    expect((await alice.request('GET', `/v1${collection}/records/r`)).status).toBe(404);
  });
});

describe('Files are served', () => {
  const record = `${collection}/records/r`;

  it('with their type, to readers of the record.', async () => {
    await start();
    const { location } = attachmentOf(
      await upload(alice, record, { filename: 'Crème "1".png', type: 'image/png', content: 'bytes' }),
    );
    expect(location).toMatch(/^\/v1\/attachments\/b\/c\/r\/[0-9a-f-]{36}\.png$/);
    const answer = await alice.request('GET', location);
    expect(answer).toMatchObject({
      status: 200,
      text: 'bytes',
      headers: {
        'content-type': 'image/png',
        'content-length': '5',
        'content-disposition': `inline; filename="Cr_me _1_.png"; filename*=UTF-8''Cr%C3%A8me%20%221%22.png`,
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, no-cache',
      },
    });
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none';.* sandbox$/);
    expect(await alice.request('HEAD', location)).toMatchObject({
      status: 200,
      text: '',
      headers: { 'content-length': '5' },
    });
    expect(await service!.request('GET', location)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringContaining('Basic ') as string },
    });
    // An image of a page: a challenge would open a dialog.
    const accept = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8';
    const image = await service!.request('GET', location, { headers: { accept } });
    expect([image.status, image.headers['www-authenticate']]).toEqual([401, undefined]);
    const bob = service!.asUser('bob');
    expect(await bob.request('GET', location)).toMatchObject({ status: 403 });
    await alice.request('PATCH', `/v1${record}`, { body: { permissions: { read: ['system.Everyone'] } } });
    expect(await bob.request('GET', location)).toMatchObject({ status: 200 });
    expect(await service!.request('GET', location)).toMatchObject({ status: 200 });
  });

  it.each([
    ['page.html', 'text/html'],
    ['image.svg', 'image/svg+xml'],
    ['image.png', 'text/html'],
    ['untitled', 'application/x-anything'],
  ])('never inline if they can run scripts: %s as %s.', async (filename, type) => {
    await start({ 'attachment.extensions': 'any' });
    const { location } = attachmentOf(
      await upload(alice, record, { filename, type, content: '<script>alert(1)</script>' }),
    );
    const { headers } = await alice.request('GET', location);
    expect(headers).toMatchObject({ 'content-type': type, 'x-content-type-options': 'nosniff' });
    expect(headers['content-disposition']).toMatch(/^attachment; /);
    expect(headers['content-security-policy']).toContain('sandbox');
  });

  it('in ranges, and with 304 if unchanged.', async () => {
    await start();
    const { location } = attachmentOf(await upload(alice, record, { content: '0123456789' }));
    const get = (headers: Record<string, string>): Promise<TestResponse> => alice.request('GET', location, { headers });
    expect(await get({ Range: 'bytes=2-4' })).toMatchObject({ status: 206, text: '234' });
    expect(await get({ Range: 'bytes=-2' })).toMatchObject({ status: 206, text: '89' });
    expect(await get({ Range: 'bytes=-20' })).toMatchObject({
      status: 206,
      text: '0123456789',
      headers: { 'content-range': 'bytes 0-9/10' },
    });
    expect(await get({ Range: 'bytes=-0' })).toMatchObject({ status: 416 });
    expect(await get({ Range: 'bytes=20-' })).toMatchObject({
      status: 416,
      headers: { 'content-range': 'bytes */10', 'content-type': 'application/json' },
      body: { code: 416, errno: 107, error: 'Range Not Satisfiable' },
    });
    expect(await get({ 'If-Match': '"x"' })).toMatchObject({ status: 412, body: { code: 412, errno: 114 } });
    const bomb = await get({ Range: `bytes=${Array.from({ length: 1000 }, () => '0-9').join(',')}` });
    expect([200, 206, 416]).toContain(bomb.status);
    expect(bomb.text.length).toBeLessThan(1000);
    const { headers } = await get({});
    expect(await get({ 'If-None-Match': headers['etag']! })).toMatchObject({ status: 304, text: '' });
    const ifUnchanged = (validator: string): Promise<TestResponse> =>
      get({ Range: 'bytes=2-4', 'If-Range': validator });
    expect(await ifUnchanged(headers['last-modified']!)).toMatchObject({ status: 206, text: '234' });
    for (const etag of [headers['etag']!, 'W/"x"', '"x"'])
      expect(await ifUnchanged(etag)).toMatchObject({ status: 200, text: '0123456789' });
  });

  it('whole when the range is the end of an empty file.', async () => {
    await start();
    const { location } = attachmentOf(await upload(alice, record, { content: '' }));
    const end = await alice.request('GET', location, { headers: { Range: 'bytes=-2' } });
    expect(end).toMatchObject({ status: 200, text: '' });
  });

  it.each([
    ['text/html\r\nX-Evil: 1', 'a\r\nX-Evil: 1.html', 'aX-Evil: 1.html'],
    ['text/plain; charset=ä', '../../etc/pass"wd', 'pass"wd'],
    ['', '..', '%s'],
    ['text', `${'x'.repeat(100_000)}.txt`, `${'x'.repeat(251)}.txt`],
  ])('imported with the invalid media type %j are of no type, and have a safe name.', async (mimetype, given, safe) => {
    await start();
    const { location } = attachmentOf(await upload(alice, `${collection}/records/r`));
    const stored = location.slice(location.lastIndexOf('/') + 1);
    await changeLink({ location: stored, filename: given, mimetype });
    const { status, text, headers } = await alice.request('GET', location);
    const name = safe.replace('%s', stored);
    expect([status, text, headers['content-type']]).toEqual([200, 'hello', 'application/octet-stream']);
    expect(headers['content-disposition']).toBe(
      `attachment; filename="${name.replace('"', '_')}"; filename*=UTF-8''${encodeURIComponent(name)}`,
    );
    expect(headers).not.toHaveProperty('x-evil');
  });

  it('only at their own URL.', async () => {
    await start({ 'attachment.randomize': 'false', 'attachment.folder': 'f' });
    writeFileSync(join(folder.path, 'other.txt'), 'other');
    await upload(alice, record, { content: 'mine' });
    await upload(alice, '/buckets/b/collections/d/records/r', { content: 'theirs' });
    symlinkSync('/etc/passwd', join(folder.path, 'f', 'link.txt'));
    const base = '/v1/attachments/b/c/r';
    expect(await alice.request('GET', `${base}/f/hello.txt`)).toMatchObject({ status: 200, text: 'mine' });
    for (const path of [
      `${base}/f/hello-1.txt`,
      `${base}/other.txt`,
      `${base}/f/../other.txt`,
      `${base}/f%2f..%2fother.txt`,
      `${base}/f/link.txt`,
      `${base}/`,
      base,
      '/v1/attachments/b/c/missing/f/hello.txt',
      '/v1/attachments/f/hello.txt',
      `${base}/%00`,
      `${base}//f/hello.txt`,
    ]) {
      const { status, text } = await alice.request('GET', path);
      expect([path, [307, 400, 401, 403, 404].includes(status), text.includes('root:')]).toEqual([path, true, false]);
    }
    expect((await alice.request('PUT', `${base}/f/hello.txt`)).status).toBe(405);
  });

  it('while they belong to a record, and kept ones to readers of the collection.', async () => {
    await start({ 'attachment.resources.o.keep_old_files': 'true' });
    const first = attachmentOf(await upload(alice, record, { content: 'one' })).location;
    const second = attachmentOf(await upload(alice, record, { content: 'two' })).location;
    expect((await alice.request('GET', first)).status).toBe(404);
    expect((await alice.request('GET', second)).text).toBe('two');
    const kept = '/buckets/o/collections/c/records/r';
    const old = attachmentOf(
      await upload(alice, kept, { content: 'old', permissions: { read: ['system.Everyone'] } }),
    ).location;
    const current = attachmentOf(await upload(alice, kept, { content: 'new' })).location;
    expect((await alice.request('GET', old)).text).toBe('old');
    expect((await service!.request('GET', current)).text).toBe('new');
    expect((await service!.request('GET', old)).status).toBe(404);
    await alice.request('DELETE', '/v1/buckets/o');
    const bob = service!.asUser('bob');
    for (const uri of ['/buckets/o', '/buckets/o/collections/c', kept]) await bob.request('PUT', `/v1${uri}`);
    expect((await bob.request('GET', old)).status).toBe(404);
    expect((await bob.request('GET', current)).status).toBe(404);
    expect(folder.names).toHaveLength(3);
  });

  it('by another server if its URL is configured.', async () => {
    await start({ 'attachment.base_url': 'https://files.example.org' });
    const { location } = attachmentOf(await upload(alice, record));
    expect(location).toBe(`https://files.example.org/${folder.names[0]}`);
    expect(await alice.request('GET', `/v1/attachments/b/c/r/${folder.names[0]}`)).toMatchObject({ status: 404 });
  });

  it('at the URL that a proxy gives the service.', async () => {
    await start({ 'attachment.base_url': 'https://example.org/store/v1/attachments' });
    const { location } = attachmentOf(await upload(alice, record));
    expect(location).toBe(`https://example.org/store/v1/attachments/b/c/r/${folder.names[0]}`);
    expect(await alice.request('GET', new URL(location).pathname.replace('/store', ''))).toMatchObject({ status: 200 });
  });

  it('below the path prefix of the service.', async () => {
    service = await startTestService({
      settings: { includes: 'default_bucket attachments', path_prefix: '/api', 'attachment.base_path': folder.path },
    });
    alice = service.asUser('alice');
    const path = '/api/v1/buckets/default/collections/c/records/r/attachment';
    const answer = await alice.request(
      'POST',
      path,
      form([{ name: 'attachment', filename: 'a.txt', content: 'hello' }]),
    );
    expect(answer).toMatchObject({
      status: 201,
      headers: { location: expect.stringMatching(/^\/api\/v1\/buckets\//) },
    });
    const { location } = attachmentOf(answer);
    expect(location).toMatch(/^\/api\/v1\/attachments\//);
    expect(await alice.request('GET', location)).toMatchObject({ status: 200, text: 'hello' });
  });

  it('not in a batch, except for 304.', async () => {
    await start();
    const { location } = attachmentOf(await upload(alice, record));
    const body = { requests: [{ path: location }] };
    expect(await alice.request('POST', '/v1/batch', { body })).toMatchObject({ status: 400 });
    const again = { requests: [{ path: location, headers: { 'If-None-Match': '*' } }] };
    expect(await alice.request('POST', '/v1/batch', { body: again })).toMatchObject({
      status: 200,
      body: { responses: [{ status: 304 }] },
    });
  });
});

describe('In a bucket of S3', () => {
  let server: S3Server;

  beforeEach(async () => {
    server = await S3Server.start();
  });
  afterEach(() => server.close());

  it('files are stored, served in ranges, and deleted.', async () => {
    await start({ ...server.settings, 'attachment.folder': '{bucket_id}' }, false);
    const record = `${collection}/records/r`;
    const content = Buffer.alloc(300_000, 'abc');
    const { location } = attachmentOf(await upload(alice, record, { content }));
    const [[name, file]] = [...server.files] as unknown as [[string, { bytes: Buffer; type: string }]];
    expect(name).toMatch(/^b\/[0-9a-f-]{36}-[0-9a-f]{20}\.txt$/);
    expect([file.bytes.equals(content), file.type]).toEqual([true, 'text/plain']);
    const whole = await alice.request('GET', location);
    expect([whole.status, whole.text === content.toString()]).toEqual([200, true]);
    const part = await alice.request('GET', location, { headers: { Range: 'bytes=3-5' } });
    expect(part).toMatchObject({ status: 206, text: 'abc', headers: { 'content-range': 'bytes 3-5/300000' } });
    expect(part.headers['content-disposition']).toMatch(/^attachment/);
    const weak = { Range: 'bytes=3-5', 'If-Range': 'W/"x"' };
    expect(await alice.request('GET', location, { headers: weak })).toMatchObject({ status: 200 });
    const again = await alice.request('GET', location, { headers: { 'If-None-Match': whole.headers['etag']! } });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(await alice.request('GET', location, { headers: { Range: 'bytes=300000-' } })).toMatchObject({
      status: 416,
      body: { code: 416, errno: 107 },
    });
    // HEAD has no ranges.
    expect(await alice.request('HEAD', location, { headers: { Range: 'bytes=3-5' } })).toMatchObject({
      status: 200,
      headers: { 'content-length': '300000' },
    });
    expect((await service!.request('GET', location)).status).toBe(401);
    server.files.clear();
    expect((await alice.request('GET', location)).status).toBe(404);
    expect((await alice.request('DELETE', `/v1${record}`)).status).toBe(200);
  });

  it('an imported link does not lead out of the bucket.', async () => {
    await start(server.settings, false);
    await upload(alice, `${collection}/records/r`);
    const location = '../other/secret.txt';
    await changeLink({ location, filename: 'a.txt', mimetype: 'text/plain' });
    server.log.length = 0;
    const { body } = await alice.request('GET', `/v1${collection}/records/r/attachment/url`);
    for (const path of [(body as { url: string }).url, `/v1/attachments/b/c/r/${encodeURIComponent(location)}`]) {
      expect((await alice.request('GET', path)).status).toBe(404);
    }
    expect((await alice.request('DELETE', `/v1${collection}/records/r`)).status).toBe(200);
    expect(server.log).toEqual([]);
  });

  it('an upload gets 503 when the object store refuses the file.', async () => {
    await start(server.settings, false);
    server.statuses = { PUT: 409 };
    expect(await upload(alice, `${collection}/records/r`)).toMatchObject({ status: 503, body: { errno: 201 } });
  });

  it('a failing object store causes 503 and leaves no record without its file.', async () => {
    await start({ ...server.settings, 'attachment.aws.num_retries': '0' }, false);
    server.faults = [{ status: 500, code: 'InternalError' }];
    expect(await upload(alice, `${collection}/records/r`)).toMatchObject({ status: 503, body: { errno: 201 } });
    expect((await alice.request('GET', `/v1${collection}/records/r`)).status).toBe(404);
    server.faults = ['disconnect'];
    expect(await service!.request('GET', '/v1/__heartbeat__')).toMatchObject({
      status: 503,
      body: { attachments: false },
    });
    expect(await service!.request('GET', '/v1/__heartbeat__')).toMatchObject({
      status: 200,
      body: { attachments: true },
    });
    expect((await upload(alice, `${collection}/records/r`)).status).toBe(201);
    server.faults = ['disconnect'];
    // A failed deletion is found later. The record is deleted.
    expect((await alice.request('DELETE', `/v1${collection}/records/r`)).status).toBe(200);
    expect(server.files.size).toBe(1);
  });
});

describe('The settings', () => {
  it.each([
    [{}, /attachment\.base_path.*set a folder/],
    [{ 'attachment.gcloud.bucket_name': 'x' }, /attachment\.gcloud\.bucket_name.*storage\.googleapis\.com/s],
    [{ 'attachment.gcloud.credentials': 'secret.json' }, /HMAC/],
    [{ 'attachment.aws.bucket_name': 'files' }, /attachment\.aws\.access_key.*attachment\.aws\.secret_key/s],
    [{ 'attachment.base_path': tmpdir(), 'attachment.aws.bucket_name': 'files' }, /not both/],
    [{ 'attachment.base_path': '/dev/null/x' }, /attachments could not be set up/],
    [{ 'attachment.max_size_bytes': 'much' }, /attachment\.max_size_bytes/],
    [
      { 'attachment.base_path': tmpdir(), 'attachment.resources.b.c.randomize': 'perhaps' },
      /attachment\.resources\.b\.c\.randomize/,
    ],
    [{ 'attachment.base_path': tmpdir(), 'attachment.mimetypes': 'txt=text/plain' }, /attachment\.mimetypes/],
    [{ 'attachment.base_url': 'files' }, /attachment\.base_url/],
    [{ 'attachment.base_path': tmpdir(), built_in_kinds: 'false' }, /requires the resource kind record/],
  ])('are validated at start: %j.', async (settings, message) => {
    const starting = startTestService({ settings: { includes: 'attachments', ...settings } });
    await expect(starting).rejects.toThrow(message);
  });

  it('include overrides for buckets and collections.', async () => {
    const warnings: string[] = [];
    const logger = {
      ...silentLogger,
      warn: (line: unknown) => void warnings.push(String(line)),
    };
    const settings = {
      includes: 'attachments',
      'attachment.base_path': folder.path,
      'attachment.resources.b.c.folder': 'x',
      'attachment.resources.b.size': '1',
    };
    service = await startTestService({ settings, logger });
    expect(warnings.filter((line) => line.includes('attachment'))).toEqual([
      expect.stringContaining('unknown setting attachment.resources.b.size'),
    ]);
  });

  it('appear in the root view as far as clients need them.', async () => {
    const capability = async (): Promise<unknown> => {
      const { body } = await service!.request('GET', '/v1/');
      return (body as { capabilities: { attachments: unknown } }).capabilities.attachments;
    };
    await start();
    expect(await capability()).toEqual({
      description: expect.any(String),
      url: expect.any(String),
      version: expect.any(String),
      url_lifetime_seconds: 300,
    });
    await service!.close();
    await start({ 'attachment.base_url': 'https://files.example.org' });
    expect(await capability()).toMatchObject({ base_url: 'https://files.example.org/' });
    await service!.close();
    await start({ 'attachment.extra.base_url': 'https://cdn.example.org/x' });
    expect(await capability()).toMatchObject({ base_url: 'https://cdn.example.org/x/' });
  });

  it('allow a read-only service to serve files and be healthy.', async () => {
    service = await startTestService({
      settings: { includes: 'attachments', readonly: 'true', 'attachment.base_path': folder.path },
    });
    expect(await service.request('GET', '/v1/__heartbeat__')).toMatchObject({
      status: 200,
      body: { attachments: true },
    });
    expect((await upload(service, `${collection}/records/r`)).status).toBe(405);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});
