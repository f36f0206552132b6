// Finds the files that no record has: what a process left behind that died between storing a file and committing its
// record, or between committing a deletion and deleting the file. May run while the service does.
import type { BlobEntry, BlobStore } from '../../contracts/blobs.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { allLocations } from './file-links.ts';

/**
 * Files that nothing refers to and that were stored long enough ago that no request can be about to refer to them:
 * names are never used twice, so a file without record does not get one later.
 *
 * @param before milliseconds since 1970 UTC
 */
export async function findUnusedFiles(
  store: BlobStore,
  storage: StorageReader,
  before: number,
): Promise<readonly BlobEntry[]> {
  const unused = new Map<string, BlobEntry>();
  // The files first: whatever is old now has been referred to, if ever, by the time that the links are read.
  for await (const entry of store.list()) if (entry.lastModified < before) unused.set(entry.name, entry);
  // Twice, since a link that moves to the list of kept files may be missed on the way.
  for (let pass = 0; pass < 2 && unused.size > 0; pass++) {
    for await (const location of allLocations(storage)) unused.delete(location);
  }
  return [...unused.values()];
}
