// Records other than the owner that refer to a file. The service copies records, as signers do, and a copy names the file
// of the record that it was copied from: its readers may read the file, and it stays while a copy is there. Only the
// service adds references. What a client writes into the attribute `attachment` adds none, since otherwise a stranger
// could name a private file in a record of their own.
import { createHash } from 'node:crypto';
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
import { formatAttributes, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { Filter } from '../../core/query/ast.ts';
import { idField } from '../../core/query/fields.ts';

/** A file by its name in the store, and the record whose address stands in its location. */
export interface FileOfRecord {
  readonly location: string;
  /** URI of the record that the file was uploaded to. */
  readonly ownerUri: string;
}

/** In a list for each collection that owns files, in the order of the files: see `referenceId`. */
const kind = 'attachment_references';

/** Says that a record refers to the file. */
export async function addReference(storage: StorageWriter, file: FileOfRecord, recordUri: string): Promise<void> {
  const { location } = file;
  const text = formatAttributes({ location, record_uri: recordUri });
  await storage.update(listOf(file), referenceId(file, recordUri), text);
}

/** Forgets that a record refers to the file. */
export async function removeReference(storage: StorageWriter, file: FileOfRecord, recordUri: string): Promise<void> {
  await storage.delete(listOf(file), referenceId(file, recordUri), { keepTombstone: false });
}

/** Whether any file of the collection of this file was ever referred to by another record. */
export async function mayHaveReferences(storage: StorageReader, file: FileOfRecord): Promise<boolean> {
  return (await storage.resourceTimestamp(listOf(file))) !== undefined;
}

/** Returns the URIs of records that refer to the file, the owner not among them. */
export async function readReferences(
  storage: StorageReader,
  file: FileOfRecord,
  limit: number,
): Promise<readonly string[]> {
  const filters: readonly Filter[] = [
    { field: idField, operator: 'min', value: `${hashOf(file.location)}.` },
    { field: idField, operator: 'lt', value: `${hashOf(file.location)}/` },
  ];
  const { entries } = await storage.listAll(listOf(file), {
    filters,
    sort: [{ field: idField, direction: 'ascending' }],
    limit,
  });
  return entries.flatMap((entry) => {
    const uri = entry instanceof StoredObject ? entry.attributes['record_uri'] : undefined;
    return typeof uri === 'string' ? [uri] : [];
  });
}

function listOf({ ownerUri }: FileOfRecord): ListKey {
  return { kind, parent: `__attachments__${ownerUri.slice(0, ownerUri.lastIndexOf('/records/'))}` };
}

/** Ids of references to one file lie between its hash followed by a point, and by a slash, which comes next. */
function referenceId({ location }: FileOfRecord, recordUri: string): string {
  return `${hashOf(location)}.${hashOf(recordUri)}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
