// Which record a file belongs to: an object for each, in a list for each collection, so that uploads to different
// collections do not wait for each other and whatever deletes a collection finds its files. Links change in the
// transaction of the change they are about; files are deleted after it.
import { createHash } from 'node:crypto';
import type { StorageReader, StorageWriter } from '../../contracts/storage.ts';
import { formatAttributes, StoredObject, type ListKey } from '../../core/objects/stored.ts';
import type { Filter, SortKey } from '../../core/query/ast.ts';
import { idField, parseField } from '../../core/query/fields.ts';
import { positionOf } from '../../core/query/sort.ts';

const kind = 'attachments';
const root = '__attachments__';
const keptRoot = `${root}/kept`;
/** Where the reference server has all of its links, under ids that say nothing. */
const importedList: ListKey = { kind, parent: root };
const pageSize = 1000;

export interface RecordAddress {
  readonly bucket: string;
  readonly collection: string;
  readonly record: string;
}

/** Why a file is there that no record has any more. */
export type Kept = 'replaced' | 'deleted';

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
  /** Absent: it is the file of the record. */
  readonly kept?: Kept;
}

export function bucketUri({ bucket }: Pick<RecordAddress, 'bucket'>): string {
  return `/buckets/${bucket}`;
}

export function collectionUri(address: Omit<RecordAddress, 'record'>): string {
  return `${bucketUri(address)}/collections/${address.collection}`;
}

export function recordUri(address: RecordAddress): string {
  return `${collectionUri(address)}/records/${address.record}`;
}

/** The file that the record has. */
export async function findLink(storage: StorageReader, address: RecordAddress): Promise<Link | undefined> {
  return toLink(await storage.get(listOf(root, collectionUri(address)), address.record));
}

/** A file that was kept when the record got another one. */
export async function findKeptLink(
  storage: StorageReader,
  address: RecordAddress,
  location: string,
): Promise<Link | undefined> {
  return toLink(await storage.get(listOf(keptRoot, collectionUri(address)), keptId(location)));
}

/** Says that the file is the one of the record, from now on. */
export async function writeLink(storage: StorageWriter, address: RecordAddress, file: LinkedFile): Promise<void> {
  const { location, filename, mimetype } = file;
  const attributes = {
    location,
    filename,
    mimetype,
    bucket_uri: bucketUri(address),
    collection_uri: collectionUri(address),
    record_uri: recordUri(address),
  };
  const list = listOf(root, collectionUri(address));
  await storage.update(list, address.record, formatAttributes(attributes));
}

/**
 * Forgets the file of a record, or remembers that it is kept.
 *
 * @returns names of the files that are to be deleted after the commit
 */
export async function retireRecord(
  storage: StorageWriter,
  address: RecordAddress,
  kept: Kept | undefined,
): Promise<readonly string[]> {
  const list = listOf(root, collectionUri(address));
  const { object } = await storage.lock(list, address.record);
  const own = object === undefined ? [] : [{ list, object }];
  return retire(storage, [...own, ...(await findImported(storage, 'record_uri', recordUri(address)))], kept);
}

/** The same for everything below a collection that is being deleted. */
export async function retireCollection(
  storage: StorageWriter,
  address: Omit<RecordAddress, 'record'>,
  keeps: boolean,
): Promise<readonly string[]> {
  const uri = collectionUri(address);
  const imported = await findImported(storage, 'collection_uri', uri);
  return retire(storage, [...(await readLists(storage, uri)), ...imported], keeps ? 'deleted' : undefined);
}

/** The ids of the collections of a bucket, deleted or not, that have files. */
export async function collectionsWithFiles(storage: StorageReader, bucket: string): Promise<readonly string[]> {
  const parents = await storage.listParents(kind);
  const imported = await findImported(storage, 'bucket_uri', bucketUri({ bucket }));
  const uris = [
    ...parents.map((parent) => parent.replace(/^__attachments__(?:\/kept)?/, '')),
    ...imported.flatMap(({ object }) => collectionOf(object) ?? []),
  ];
  const above = `${bucketUri({ bucket })}/collections/`;
  return [...new Set(uris.filter((uri) => uri.startsWith(above)).map((uri) => uri.slice(above.length)))];
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

interface Found {
  readonly list: ListKey;
  readonly object: StoredObject;
}

async function retire(
  storage: StorageWriter,
  links: readonly Found[],
  kept: Kept | undefined,
): Promise<readonly string[]> {
  const doomed: string[] = [];
  for (const { list, object } of links) {
    const link = toLink(object);
    if (link === undefined) continue;
    await storage.delete(list, object.id, { keepTombstone: false });
    if (kept === undefined && link.kept === undefined) doomed.push(link.location);
    else await keep(storage, object, link, kept ?? 'deleted');
  }
  return doomed;
}

async function keep(storage: StorageWriter, object: StoredObject, { location }: Link, kept: Kept): Promise<void> {
  const list = listOf(keptRoot, collectionOf(object) ?? '');
  await storage.update(list, keptId(location), formatAttributes({ ...object.attributes, kept }));
}

/** URI of the collection that a file belongs to. */
function collectionOf({ attributes }: StoredObject): string | undefined {
  const uri = attributes['collection_uri'];
  return typeof uri === 'string' ? uri : undefined;
}

/** All links of a collection, also those of files that it has kept. */
async function readLists(storage: StorageWriter, uri: string): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const list of [listOf(root, uri), listOf(keptRoot, uri)]) {
    // Most collections have no files, and shall not have a clock for them either.
    if ((await storage.resourceTimestamp(list)) === undefined) continue;
    await storage.lock(list);
    for await (const object of readAll(storage, list)) found.push({ list, object });
  }
  return found;
}

/** Links that came with the data of another server; where there never were any, this costs next to nothing. */
async function findImported(storage: StorageReader, name: string, uri: string): Promise<readonly Found[]> {
  if ((await storage.resourceTimestamp(importedList)) === undefined) return [];
  const found: Found[] = [];
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
  const { location, record_uri: uri, kept, filename, mimetype } = object?.attributes ?? {};
  if (typeof location !== 'string' || typeof uri !== 'string') return undefined;
  const link = {
    location,
    recordUri: uri,
    // Other servers do not say.
    filename: typeof filename === 'string' ? filename : location.slice(location.lastIndexOf('/') + 1),
    mimetype: typeof mimetype === 'string' ? mimetype : 'application/octet-stream',
  };
  return kept === 'replaced' || kept === 'deleted' ? { ...link, kept } : link;
}

function listOf(above: string, uri: string): ListKey {
  return { kind, parent: above + uri };
}

function keptId(location: string): string {
  return createHash('sha256').update(location).digest('hex');
}
