// Blob store in a bucket of an S3-compatible object store. A request whose answer was lost is repeated, and one that timed out
// may still be executed later. So names are never used again: a late deletion then meets no other file.
import { randomUUID } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isSpooledName, uniqueBlobName, withCheckedNames } from '../../contracts/blob-names.ts';
import type { BlobAnswer, BlobEntry, BlobQuery, BlobSource, BlobStore } from '../../contracts/blobs.ts';
import { listPages } from './listing.ts';
import { discard, S3Client, type S3Place, type S3Response } from './s3-client.ts';

/** Opens the store. The first request is sent on first use. */
export function openS3Store(place: S3Place): BlobStore {
  const store = new S3Store(place);
  let swept: Promise<void> | undefined;
  return withCheckedNames({
    async spoolFolder() {
      await (swept ??= deleteLeftBehind(tmpdir()));
      return tmpdir();
    },
    access: { kind: 'remote', fetch: (name, query) => store.fetch(name, query) },
    put: (name, source) => store.put(name, source),
    delete: (name) => store.delete(name),
    deleteOlder: (name, before) => store.deleteOlder(name, before),
    list: () => store.list(),
    check: () => store.check(),
    close: () => store.close(),
  });
}

/** Age of temporary files whose processes have ended without deleting them. */
const leftBehindMs = 86_400_000;

/** Deletes temporary files of processes that were killed, as far as that is possible. */
async function deleteLeftBehind(folder: string): Promise<void> {
  const before = Date.now() - leftBehindMs;
  const names = await readdir(folder).catch(() => []);
  for (const path of names.filter(isSpooledName).map((name) => join(folder, name))) {
    try {
      if ((await lstat(path)).mtimeMs < before) await rm(path);
    } catch {
      // It belongs to another user, or another process has deleted it.
    }
  }
}

/** Response headers that describe the content and not the store. */
const contentHeaderNames: readonly string[] = [
  'content-length',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
];
const readStatuses = [200, 206, 304, 412, 416] as const;

class S3Store {
  readonly #client: S3Client;
  readonly #acl: string | undefined;

  constructor(place: S3Place) {
    this.#client = new S3Client(place);
    this.#acl = place.acl;
  }

  async put(name: string, { path, sizeBytes, hash, mimetype }: BlobSource): Promise<string> {
    const key = uniqueBlobName(name);
    const response = await this.#client.send({
      method: 'PUT',
      key,
      headers: { 'Content-Type': mimetype, ...(this.#acl === undefined ? {} : { 'X-Amz-Acl': this.#acl }) },
      body: { path, sizeBytes, hash },
    });
    if (response.status !== 200) throw await this.#client.refusal(response);
    discard(response);
    return key;
  }

  async delete(name: string): Promise<void> {
    const response = await this.#client.send({ method: 'DELETE', key: name });
    if (![200, 204, 404].includes(response.status)) throw await this.#client.refusal(response);
    discard(response);
  }

  async deleteOlder(name: string, before: number): Promise<boolean> {
    const response = await this.#client.send({ method: 'HEAD', key: name });
    if (response.status !== 404 && response.status !== 200) throw await this.#client.refusal(response);
    discard(response);
    // Without a time of modification, the file counts as new.
    const lastModified = Date.parse(response.headers['last-modified'] ?? '');
    if (response.status === 404 || !(lastModified < before)) return false;
    await this.delete(name);
    return true;
  }

  async fetch(name: string, { method, headers }: BlobQuery): Promise<BlobAnswer | undefined> {
    const response = await this.#client.send({ method, key: name, headers });
    if (response.status === 404) {
      discard(response);
      return undefined;
    }
    const status = readStatuses.find((known) => known === response.status);
    if (status === undefined) throw await this.#client.refusal(response);
    const answer = { status, headers: contentHeaders(response) };
    if (method === 'GET' && (status === 200 || status === 206)) return { ...answer, body: response.body };
    discard(response);
    return { ...answer, body: undefined };
  }

  list(): AsyncGenerator<BlobEntry> {
    return listPages((token) => this.#readPage(token));
  }

  async check(): Promise<void> {
    const key = `check-${randomUUID()}`;
    const response = await this.#client.send({ method: 'PUT', key, body: { bytes: Buffer.from('alive') } });
    if (response.status !== 200) throw await this.#client.refusal(response);
    discard(response);
    await this.delete(key);
  }

  close(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }

  async #readPage(token: string | undefined): Promise<string> {
    const query = { 'list-type': '2', 'encoding-type': 'url', 'max-keys': '1000' };
    const response = await this.#client.send({
      method: 'GET',
      key: '',
      query: token === undefined ? query : { ...query, 'continuation-token': token },
    });
    if (response.status !== 200) throw await this.#client.refusal(response);
    return this.#client.readText(response);
  }
}

function contentHeaders({ headers }: S3Response): Record<string, string> {
  return Object.fromEntries(
    contentHeaderNames.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    }),
  );
}
