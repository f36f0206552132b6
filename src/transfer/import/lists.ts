// The lists that are imported: their addresses at the source, and their keys here.
import type { ListKey } from '../../core/objects/stored.ts';
import { listFolder, uriBelow, type ObjectUri } from '../../core/objects/uris.ts';

export interface SourceList extends ListKey {
  /** Name in messages: `/buckets/a/collections`. */
  readonly name: string;
  /** Path below the root of the protocol, percent-encoded, without leading slash. */
  readonly path: string;
  /** URI of an object, the key of its permissions. */
  readonly uriOf: (id: string) => ObjectUri;
  /** Whether objects have addresses of their own, at which their permissions are shown. */
  readonly hasObjects: boolean;
  /** Whether objects lie below those of this list. */
  readonly hasChildren: boolean;
}

export const bucketList: SourceList = listAt('bucket', '', 'buckets');

export function groupList(bucket: string): SourceList {
  return listAt('group', bucketList.uriOf(bucket), 'groups');
}

export function collectionList(bucket: string): SourceList {
  return listAt('collection', bucketList.uriOf(bucket), 'collections');
}

export function recordList(bucket: string, collection: string): SourceList {
  return listAt('record', collectionList(bucket).uriOf(collection), 'records');
}

export function historyList(bucket: string): SourceList {
  const list = listAt('history', bucketList.uriOf(bucket), 'history');
  // Its parent is the address of the list (`listFolder` of the kind).
  return { ...list, parent: listFolder(list.name), hasObjects: false };
}

function listAt(kind: string, parent: ObjectUri | '', plural: string): SourceList {
  const name = `${parent}/${plural}`;
  return {
    kind,
    parent,
    name,
    path: name.slice(1).split('/').map(encodeURIComponent).join('/'),
    uriOf: (id) => uriBelow(parent, plural, id),
    hasObjects: true,
    hasChildren: kind === 'bucket' || kind === 'collection',
  };
}
