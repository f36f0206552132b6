// Links between records and files: one object per file, in one list per collection. So uploads to different collections
// do not block each other, and the deletion of a collection finds its files. Links change in the transaction of the
// record, files are deleted after the commit.
import { createHash } from 'node:crypto';
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
import { formatAttributes, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import { listFolder, storedUri, uriBelow, type ObjectUri } from '../../core/objects/uris.ts';
import type { Filter } from '../../core/query/ast.ts';
import { parseField } from '../../core/query/fields.ts';
import { byId, walk } from '../../engine/walk.ts';
import { cleanFilename } from './file-name.ts';
import { cleanMimetype } from './file-types.ts';
import { addReference, mayHaveReferences, readReferences, removeReference } from './references.ts';

const kind = 'attachments';
const root = '__attachments__';
const keptRoot = `${root}/kept`;
/** The list in which Kinto stores all links, under random ids. */
const importedList: ListKey = { kind, parent: listFolder(root) };

export interface RecordIds {
  readonly bucket: string;
  readonly collection: string;
  readonly record: string;
}

/** Why a file was kept after its record lost it. */
export type KeptReason = 'replaced' | 'deleted';

/** The properties of a file that its readers need. */
export interface LinkedFile {
  /** Name in the store. */
  readonly location: string;
  /** Name given by the client. */
  readonly filename: string;
  readonly mimetype: string;
}

export interface Link extends LinkedFile {
  readonly recordUri: ObjectUri;
  /** URI of the record of the upload; differs from `recordUri` for copies of that record. */
  readonly ownerUri: ObjectUri;
  /** Absent for the current file of the record. */
  readonly kept?: KeptReason;
  /** Timestamp of the link itself, in milliseconds since 1970 UTC. */
  readonly lastModified: number;
}

/**
 * Returns whether two links to one location are the same version of one link. Then the location has named the same file from
 * one to the other, because a file stays while it is linked. Otherwise the name may have been reused.
 */
export function isSameLink(a: Link, b: Link): boolean {
  return a.recordUri === b.recordUri && a.kept === b.kept && a.lastModified === b.lastModified;
}

export function bucketUri({ bucket }: Pick<RecordIds, 'bucket'>): ObjectUri {
  return uriBelow('', 'buckets', bucket);
}

function collectionUri(recordIds: Omit<RecordIds, 'record'>): ObjectUri {
  return uriBelow(bucketUri(recordIds), 'collections', recordIds.collection);
}

export function recordUri(recordIds: RecordIds): ObjectUri {
  return uriBelow(collectionUri(recordIds), 'records', recordIds.record);
}

/** Parses the URI of a record; returns `undefined` for any other text. */
export function parseRecordUri(uri: string): RecordIds | undefined {
  const match = /^\/buckets\/([^/]+)\/collections\/([^/]+)\/records\/([^/]+)$/.exec(uri);
  return match === null ? undefined : { bucket: match[1]!, collection: match[2]!, record: match[3]! };
}

/** Returns the link to the current file of the record. */
export async function findLink(storage: StorageReader, recordIds: RecordIds): Promise<Link | undefined> {
  return toLink(await storage.get(listOf(root, collectionUri(recordIds)), recordIds.record));
}

/** Returns the link to a file that was kept after the record got another one. */
export async function findKeptLink(
  storage: StorageReader,
  recordIds: RecordIds,
  location: string,
): Promise<Link | undefined> {
  return toLink(await storage.get(listOf(keptRoot, collectionUri(recordIds)), keptId(location)));
}

/** Links the file to the record. */
export async function writeLink(
  storage: StorageWriter,
  recordIds: RecordIds,
  { location, filename, mimetype }: LinkedFile,
  ownerUri: ObjectUri = recordUri(recordIds),
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
 * Removes the link of a record, or marks its file as kept.
 *
 * @returns names of files to delete after the commit
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

/** Removes all links of a deleted collection as `unlinkRecord` does. */
export async function unlinkCollection(
  storage: StorageWriter,
  recordIds: Omit<RecordIds, 'record'>,
  keeps: boolean,
): Promise<readonly string[]> {
  const uri = collectionUri(recordIds);
  const imported = await findImported(storage, 'collection_uri', uri);
  return unlink(storage, [...(await readLists(storage, uri)), ...imported], keeps ? 'deleted' : undefined);
}

/** Returns the ids of the collections in a bucket, deleted or not, that have files. */
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

/** Yields the names of all linked and kept files. */
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
 * Returns whether a record other than the one just unlinked has the file: a copy or the owner. Copies are made under
 * the locks of both record lists, so none appears while one of these lists is locked.
 *
 * @param shares cache of collections whose files have references
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

/** Keeps the link under the collection of the owner, also for a copy, because readers look there. */
async function keep(storage: StorageWriter, object: StoredObject, link: Link, kept: KeptReason): Promise<void> {
  const { location, ownerUri, recordUri: uri } = link;
  const owner = ownerUri === uri ? undefined : parseRecordUri(ownerUri);
  const list = listOf(keptRoot, owner === undefined ? (collectionOf(object) ?? '') : collectionUri(owner));
  await storage.update(list, keptId(location), formatAttributes({ ...object.attributes, kept }));
}

/** Returns the URI of the collection of a file. */
function collectionOf({ attributes }: StoredObject): ObjectUri | undefined {
  const uri = attributes['collection_uri'];
  return typeof uri === 'string' ? storedUri(uri) : undefined;
}

/** Returns all links of a collection, including kept files. */
async function readLists(storage: StorageWriter, uri: ObjectUri): Promise<readonly StoredLink[]> {
  const found: StoredLink[] = [];
  for (const list of [listOf(root, uri), listOf(keptRoot, uri)]) {
    // Locking would create a clock, and most collections have no files.
    if ((await storage.resourceTimestamp(list)) === undefined) continue;
    await storage.lock(list);
    for await (const object of readAll(storage, list)) found.push({ list, object });
  }
  return found;
}

/** Returns links imported from Kinto. Costs one timestamp lookup if none were imported. */
async function findImported(storage: StorageReader, name: string, uri: ObjectUri): Promise<readonly StoredLink[]> {
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
  // Links are small.
  for await (const entries of walk(storage, list, { filters }, undefined, { sort: byId })) {
    for (const entry of entries) if (entry instanceof StoredObject) yield entry;
  }
}

function toLink(object: StoredObject | undefined): Link | undefined {
  if (object === undefined) return undefined;
  const { location, record_uri: uri, owner_uri: owner, kept, filename, mimetype } = object.attributes;
  if (typeof location !== 'string' || typeof uri !== 'string') return undefined;
  const link = {
    location,
    recordUri: storedUri(uri),
    ownerUri: storedUri(typeof owner === 'string' ? owner : uri),
    // Imported links may have none, or such that would be invalid in headers.
    filename: (typeof filename === 'string' && cleanFilename(filename)) || cleanFilename(location),
    mimetype: cleanMimetype(typeof mimetype === 'string' ? mimetype : undefined),
    lastModified: object.lastModified,
  };
  return kept === 'replaced' || kept === 'deleted' ? { ...link, kept } : link;
}

function listOf(parentPath: string, uri: ObjectUri | ''): ListKey {
  return { kind, parent: listFolder(parentPath + uri) };
}

function keptId(location: string): string {
  return createHash('sha256').update(location).digest('hex');
}
