// The kind of history entries: read and deleted as lists, written by the recorder alone.
import type { ResourceKind } from '../../engine/kind.ts';

export const historyKind: ResourceKind = {
  name: 'history',
  plural: 'history',
  path: '/buckets/{bucket_id}/history',
  listMethods: ['GET', 'HEAD', 'DELETE'],
  hasAddresses: false,
  flavour: 'shareable',
  parent: 'bucket',
  // Written in addition to whatever has changed, by everybody who writes to the bucket.
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
      uri: { type: 'string', description: 'Address of the object that changed.' },
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
