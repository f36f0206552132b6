// Which record a file belongs to: an object for each, in a list for each collection, so that uploads to different
// collections do not wait for each other and whatever deletes a collection finds its files. Links change in the
// transaction of the change they are about; files are deleted after it.
import { createHash } from 'node:crypto';
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
import { formatAttributes, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { Filter, SortKey } from '../../core/query/ast.ts';
import { idField, parseField } from '../../core/query/fields.ts';
import { positionOf } from '../../core/query/sort.ts';
import { addReference, mayHaveReferences, readReferences, removeReference } from './references.ts';

const kind = 'attachments';
const root = '__attachments__';
const keptRoot = `${root}/kept`;
/** Where the reference server has all of its links, under ids that say nothing. */
const importedList: ListKey = { kind, parent: root };
const pageSize = 1000;

export interface RecordIds {
  readonly bucket: string;
  readonly collection: string;
  readonly record: string;
}

/** Why a file is there that no record has any more. */
export type KeptReason = 'replaced' | 'deleted';

/** A file as its readers want to know it. */
export interface LinkedFile {
  /** Name in the store. */
  readonly location: string;
  /** As the client called it. */
  readonly filename: string;
  readonly mimetype: string;
}

export interface Link extends LinkedFile {
  readonly recordUri: string;
  /** URI of the record that the file was uploaded to: another one than `recordUri` when this is a copy of it. */
  readonly ownerUri: string;
  /** Absent: it is the file of the record. */
  readonly kept?: KeptReason;
}

export function bucketUri({ bucket }: Pick<RecordIds, 'bucket'>): string {
  return `/buckets/${bucket}`;
}

export function collectionUri(recordIds: Omit<RecordIds, 'record'>): string {
  return `${bucketUri(recordIds)}/collections/${recordIds.collection}`;
}

export function recordUri(recordIds: RecordIds): string {
  return `${collectionUri(recordIds)}/records/${recordIds.record}`;
}

/** The record at a URI; `undefined` for any other text. */
export function parseRecordUri(uri: string): RecordIds | undefined {
  const match = /^\/buckets\/([^/]+)\/collections\/([^/]+)\/records\/([^/]+)$/.exec(uri);
  return match === null ? undefined : { bucket: match[1]!, collection: match[2]!, record: match[3]! };
}

/** The file that the record has. */
export async function findLink(storage: StorageReader, recordIds: RecordIds): Promise<Link | undefined> {
  return toLink(await storage.get(listOf(root, collectionUri(recordIds)), recordIds.record));
}

/** A file that was kept when the record got another one. */
export async function findKeptLink(
  storage: StorageReader,
  recordIds: RecordIds,
  location: string,
): Promise<Link | undefined> {
  return toLink(await storage.get(listOf(keptRoot, collectionUri(recordIds)), keptId(location)));
}

/** Says that the file is the one of the record, from now on. */
export async function writeLink(
  storage: StorageWriter,
  recordIds: RecordIds,
  { location, filename, mimetype }: LinkedFile,
  ownerUri: string = recordUri(recordIds),
): Promise<void> {
  const isOwner = ownerUri === recordUri(recordIds);
  const attributes = {
    location,
    filename,
    mimetype,
    bucket_uri: bucketUri(recordIds),
    collection_uri: collectionUri(recordIds),
    record_uri: recordUri(recordIds),
    ...(isOwner ? {} : { owner_uri: ownerUri }),
  };
  const list = listOf(root, collectionUri(recordIds));
  await storage.update(list, recordIds.record, formatAttributes(attributes));
  if (!isOwner) await addReference(storage, { location, ownerUri }, recordUri(recordIds));
}

/**
 * Forgets the file of a record, or remembers that it is kept.
 *
 * @returns names of the files that are to be deleted after the commit
 */
export async function unlinkRecord(
  storage: StorageWriter,
  recordIds: RecordIds,
  kept: KeptReason | undefined,
): Promise<readonly string[]> {
  const list = listOf(root, collectionUri(recordIds));
  const { object } = await storage.lock(list, recordIds.record);
  const own = object === undefined ? [] : [{ list, object }];
  return unlink(storage, [...own, ...(await findImported(storage, 'record_uri', recordUri(recordIds)))], kept);
}

/** The same for everything below a collection that is being deleted. */
export async function unlinkCollection(
  storage: StorageWriter,
  recordIds: Omit<RecordIds, 'record'>,
  keeps: boolean,
): Promise<readonly string[]> {
  const uri = collectionUri(recordIds);
  const imported = await findImported(storage, 'collection_uri', uri);
  return unlink(storage, [...(await readLists(storage, uri)), ...imported], keeps ? 'deleted' : undefined);
}

/** The ids of the collections of a bucket, deleted or not, that have files. */
export async function collectionsWithFiles(storage: StorageReader, bucket: string): Promise<readonly string[]> {
  const parents = await storage.listParents(kind);
  const imported = await findImported(storage, 'bucket_uri', bucketUri({ bucket }));
  const uris = [
    ...parents.map((parent) => parent.replace(/^__attachments__(?:\/kept)?/, '')),
    ...imported.flatMap(({ object }) => collectionOf(object) ?? []),
  ];
  const parentPath = `${bucketUri({ bucket })}/collections/`;
  return [...new Set(uris.filter((uri) => uri.startsWith(parentPath)).map((uri) => uri.slice(parentPath.length)))];
}

/** Names of all files that a record has, or that are kept. */
export async function* allLocations(storage: StorageReader): AsyncGenerator<string> {
  for (const parent of await storage.listParents(kind)) {
    for await (const object of readAll(storage, { kind, parent })) {
      const link = toLink(object);
      if (link !== undefined) yield link.location;
    }
  }
}

interface StoredLink {
  readonly list: ListKey;
  readonly object: StoredObject;
}

async function unlink(
  storage: StorageWriter,
  links: readonly StoredLink[],
  kept: KeptReason | undefined,
): Promise<readonly string[]> {
  const toDelete: string[] = [];
  const shares = new Map<string, boolean>();
  for (const { list, object } of links) {
    const link = toLink(object);
    if (link === undefined) continue;
    await storage.delete(list, object.id, { keepTombstone: false });
    const isCopy = link.ownerUri !== link.recordUri;
    if (isCopy) await removeReference(storage, link, link.recordUri);
    if (kept === undefined && link.kept === undefined) {
      if (!(await isReferenced(storage, link, shares))) toDelete.push(link.location);
    } else if (!isCopy || !(await isReferenced(storage, link, shares))) {
      await keep(storage, object, link, kept ?? 'deleted');
    }
  }
  return toDelete;
}

/**
 * Whether a record has the file besides the one whose link has just been removed: a copy, or its owner. Copies are made
 * under the locks of both lists of records, so that none comes while one of these is being changed.
 *
 * @param shares remembers which collections have files that are referred to
 */
async function isReferenced(storage: StorageReader, link: Link, shares: Map<string, boolean>): Promise<boolean> {
  const owner = parseRecordUri(link.ownerUri);
  if (owner === undefined) return false;
  if (link.ownerUri !== link.recordUri) {
    if ((await findLink(storage, owner))?.location === link.location) return true;
    if ((await findKeptLink(storage, owner, link.location)) !== undefined) return true;
  }
  const uri = collectionUri(owner);
  if (!shares.has(uri)) shares.set(uri, await mayHaveReferences(storage, link));
  return shares.get(uri) === true && (await readReferences(storage, link, 1)).length > 0;
}

/** Of a copy, too, the file is kept where its owner was: there it is looked for. */
async function keep(storage: StorageWriter, object: StoredObject, link: Link, kept: KeptReason): Promise<void> {
  const { location, ownerUri, recordUri: uri } = link;
  const owner = ownerUri === uri ? undefined : parseRecordUri(ownerUri);
  const list = listOf(keptRoot, owner === undefined ? (collectionOf(object) ?? '') : collectionUri(owner));
  await storage.update(list, keptId(location), formatAttributes({ ...object.attributes, kept }));
}

/** URI of the collection that a file belongs to. */
function collectionOf({ attributes }: StoredObject): string | undefined {
  const uri = attributes['collection_uri'];
  return typeof uri === 'string' ? uri : undefined;
}

/** All links of a collection, also those of files that it has kept. */
async function readLists(storage: StorageWriter, uri: string): Promise<readonly StoredLink[]> {
  const found: StoredLink[] = [];
  for (const list of [listOf(root, uri), listOf(keptRoot, uri)]) {
    // Most collections have no files, and shall not have a clock for them either.
    if ((await storage.resourceTimestamp(list)) === undefined) continue;
    await storage.lock(list);
    for await (const object of readAll(storage, list)) found.push({ list, object });
  }
  return found;
}

/** Links that came with the data of another server; where there never were any, this costs next to nothing. */
async function findImported(storage: StorageReader, name: string, uri: string): Promise<readonly StoredLink[]> {
  if ((await storage.resourceTimestamp(importedList)) === undefined) return [];
  const found: StoredLink[] = [];
  const filter: Filter = { field: parseField(name), operator: 'eq', value: uri };
  for await (const object of readAll(storage, importedList, [filter])) found.push({ list: importedList, object });
  return found;
}

async function* readAll(
  storage: StorageReader,
  list: ListKey,
  filters: readonly Filter[] = [],
): AsyncGenerator<StoredObject> {
  const sort: readonly SortKey[] = [{ field: idField, direction: 'ascending' }];
  for (let after: ReturnType<typeof positionOf> | undefined; ;) {
    const page = await storage.listAll(list, { filters, sort, after, limit: pageSize });
    for (const entry of page.entries) if (entry instanceof StoredObject) yield entry;
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return;
    after = positionOf(last, sort);
  }
}

function toLink(object: StoredObject | undefined): Link | undefined {
  const { location, record_uri: uri, owner_uri: owner, kept, filename, mimetype } = object?.attributes ?? {};
  if (typeof location !== 'string' || typeof uri !== 'string') return undefined;
  const link = {
    location,
    recordUri: uri,
    ownerUri: typeof owner === 'string' ? owner : uri,
    // Other servers do not say.
    filename: typeof filename === 'string' ? filename : location.slice(location.lastIndexOf('/') + 1),
    mimetype: typeof mimetype === 'string' ? mimetype : 'application/octet-stream',
  };
  return kept === 'replaced' || kept === 'deleted' ? { ...link, kept } : link;
}

function listOf(parentPath: string, uri: string): ListKey {
  return { kind, parent: parentPath + uri };
}

function keptId(location: string): string {
  return createHash('sha256').update(location).digest('hex');
}
