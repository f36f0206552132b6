// References from copies of a record to its file. When the service copies a record, as the signer does, readers of the
// copy can read the file, and the file stays while a copy exists. Only the service adds references. The attribute
// `attachment` written by a client adds none, because a client could name a private file in its own record.
import { createHash } from 'node:crypto';
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
import { formatAttributes, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import { listFolder, type ObjectUri } from '../../core/objects/uris.ts';
import type { Filter } from '../../core/query/ast.ts';
import { idField } from '../../core/query/fields.ts';
import { byId } from '../../engine/walk.ts';

/** A file by its name in the store and the record in its URL. */
export interface FileOfRecord {
  readonly location: string;
  /** URI of the record of the upload. */
  readonly ownerUri: ObjectUri;
}

/** References are in one list per owning collection, ordered by file: see `referenceId`. */
const kind = 'attachment_references';

/** Adds a reference from a record to the file. */
export async function addReference(storage: StorageWriter, file: FileOfRecord, recordUri: ObjectUri): Promise<void> {
  const { location } = file;
  const text = formatAttributes({ location, record_uri: recordUri });
  await storage.update(listOf(file), referenceId(file, recordUri), text);
}

/** Removes the reference from a record to the file. */
export async function removeReference(storage: StorageWriter, file: FileOfRecord, recordUri: ObjectUri): Promise<void> {
  await storage.delete(listOf(file), referenceId(file, recordUri), { keepTombstone: false });
}

/** Returns whether files of the same collection ever had references. */
export async function mayHaveReferences(storage: StorageReader, file: FileOfRecord): Promise<boolean> {
  return (await storage.resourceTimestamp(listOf(file))) !== undefined;
}

/** Returns the URIs of records that refer to the file, without the owner. */
export async function readReferences(
  storage: StorageReader,
  file: FileOfRecord,
  limit: number,
): Promise<readonly string[]> {
  const filters: readonly Filter[] = [
    { field: idField, operator: 'min', value: `${hashOf(file.location)}.` },
    { field: idField, operator: 'lt', value: `${hashOf(file.location)}/` },
  ];
  const { entries } = await storage.listAll(listOf(file), { filters, sort: byId, limit });
  return entries.flatMap((entry) => {
    const uri = entry instanceof StoredObject ? entry.attributes['record_uri'] : undefined;
    return typeof uri === 'string' ? [uri] : [];
  });
}

function listOf({ ownerUri }: FileOfRecord): ListKey {
  return { kind, parent: listFolder(`__attachments__${ownerUri.slice(0, ownerUri.lastIndexOf('/records/'))}`) };
}

/**
 * Returns the id of a reference. Ids for one file sort between its hash with `.` and its hash with `/`, the next
 * character.
 */
function referenceId({ location }: FileOfRecord, recordUri: ObjectUri): string {
  return `${hashOf(location)}.${hashOf(recordUri)}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
