// Opens stores of files: the list of the kinds of stores. Each kind is loaded when it is used.
import type { BlobPlace, BlobStore } from '../contracts/blobs.ts';

/**
 * Opens a store.
 *
 * @throws Error when the place cannot be used
 */
export async function openBlobStore(place: BlobPlace): Promise<BlobStore> {
  switch (place.kind) {
    case 'folder': {
      const { openFolderStore } = await import('./folder/folder-store.ts');
      return openFolderStore(place);
    }
    case 's3': {
      const { openS3Store } = await import('./s3/s3-store.ts');
      return openS3Store(place);
    }
  }
}
