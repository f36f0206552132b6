// Buckets: the containers at the root. The deletion of a bucket deletes everything below it.
import type { JsonObject } from '../base/json.ts';
import type { ResourceKind } from '../engine/kind.ts';
import { cascade } from './cascade.ts';
import { checkSchemaAttributes } from './schema-attributes.ts';

export function bucketKind(): ResourceKind {
  return {
    name: 'bucket',
    path: '/buckets',
    flavour: 'shareable',
    idGenerator: 'NameGenerator',
    readPermission: 'read:attributes',
    isListOpen: true,
    permissions: {
      names: ['read', 'write', 'collection:create', 'group:create'],
      granted: {
        write: [{ kind: 'bucket', entry: 'write' }],
        read: [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'read' },
        ],
        'read:attributes': [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'read' },
          { kind: 'bucket', entry: 'collection:create' },
          { kind: 'bucket', entry: 'group:create' },
        ],
        'collection:create': [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'collection:create' },
        ],
        'group:create': [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'group:create' },
        ],
      },
    },
    describesAttributes: {
      type: 'object',
      properties: {
        'collection:schema': describeSchema('collections'),
        'group:schema': describeSchema('groups'),
        'record:schema': describeSchema('records'),
      },
    },
    checkAttributes: checkSchemaAttributes(['collection:schema', 'group:schema', 'record:schema']),
    afterChange: cascade,
  };
}

function describeSchema(objects: string): JsonObject {
  return { type: 'object', additionalProperties: true, description: `JSON Schema of the ${objects}.` };
}
