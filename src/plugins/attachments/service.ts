// What the parts of the plugin share: the host, the store, the rules, and how a file is called in a record.
import type { JsonObject } from '../../base/json.ts';
import type { BlobStore } from '../../contracts/blobs.ts';
import type { PathIds } from '../../core/objects/object-id.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import type { PluginHost } from '../../http/plugin.ts';
import type { FileDeletions } from './file-deletions.ts';
import type { RecordIds } from './file-links.ts';
import type { Rules } from './rules.ts';
import type { UrlSigner } from './signed-urls.ts';

export interface AttachmentService {
  readonly host: PluginHost;
  readonly store: BlobStore;
  readonly rules: Rules;
  readonly deletions: FileDeletions;
  /** `undefined`: all. */
  readonly extensions: ReadonlySet<string> | undefined;
  readonly mimetypes: ReadonlyMap<string, string>;
  /** With slash at its end; `''` when the service itself serves the files. */
  readonly baseUrl: string;
  /** Path below which the service serves files, `/v1/attachments/`. */
  readonly servingPath: string;
  /** Makes addresses that work without credentials; `undefined`: there are none. */
  readonly signer: UrlSigner | undefined;
  /** The files that uploads of a unit of work have brought, by the URI of the record. */
  readonly uploaded: WeakMap<UnitOfWork, Map<string, JsonObject>>;
}

export function recordIdsOf(ids: PathIds): RecordIds {
  return {
    bucket: ids['bucket_id'] ?? '',
    collection: ids['collection_id'] ?? '',
    record: ids['record_id'] ?? '',
  };
}

/** Address of a file for clients. The service's own addresses hold the record that says who may read the file. */
export function locationOf({ baseUrl, servingPath }: AttachmentService, recordIds: RecordIds, name: string): string {
  if (baseUrl !== '' && !servesItself(baseUrl, servingPath)) return baseUrl + name;
  const parts = [recordIds.bucket, recordIds.collection, recordIds.record, ...name.split('/')];
  return (baseUrl || servingPath) + parts.map(encodeURIComponent).join('/');
}

/** Whether the files at the address are those that the service serves, seen from outside. */
export function servesItself(baseUrl: string, servingPath: string): boolean {
  return baseUrl === '' || new URL(baseUrl).pathname.endsWith(servingPath);
}
