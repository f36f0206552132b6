// The resource kind of history entries: clients read and delete lists, and only the recorder writes.
import type { ResourceKind } from '../../engine/kind.ts';

export const historyKind: ResourceKind = {
  name: 'history',
  plural: 'history',
  path: '/buckets/{bucket_id}/history',
  listMethods: ['GET', 'HEAD', 'DELETE'],
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
