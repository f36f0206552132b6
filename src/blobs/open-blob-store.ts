// Opens stores of files. The only place that knows which there are; what they need is loaded when asked for.
import type { BlobPlace, BlobStore } from '../contracts/blobs.ts';

/**
 * Opens a store.
 *
 * @throws Error when it cannot be used as described
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
