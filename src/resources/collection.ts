// Collections: lists of records in a bucket, with an optional JSON schema.
import { ExactNumber, getKey, setKey, type JsonObject, type JsonValue, type MutableJsonObject } from '../base/json.ts';
import type { Complain, ResourceKind } from '../engine/kind.ts';
import { declareByCollection, describedIndexes, requireWellFormed } from './collection-indexes.ts';
import { cascade } from './cascade.ts';
import type { ResourceOptions } from './options.ts';
import { checkSchemaAttributes } from './schema-attributes.ts';
import { validateByBucket } from './schema-validation.ts';

export function collectionKind({ validatesSchemas, ...limits }: ResourceOptions): ResourceKind {
  return {
    name: 'collection',
    path: '/buckets/{bucket_id}/collections',
    flavour: 'shareable',
    parent: 'bucket',
    idGenerator: 'NameGenerator',
    readPermission: 'read:attributes',
    permissions: {
      names: ['read', 'write', 'record:create'],
      granted: {
        write: [
          { kind: 'bucket', entry: 'write' },
          { kind: 'collection', entry: 'write' },
        ],
        read: [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'read' },
          { kind: 'collection', entry: 'write' },
          { kind: 'collection', entry: 'read' },
        ],
        'read:attributes': [
          { kind: 'bucket', entry: 'write' },
          { kind: 'bucket', entry: 'read' },
          { kind: 'collection', entry: 'write' },
          { kind: 'collection', entry: 'read' },
          { kind: 'collection', entry: 'record:create' },
        ],
        'record:create': [
          { kind: 'bucket', entry: 'write' },
          { kind: 'collection', entry: 'write' },
          { kind: 'collection', entry: 'record:create' },
        ],
      },
    },
    describesAttributes: {
      type: 'object',
      properties: {
        schema: { type: 'object', additionalProperties: true, description: 'JSON Schema of the records.' },
        cache_expires: {
          type: ['integer', 'string', 'null'],
          description: 'Seconds for which anonymous responses may be cached.',
        },
        indexes: describedIndexes,
      },
    },
    *checkAttributes(attributes, complain) {
      return checkCacheExpires(yield* checkSchema(attributes, complain), complain);
    },
    async beforeWrite(write) {
      requireWellFormed(write, limits);
      return validatesSchemas ? validate(write) : write.attributes;
    },
    async afterChange(change, writer) {
      await cascade(change, writer);
      await declareByCollection(change, writer);
    },
  };
}

const checkSchema = checkSchemaAttributes(['schema']);
const validate = validateByBucket('collection:schema');

/** Converts `cache_expires` to an integer; `null` removes it. */
function checkCacheExpires(attributes: JsonObject, complain: Complain): JsonObject {
  const value = getKey(attributes, 'cache_expires');
  if (value === undefined) return attributes;
  const completed: MutableJsonObject = { ...attributes };
  delete completed['cache_expires'];
  if (value === null) return completed;
  const seconds = toInteger(value);
  if (seconds === undefined) complain('cache_expires', 'expected a number of seconds');
  else setKey(completed, 'cache_expires', seconds);
  return completed;
}

function toInteger(value: JsonValue): number | undefined {
  if (value instanceof ExactNumber) return toInteger(value.valueOf());
  if (typeof value === 'number') return Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) : undefined;
  return typeof value === 'string' && /^\s*[+-]?\d{1,15}\s*$/.test(value) ? Number(value) : undefined;
}
