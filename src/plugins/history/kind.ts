// The resource kind of history entries: clients read and delete lists, and only the recorder writes.
import { storedId, type PathIds } from '../../core/objects/object-id.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { storedParent } from '../../core/objects/uris.ts';
import type { ResourceKind, ShownPlace } from '../../engine/kind.ts';
import type { Reader } from '../../engine/unit-of-work.ts';
import { bucketUri } from './object-uris.ts';

export const historyKind: ResourceKind = {
  name: 'history',
  plural: 'history',
  path: '/buckets/{bucket_id}/history',
  listMethods: ['GET', 'HEAD', 'DELETE'],
  shows: shownIn,
  hasAddresses: false,
  flavour: 'shareable',
  parent: 'bucket',
  listFolder: 'history',
  idGenerator: 'UUID4',
  traits: {
    knownFields: [
      'id',
      'last_modified',
      'uri',
      'resource_name',
      'action',
      'date',
      'user_id',
      'bucket_id',
      'group_id',
      'collection_id',
      'record_id',
      'target',
    ],
    textFields: ['id', 'bucket_id', 'group_id', 'collection_id', 'record_id', 'target.data.id'],
  },
  describesAttributes: {
    type: 'object',
    properties: {
      uri: { type: 'string', description: 'URI of the changed object.' },
      resource_name: { type: 'string' },
      action: { type: 'string', enum: ['create', 'update', 'delete'] },
      date: { type: 'string' },
      user_id: { type: ['string', 'null'] },
      target: { type: 'object', additionalProperties: true, description: 'The object after the change.' },
    },
  },
  permissions: {
    names: ['read', 'write'],
    granted: {
      write: [
        { kind: 'bucket', entry: 'write' },
        { kind: 'history', entry: 'write' },
      ],
      read: [
        { kind: 'bucket', entry: 'write' },
        { kind: 'bucket', entry: 'read' },
        { kind: 'history', entry: 'write' },
        { kind: 'history', entry: 'read' },
      ],
    },
  },
};

/** Number of lists that are read together. */
const listsPerPage = 1000;

/** Yields what the history of a bucket shows: the bucket, its groups and collections, and every list of records it has ever had. */
async function* shownIn(ids: PathIds, { storage }: Reader): AsyncGenerator<ShownPlace> {
  yield { kind: 'bucket', on: 'object', ids };
  for (const kind of ['group', 'collection']) yield { kind, on: 'list', ids };
  const above = `${bucketUri(ids)}/collections/`;
  let after: ListKey | undefined = { kind: '', parent: storedParent(above) };
  while (after !== undefined) {
    // Lists outlive their collections, as the history does.
    const lists = await storage.lists(after, listsPerPage);
    for (const { kind, parent } of lists) {
      if (!parent.startsWith(above)) return;
      if (kind === 'record')
        yield { kind, on: 'list', ids: { ...ids, collection_id: storedId(parent.slice(above.length)) } };
    }
    after = lists.length < listsPerPage ? undefined : lists.at(-1);
  }
}
