// Addresses: what kind of object or list a path leads to, and what lies above it.

export type Kind = 'bucket' | 'group' | 'collection' | 'record' | 'history';

/** A list, or an object in it. */
export interface Place {
  readonly kind: Kind;
  /** `/buckets/b/groups` */
  readonly list: string;
  /** Of the object; `undefined` for the list itself. */
  readonly id: string | undefined;
  readonly bucket: string | undefined;
  readonly collection: string | undefined;
}

const pattern =
  /^\/buckets(?:\/([^/]+)(?:\/(groups)(?:\/([^/]+))?|\/(collections)(?:\/([^/]+)(?:\/(records)(?:\/([^/]+))?)?)?|\/(history))?)?$/;

/** The place a path without `/v1` and query leads to; `undefined` when it is none of an object or list. */
export function placeOf(path: string): Place | undefined {
  const match = pattern.exec(path);
  if (match === null) return undefined;
  const [, bucket, groups, group, collections, collection, records, record, history] = match;
  if (bucket === undefined) return { kind: 'bucket', list: '/buckets', id: undefined, bucket, collection };
  const base = `/buckets/${bucket}`;
  if (groups !== undefined) return { kind: 'group', list: `${base}/groups`, id: group, bucket, collection };
  if (history !== undefined) return { kind: 'history', list: `${base}/history`, id: undefined, bucket, collection };
  if (collections === undefined) return { kind: 'bucket', list: '/buckets', id: bucket, bucket, collection };
  if (records !== undefined) {
    return { kind: 'record', list: `${base}/collections/${collection}/records`, id: record, bucket, collection };
  }
  return { kind: 'collection', list: `${base}/collections`, id: collection, bucket, collection };
}

/** The place of an object of a list. */
export function objectIn(list: Place, id: string): Place {
  const below = list.kind === 'bucket' ? { bucket: id } : list.kind === 'collection' ? { collection: id } : {};
  return { ...list, id, ...below };
}

/** URI of the object. */
export function uriOf({ list, id }: Place): string {
  return `${list}/${id}`;
}

/** URI of the object that the list lies in; `undefined` for buckets. */
export function parentOf({ list }: Place): string | undefined {
  const parent = list.slice(0, list.lastIndexOf('/'));
  return parent === '' ? undefined : parent;
}

/** URI of the object of this kind on the way to the place. */
export function uriOfKind(place: Place, kind: Kind): string | undefined {
  if (kind === place.kind) return place.id === undefined ? undefined : uriOf(place);
  if (kind === 'bucket') return `/buckets/${place.bucket}`;
  return kind === 'collection' ? `/buckets/${place.bucket}/collections/${place.collection}` : undefined;
}

/** overview.md §1.1, and the longest id that the service accepts by default. */
export function isGoodId(id: string): boolean {
  return id.length <= 512 && /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/.test(id);
}

/** The ids in an address by their names, that of the object included. */
export function idsOf(place: Place): Readonly<Record<string, string>> {
  const ids: [string, string | undefined][] = [
    ['bucket_id', place.bucket],
    ['collection_id', place.collection],
    [`${place.kind}_id`, place.id],
  ];
  return Object.fromEntries(ids.filter((pair): pair is [string, string] => pair[1] !== undefined));
}
