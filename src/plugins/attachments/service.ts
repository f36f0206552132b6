// Shared by the parts of the plugin: host, store, rules, and the URLs of files.
import type { JsonObject } from '../../base/json.ts';
import type { BlobStore } from '../../contracts/blobs.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { Downloads } from './downloads.ts';
import type { FileDeletions } from './file-deletions.ts';
import type { RecordIds } from './file-links.ts';
import type { Rules } from './rules.ts';
import type { UrlSigner } from './signed-urls.ts';

export interface AttachmentService {
  readonly host: PluginHost;
  readonly store: BlobStore;
  readonly rules: Rules;
  readonly deletions: FileDeletions;
  readonly downloads: Downloads;
  /** Accepted extensions; `undefined` means all. */
  readonly extensions: ReadonlySet<string> | undefined;
  readonly mimetypes: ReadonlyMap<string, string>;
  /** Ends with a slash; `''` if the service serves the files itself. */
  readonly baseUrl: string;
  /** Path prefix of files served by the service, such as `/v1/attachments/`. */
  readonly servingPath: string;
  /** Signs URLs that work without credentials; `undefined` if disabled. */
  readonly signer: UrlSigner | undefined;
  /** Attachments uploaded in a unit of work, by the URI of the record. */
  readonly uploaded: WeakMap<UnitOfWork, Map<string, JsonObject>>;
}

export function recordIdsOf(ids: PathIds): RecordIds {
  return {
    bucket: ids['bucket_id'] ?? '',
    collection: ids['collection_id'] ?? '',
    record: ids['record_id'] ?? '',
  };
}

/** Returns the URL of a file. URLs of the service contain the record whose readers can read the file. */
export function locationOf({ baseUrl, servingPath }: AttachmentService, recordIds: RecordIds, name: string): string {
  if (baseUrl !== '' && !servesItself(baseUrl, servingPath)) return baseUrl + name;
  const parts = [recordIds.bucket, recordIds.collection, recordIds.record, ...name.split('/')];
  return (baseUrl || servingPath) + parts.map(encodeURIComponent).join('/');
}

/** Returns whether the base URL is the public URL of the service itself. */
export function servesItself(baseUrl: string, servingPath: string): boolean {
  return baseUrl === '' || new URL(baseUrl).pathname.endsWith(servingPath);
}
