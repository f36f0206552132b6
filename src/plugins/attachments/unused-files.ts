// Finds files without a record. They remain when a process dies between storing a file and committing its record, or
// between committing a deletion and deleting the file. Can run while the service runs.
import type { BlobEntry, BlobStore } from '../../contracts/blobs.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { allLocations } from './file-links.ts';

/**
 * Returns files that no link names and that are old enough that no running request can still link them. A file without a
 * record does not get one later, but another file can get its name when it was deleted. So delete with `deleteOlder`.
 *
 * @param before milliseconds since 1970 UTC
 */
export async function findUnusedFiles(
  store: BlobStore,
  storage: StorageReader,
  before: number,
): Promise<readonly BlobEntry[]> {
  const unused = new Map<string, BlobEntry>();
  // Files are listed first, because the links of old files are committed by now.
  for await (const entry of store.list()) if (entry.lastModified < before) unused.set(entry.name, entry);
  // Links are read twice, because one pass can miss a link that moves to the list of kept files.
  for (let pass = 0; pass < 2 && unused.size > 0; pass++) {
    for await (const location of allLocations(storage)) unused.delete(location);
  }
  return [...unused.values()];
}
