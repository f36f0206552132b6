// Names of files in stores. Every store checks them here, also if callers have done so, because a name such as `../x` could
// lead out of the folder or bucket.
import { randomBytes, randomUUID } from 'node:crypto';
import type { BlobAccess, BlobEntry, BlobStore } from './blobs.ts';

const newName = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/;
const maxNewLength = 1000;
const maxLength = 1024;

/** @throws Error for a name that no store gives to a file */
export function requireBlobName(name: string): void {
  if (!newName.test(name) || name.length > maxNewLength) throw invalidName(name);
}

/**
 * Returns whether the name can only lead to a file within a store. This includes temporary files of the service and most
 * files of other programs.
 */
export function isInnerName(name: string): boolean {
  if (name.length > maxLength || !name.isWellFormed() || /[\p{Cc}\\]/u.test(name)) return false;
  return name.split('/').every((segment) => !['', '.', '..'].includes(segment));
}

/** Maximum number that is tried. A folder may have thousands of files of one name, so numbers alone would take long. */
const numberedNames = 14;
/** Number of names with random digits. A store in which all are taken does not answer correctly. */
const randomNames = 5;
/** 80 bits: among a billion files of one name, two get the same digits with a probability of less than one in a million. */
const randomLengthBytes = 10;

/** Yields the names to try for a file, in order: `a.png`, `a-1.png`, `a-2.png` … and then some with random digits. */
export function* blobNames(name: string): Generator<string> {
  yield name;
  for (let number = 1; number <= numberedNames; number++) yield withSuffix(name, String(number));
  for (let count = 0; count < randomNames; count++) yield uniqueBlobName(name);
}

/** Returns the name with 20 random digits before its extension, which no other file ever gets: `a-3f9c2b….png`. */
export function uniqueBlobName(name: string): string {
  return withSuffix(name, randomBytes(randomLengthBytes).toString('hex'));
}

function withSuffix(name: string, suffix: string): string {
  const start = name.lastIndexOf('/') + 1;
  const point = name.lastIndexOf('.');
  const end = point > start ? point : name.length;
  return `${name.slice(0, end)}-${suffix}${name.slice(end)}`;
}

/** Returns a new name for a temporary file in the folder of `spoolFolder`, which other programs may use too. */
export function spooledName(): string {
  return `coffer-${randomUUID()}.part`;
}

/** Returns whether the name is one of `spooledName`. */
export function isSpooledName(name: string): boolean {
  return /^coffer-[0-9a-f-]{36}\.part$/.test(name);
}

/** Returns the store with checks of all names: it refuses invalid ones, finds no file under them, and does not list them. */
export function withCheckedNames(store: BlobStore): BlobStore {
  return {
    spoolFolder: store.spoolFolder,
    access: checkedAccess(store.access),
    async put(name, source) {
      requireBlobName(name);
      return store.put(name, source);
    },
    async delete(name) {
      if (!isInnerName(name)) throw invalidName(name);
      await store.delete(name);
    },
    async deleteOlder(name, before) {
      if (!isInnerName(name)) throw invalidName(name);
      return store.deleteOlder(name, before);
    },
    list: () => innerEntries(store.list()),
    check: () => store.check(),
    close: () => store.close(),
  };
}

function checkedAccess(access: BlobAccess): BlobAccess {
  if (access.kind === 'folder') {
    return { ...access, has: async (name) => isInnerName(name) && (await access.has(name)) };
  }
  return { ...access, fetch: async (name, query) => (isInnerName(name) ? access.fetch(name, query) : undefined) };
}

async function* innerEntries(entries: AsyncIterable<BlobEntry>): AsyncGenerator<BlobEntry> {
  for await (const entry of entries) if (isInnerName(entry.name)) yield entry;
}

function invalidName(name: string): Error {
  return new Error(`invalid file name: ${JSON.stringify(name.slice(0, maxLength))}`);
}
