// The contract of blob stores on each store, and tests of single stores.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openFolderStore } from '../../src/blobs/folder/folder-store.ts';
import { listPages, readListing } from '../../src/blobs/s3/listing.ts';
import { S3Client } from '../../src/blobs/s3/s3-client.ts';
import { openS3Store } from '../../src/blobs/s3/s3-store.ts';
import type { BlobPlace, BlobSource, BlobStore } from '../../src/contracts/blobs.ts';
import { BackendUnavailable } from '../../src/contracts/errors.ts';
import { sha256 } from '../support/attachments.ts';
import { S3Server } from '../support/s3-server.ts';

let folder: string;
let server: S3Server;
let store: BlobStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coffer-stores-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  server = await S3Server.start();
});
afterEach(async () => {
  await store.close();
  await server.close();
});

async function source(content: string): Promise<BlobSource> {
  const path = join(await store.spoolFolder(), `${randomUUID()}.part`);
  await writeFile(path, content);
  return { path, sizeBytes: Buffer.byteLength(content), hash: sha256(content), mimetype: 'text/plain' };
}

async function put(name: string, content: string): Promise<string> {
  const from = await source(content);
  try {
    return await store.put(name, from);
  } finally {
    await rm(from.path);
  }
}

async function readBack(name: string): Promise<string | undefined> {
  const { access } = store;
  if (access.kind === 'folder') {
    return (await access.has(name)) ? readFile(join(access.root, name), 'utf8') : undefined;
  }
  const answer = await access.fetch(name, { method: 'GET', headers: {} });
  if (answer?.body === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function listed(): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of store.list()) names.push(name);
  return names.toSorted();
}

function s3Place(more: Partial<Extract<BlobPlace, { kind: 's3' }>> = {}): Extract<BlobPlace, { kind: 's3' }> {
  const { endpoint, bucket, region, accessKey, secretKey } = server;
  const place = { kind: 's3', endpoint, bucket, region, accessKey, secretKey, usesPathStyle: true } as const;
  return { ...place, acl: undefined, timeoutSeconds: 5, retries: 3, ...more };
}

async function isFound(name: string): Promise<boolean> {
  const { access } = store;
  if (access.kind === 'folder') return access.has(name);
  return (await access.fetch(name, { method: 'HEAD', headers: {} })) !== undefined;
}

/** A page of a listing of S3. */
function page(content: string): string {
  return `<ListBucketResult>${content}</ListBucketResult>`;
}

/** Names that could lead out of a store. */
const outerNames: readonly string[] = [
  '../out.txt',
  '/etc/out',
  'a/../../out',
  'a/..',
  '..',
  'a//b',
  'a/',
  '',
  '.',
  './a',
  'nul\0.txt',
  'line\r\nX: y',
  'a\\..\\b',
  '\ud800',
  `${'long/'.repeat(204)}names`,
];

const stores: readonly (readonly [string, () => Promise<BlobStore>])[] = [
  ['a folder', () => openFolderStore({ kind: 'folder', path: join(folder, randomUUID()) })],
  ['S3', () => Promise.resolve(openS3Store(s3Place()))],
];

describe.each(stores)('A store in %s', (_name, open) => {
  beforeEach(async () => {
    store = await open();
  });

  it('returns stored files, also if one source is stored twice.', async () => {
    const from = await source('content');
    const names = [await store.put('blog/articles/a.txt', from), await store.put('other.txt', from)];
    await rm(from.path);
    expect(names).toEqual([
      expect.stringMatching(/^blog\/articles\/a.*\.txt$/),
      expect.stringMatching(/^other.*\.txt$/),
    ]);
    for (const name of names) expect(await readBack(name)).toBe('content');
    expect(await listed()).toEqual(names);
  });

  it('stores empty files.', async () => {
    expect(await readBack(await put('empty.txt', ''))).toBe('');
  });

  it('never overwrites a file.', async () => {
    const names: string[] = [];
    for (let count = 0; count < 17; count++) names.push(await put('a.tar.gz', String(count)));
    for (const [index, name] of names.entries()) {
      expect(name).toMatch(/^a\.tar.*\.gz$/);
      expect(await readBack(name)).toBe(String(index));
    }
  });

  it('gives different names to concurrent uploads with the same name.', async () => {
    const names = await Promise.all(Array.from({ length: 8 }, (_, index) => put('same.txt', `content ${index}`)));
    expect(new Set(names).size).toBe(8);
    for (const [index, name] of names.entries()) expect(await readBack(name)).toBe(`content ${index}`);
  });

  it('deletes existing and missing files.', async () => {
    const name = await put('a.txt', '1');
    await store.delete(name);
    await store.delete(name);
    await store.delete('never/was.txt');
    expect(await readBack(name)).toBeUndefined();
    expect(await listed()).toEqual([]);
  });

  it('deletes a file by age only if no newer file has its name.', async () => {
    const name = await put('a.txt', '1');
    for await (const entry of store.list()) {
      expect(await store.deleteOlder(entry.name, entry.lastModified - 1000)).toBe(false);
    }
    expect(await readBack(name)).toBe('1');
    expect(await store.deleteOlder(name, Date.now() + 10_000)).toBe(true);
    expect(await store.deleteOlder(name, Date.now() + 10_000)).toBe(false);
    expect(await store.deleteOlder(`${name}/b`, Date.now() + 10_000)).toBe(false);
    expect(await listed()).toEqual([]);
  });

  it('lists size and time of each file.', async () => {
    const before = Date.now();
    const name = await put('a.txt', 'four');
    const entries = [];
    for await (const entry of store.list()) entries.push(entry);
    expect(entries).toEqual([{ name, sizeBytes: 4, lastModified: expect.any(Number) }]);
    expect(Math.abs(entries[0]!.lastModified - before)).toBeLessThan(10_000);
  });

  it.each(outerNames)('refuses, does not find and does not delete a file called %j.', async (name) => {
    await expect(put(name, 'x')).rejects.toThrow('invalid file name');
    await expect(store.delete(name)).rejects.toThrow('invalid file name');
    await expect(store.deleteOlder(name, Infinity)).rejects.toThrow('invalid file name');
    expect(await isFound(name)).toBe(false);
    expect(server.log).toEqual([]);
  });

  it.each(['.hidden', 'a/.hidden', 'ä.txt', 'a b', 'a?b'])(
    'stores no file called %j, but may find and delete it.',
    async (name) => {
      await expect(put(name, 'x')).rejects.toThrow('invalid file name');
      expect(await isFound(name)).toBe(false);
      await store.delete(name);
    },
  );

  it('deletes nothing under a name that is too long for a file.', async () => {
    const name = await put('a.txt', '1');
    await store.delete('a'.repeat(1000));
    await store.delete(`${name}/b`);
    expect(await listed()).toEqual([name]);
  });

  it('checks itself without leaving files.', async () => {
    await store.check();
    expect(await listed()).toEqual([]);
  });
});

describe('A store in a folder', () => {
  let root: string;

  beforeEach(async () => {
    root = join(folder, randomUUID());
    await mkdir(root);
    store = await openFolderStore({ kind: 'folder', path: root });
  });

  it('keeps names, and gives numbers and then random digits when they are taken.', async () => {
    const names: string[] = [];
    for (let count = 0; count < 17; count++) names.push(await put('dir.d/a.tar.gz', ''));
    const numbers = Array.from({ length: 14 }, (_, index) => `dir.d/a.tar-${index + 1}.gz`);
    expect(names.slice(0, 15)).toEqual(['dir.d/a.tar.gz', ...numbers]);
    for (const name of names.slice(15)) expect(name).toMatch(/^dir\.d\/a\.tar-[0-9a-f]{20}\.gz$/);
    await store.delete('dir.d/a.tar.gz');
    expect(await put('dir.d/a.tar.gz', '')).toBe('dir.d/a.tar.gz');
    expect([await put('dir.d/plain', ''), await put('dir.d/plain', '')]).toEqual(['dir.d/plain', 'dir.d/plain-1']);
  });

  it('neither reads, deletes nor writes outside of its folder.', async () => {
    const outside = join(folder, `outside-${randomUUID()}`);
    await mkdir(outside);
    await writeFile(join(outside, 'secret.txt'), 'secret');
    await symlink(outside, join(root, 'link'));
    await symlink(join(outside, 'secret.txt'), join(root, 'file.txt'));
    const { access } = store;
    if (access.kind !== 'folder') throw new Error('this is a folder');
    for (const name of ['link/secret.txt', 'file.txt', `../${outside}/secret.txt`, 'link', 'missing']) {
      expect([name, await access.has(name)]).toEqual([name, false]);
    }
    await expect(put('link/new.txt', 'x')).rejects.toThrow('is outside of');
    await store.delete('link/secret.txt');
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(await listed()).toEqual([]);
  });

  it('does not list names that could lead out of it on another system.', async () => {
    await writeFile(join(root, 'a\\..\\b'), 'x');
    await writeFile(join(root, 'odd name ü.txt'), 'x');
    expect(await listed()).toEqual(['odd name ü.txt']);
  });

  it('is created on first use.', async () => {
    const path = join(folder, randomUUID(), 'deeper');
    store = await openFolderStore({ kind: 'folder', path });
    await expect(stat(path)).rejects.toThrow('ENOENT');
    expect(await listed()).toEqual([]);
    expect(await readBack('a.txt')).toBeUndefined();
    await store.delete('a.txt');
    await put('a.txt', '1');
    expect(await readBack('a.txt')).toBe('1');
  });

  it('refuses to open a path that it cannot use.', async () => {
    const file = join(folder, randomUUID());
    await writeFile(file, 'x');
    await expect(openFolderStore({ kind: 'folder', path: file })).rejects.toThrow('is not a folder');
    await expect(openFolderStore({ kind: 'folder', path: join(file, 'below') })).rejects.toThrow('ENOTDIR');
    const missing = { kind: 'folder', path: join(folder, randomUUID()), isReadonly: true } as const;
    await expect(openFolderStore(missing)).rejects.toThrow('ENOENT');
  });

  it('lists spooled files that were never stored, and can delete them.', async () => {
    const from = await source('left behind');
    const [name = ''] = await listed();
    expect(name).toMatch(/^\.incoming\/.*\.part$/);
    await store.delete(name);
    await expect(stat(from.path)).rejects.toThrow('ENOENT');
  });

  it('copies files across file systems and without hard links.', async () => {
    // A folder outside of the store may be on another file system. Names are unique there too.
    const path = join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `coffer-${randomUUID()}`);
    await writeFile(path, 'from elsewhere');
    const from = { path, sizeBytes: 14, hash: sha256('from elsewhere'), mimetype: 'text/plain' };
    expect(await store.put('a.txt', from)).toBe('a.txt');
    expect(await store.put('a.txt', from)).toBe('a-1.txt');
    await rm(path);
    expect(await readBack('a-1.txt')).toBe('from elsewhere');
  });

  it('is unavailable if the folder disappears.', async () => {
    const from = await source('x');
    await rm(root, { recursive: true });
    await expect(store.put('a.txt', from)).rejects.toBeInstanceOf(BackendUnavailable);
    await expect(store.check()).rejects.toBeInstanceOf(BackendUnavailable);
  });

  it('keeps the time of the upload.', async () => {
    const from = await source('x');
    await utimes(from.path, 1000, 1000);
    await store.put('a.txt', from);
    await rm(from.path);
    for await (const { lastModified } of store.list()) expect(lastModified).toBe(1_000_000);
  });
});

describe('A store in S3', () => {
  it('stores type and access list.', async () => {
    store = openS3Store(s3Place({ acl: 'public-read' }));
    const name = await put('a.txt', '1');
    expect(server.files.get(name)).toMatchObject({ type: 'text/plain', acl: 'public-read' });
  });

  it('retries temporary failures.', async () => {
    store = openS3Store(s3Place());
    server.faults = [{ status: 503, code: 'SlowDown' }, 'disconnect', { status: 500, code: 'InternalError' }];
    const name = await put('a.txt', '1');
    expect(server.files.get(name)?.bytes.toString()).toBe('1');
    server.faults = ['disconnect', 'disconnect'];
    expect(await readBack(name)).toBe('1');
  });

  it.each([
    [
      'refuses',
      1,
      [
        { status: 503, code: 'SlowDown' },
        { status: 503, code: 'SlowDown' },
      ],
      '503',
    ],
    ['is silent', 0, ['silence'], 'cannot be reached'],
    ['breaks off', 1, ['disconnect', 'disconnect'], 'cannot be reached'],
    ['forbids', 3, [{ status: 403, code: 'AccessDenied' }], '403'],
    ['forbids and breaks off', 0, [{ status: 403, code: '', cut: 'aborted' }], '403 (no reason given)'],
    ['forbids and is silent then', 0, [{ status: 403, code: '', cut: 'stalled' }], '403 (no reason given)'],
    ['refuses and breaks off', 0, [{ status: 503, code: '', cut: 'aborted' }], '503 (no reason given)'],
    ['answers with another protocol', 0, ['upgrade'], 'cannot be reached'],
  ] as const)('is unavailable when the service %s.', async (_what, retries, faults, message) => {
    store = openS3Store(s3Place({ retries, timeoutSeconds: 0.3 }));
    server.faults = [...faults];
    const failure = await put('a.txt', '1').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BackendUnavailable);
    expect(String(failure)).toContain(message);
    expect(String(failure)).not.toContain(server.secretKey);
  });

  it('is refused with a wrong key.', async () => {
    store = openS3Store(s3Place({ secretKey: 'wrong' }));
    await expect(store.check()).rejects.toThrow('403 (SignatureDoesNotMatch)');
  });

  it('gives each file a new name, also when no file has the name.', async () => {
    store = openS3Store(s3Place());
    const names: string[] = [];
    for (const given of ['dir.d/a.tar.gz', 'dir.d/a.tar.gz', 'dir.d/plain']) {
      const name = await put(given, given);
      await store.delete(name);
      names.push(name);
    }
    expect(names).toEqual([
      expect.stringMatching(/^dir\.d\/a\.tar-[0-9a-f]{20}\.gz$/),
      expect.stringMatching(/^dir\.d\/a\.tar-[0-9a-f]{20}\.gz$/),
      expect.stringMatching(/^dir\.d\/plain-[0-9a-f]{20}$/),
    ]);
    expect(names[0]).not.toBe(names[1]);
    // Some stores refuse or ignore conditions, so nothing depends on them.
    expect(server.log.filter((line) => !line.startsWith('DELETE'))).toEqual(names.map((name) => `PUT ${name}`));
  });

  it('stores one file when the answer to its upload was lost.', async () => {
    store = openS3Store(s3Place());
    server.delays = {
      PUT(_key, { socket }) {
        server.delays = {};
        socket.destroy();
        return Promise.resolve();
      },
    };
    const name = await put('a.txt', '1');
    expect([...server.files.keys()]).toEqual([name]);
  });

  it('lists more objects than fit into one response.', async () => {
    store = openS3Store(s3Place());
    server.pageSize = 2;
    const names: string[] = [];
    for (const name of ['a', 'b', 'c', 'd/e', 'd/f']) names.push(await put(name, name));
    expect(await listed()).toEqual(names);
    // Objects of other programs can have any name.
    server.files.set('odd name+ü&<>.txt', { ...server.files.get(names[0]!)! });
    expect(await listed()).toContain('odd name+ü&<>.txt');
    await store.delete('odd name+ü&<>.txt');
    expect(server.files.has('odd name+ü&<>.txt')).toBe(false);
    for (const name of outerNames.filter((outer) => outer.isWellFormed())) {
      server.files.set(name, { ...server.files.get(names[0]!)! });
    }
    expect(await listed()).toEqual(names);
  });

  it('sends no request with a key that a URL changes.', async () => {
    const client = new S3Client(s3Place());
    onTestFinished(() => client.close());
    for (const key of ['../other/secret.txt', 'a/../../other/secret.txt', './a', '..']) {
      await expect(client.send({ method: 'GET', key })).rejects.toThrow('is not possible in a URL');
    }
    expect(server.log).toEqual([]);
    store = openS3Store(s3Place());
  });

  it('sends no request in the middle of an upload that was refused before its end.', async () => {
    store = openS3Store(s3Place({ retries: 0 }));
    server.faults = [{ status: 403, code: 'EntityTooLarge', isEarly: true }];
    await expect(put('large.txt', 'x'.repeat(20_000_000))).rejects.toThrow('403 (EntityTooLarge)');
    expect(await readBack(await put('a.txt', '1'))).toBe('1');
  });

  it.each([
    ['uploads', { status: 200, code: '', cut: 'stalled' }, () => put('a.txt', '1')],
    ['deletions', { status: 404, code: '', cut: 'stalled' }, () => store.delete('a.txt')],
  ] as const)('sends further requests when the answers to 64 %s do not end.', async (_what, fault, send) => {
    store = openS3Store(s3Place({ retries: 0, timeoutSeconds: 3600 }));
    for (let count = 0; count < 64; count++) {
      server.faults = [fault];
      await send();
    }
    expect(await isFound(await put('a.txt', '1'))).toBe(true);
  });

  it('waits for a reader who pauses longer than the store may be silent, and not for a store that then is.', async () => {
    store = openS3Store(s3Place({ retries: 0, timeoutSeconds: 0.2 }));
    const { access } = store;
    if (access.kind !== 'remote') throw new Error('this is remote');
    const name = await put('large.txt', 'x'.repeat(8_000_000));
    const begin = async (): Promise<Readable> => {
      const { body } = (await access.fetch(name, { method: 'GET', headers: {} }))!;
      await once(body!, 'readable');
      return body!;
    };
    const whole = await begin();
    server.delays = { GET: () => new Promise(() => {}) };
    const half = await begin();
    for (let count = 0; count < 3; count++) {
      server.faults = ['silence'];
      await expect(access.fetch(name, { method: 'GET', headers: {} })).rejects.toBeInstanceOf(BackendUnavailable);
    }
    let bytes = 0;
    for await (const chunk of whole as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBe(8_000_000);
    await expect(half.toArray()).rejects.toThrow();
  });

  it.each(['aborted', 'stalled'] as const)('is unavailable when a listing is %s.', async (cut) => {
    store = openS3Store(s3Place({ retries: 0, timeoutSeconds: 0.1 }));
    server.listingCut = cut;
    const failure = await listed().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BackendUnavailable);
    expect(String(failure)).toContain('broke off its response');
  });

  it.each([
    ['a repeated page', page('<NextContinuationToken>same</NextContinuationToken>'), 'a page token is repeated'],
    ['a wrong escape', page('<Contents><Key>%zz</Key></Contents>'), 'a key is not percent-encoded UTF-8'],
    ['an impossible character', page('<Contents><Key>&#x7fffffff;</Key></Contents>'), 'is not a Unicode character'],
    ['a file without key', page('<Contents><Size>1</Size></Contents>'), 'a file has no key'],
    ['a file without end', page('<Contents><Key>a</Key>'), 'a file has no end'],
    ['no content', '', 'it is no ListBucketResult'],
    ['the content of a web page', '<!DOCTYPE html><html><body>Log in</body></html>', 'it is no ListBucketResult'],
    ['an error as its content', '<Error><Code>InternalError</Code></Error>', 'it is no ListBucketResult'],
    ['no end', page('').slice(0, -10), 'it is no ListBucketResult'],
    ['more pages and no token', page('<IsTruncated>true</IsTruncated>'), 'the token of the next page is missing'],
  ])('is unavailable when a listing has %s.', async (_what, listing, message) => {
    store = openS3Store(s3Place());
    server.listing = listing;
    const failure = await listed().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BackendUnavailable);
    expect(String(failure)).toContain(message);
  });

  it('reads ranges, and returns 304 if unchanged.', async () => {
    store = openS3Store(s3Place());
    const name = await put('a.txt', '0123456789');
    const { access } = store;
    if (access.kind !== 'remote') throw new Error('this is remote');
    const part = await access.fetch(name, { method: 'GET', headers: { range: 'bytes=2-4' } });
    expect(part).toMatchObject({ status: 206, headers: { 'content-range': 'bytes 2-4/10', 'content-length': '3' } });
    for await (const chunk of part!.body!) expect(Buffer.from(chunk).toString()).toBe('234');
    const head = await access.fetch(name, { method: 'HEAD', headers: {} });
    expect(head).toMatchObject({ status: 200, headers: { 'content-length': '10' }, body: undefined });
    const etag = head!.headers['etag']!;
    expect(await access.fetch(name, { method: 'GET', headers: { 'if-none-match': etag } })).toMatchObject({
      status: 304,
    });
    expect(await access.fetch(name, { method: 'GET', headers: { range: 'bytes=99-' } })).toMatchObject({
      status: 416,
    });
    expect(await access.fetch('missing', { method: 'GET', headers: {} })).toBeUndefined();
  });

  it('puts the bucket into the host name if configured.', async () => {
    store = openS3Store(s3Place({ usesPathStyle: false, endpoint: 'http://nowhere.invalid', retries: 0 }));
    const failure = (await store.check().catch((error: unknown) => error)) as Error;
    expect(String(failure.cause)).toContain('files.nowhere.invalid');
  });
});

describe('A listing', () => {
  it('ends with an error after very many pages.', async () => {
    store = openS3Store(s3Place());
    let count = 0;
    const pages = listPages(() => {
      count++;
      // Ends by itself, so that the test fails and does not hang.
      return Promise.resolve(page(count > 20_000 ? '' : `<NextContinuationToken>${count}</NextContinuationToken>`));
    });
    await expect(pages.next()).rejects.toThrow('it has more than 20000 pages');
    expect(count).toBe(20_000);
  });

  it('is read in linear time.', () => {
    store = openS3Store(s3Place());
    expect(readListing(page('<Contents><Key>a</Key></Contents>'.repeat(100_000))).entries).toHaveLength(100_000);
    expect(() => readListing(page('<Contents>'.repeat(390_000)))).toThrow('a file has no end');
    expect(() => readListing(page(`<Contents>${'<Key>'.repeat(700_000)}</Contents>`))).toThrow('a file has no key');
  });

  it('can be empty, and its texts can contain entities.', () => {
    store = openS3Store(s3Place());
    expect(readListing(page(''))).toEqual({ entries: [], next: undefined });
    const namespace = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
    const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult ${namespace}></ListBucketResult>\n`;
    expect(readListing(xml)).toEqual({ entries: [], next: undefined });
    const token = '<NextContinuationToken>a&amp;b&#x41;&#66;</NextContinuationToken>';
    expect(readListing(page(`<IsTruncated>true</IsTruncated>${token}`)).next).toBe('a&bAB');
  });
});
