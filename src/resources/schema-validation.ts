// JSON Schema validation of objects before they are written: records by their collection and bucket, collections and groups
// by their bucket. The kinds include it only when the setting enables it.
import { getKey, isJsonObject, setKey, type JsonObject, type MutableJsonObject } from '../base/json.ts';
import { copyMembers } from '../base/json-steps.ts';
import { runFromNow, type Steps } from '../base/steps.ts';
import { invalidParameters } from '../core/errors.ts';
import { isSameObject, type StoredObject } from '../core/objects/stored.ts';
import { uriBelow } from '../core/objects/uris.ts';
import { validateAgainst } from '../core/schema/validate.ts';
import { findToParse } from '../engine/stored-work.ts';
import type { PendingWrite } from '../engine/kind.ts';

/** Validates by an attribute of the bucket, such as `group:schema`. */
export function validateByBucket(attribute: string): (write: PendingWrite) => Promise<JsonObject> {
  return async (write) => {
    const bucket = await findBucket(write);
    await requireValid(await schemaOf(bucket, attribute), write, ['last_modified']);
    return write.attributes;
  };
}

/** Schemas and result of a validation of large attributes before the list was locked. */
interface Validated {
  readonly id: string;
  readonly collection: StoredObject | undefined;
  readonly bucket: StoredObject | undefined;
  readonly result: JsonObject;
}

const validated = new WeakMap<JsonObject, Validated>();

/** Validates by the schemas of the collection and of the bucket, and sets `schema` of the record to the collection's timestamp. */
export async function validateRecord(write: PendingWrite): Promise<JsonObject> {
  const { id, attributes } = write;
  const collection = await findCollection(write);
  const bucket = await findBucket(write);
  const before = validated.get(attributes);
  if (before?.id === id && isSameObject(before.collection, collection) && isSameObject(before.bucket, bucket)) {
    return before.result;
  }
  const schema = await schemaOf(collection, 'schema');
  const internalFields = ['last_modified', 'schema'];
  const byCollection = await requireValid(schema, write, internalFields);
  const byBucket = await requireValid(await schemaOf(bucket, 'record:schema'), write, internalFields);
  const marking = schema === undefined ? attributes : runFromNow(mark(attributes, collection!.lastModified), 'urgent');
  const result = marking instanceof Promise ? await marking : marking;
  // A long validation is not repeated under the lock.
  if (byCollection === 'in steps' || byBucket === 'in steps' || marking instanceof Promise) {
    validated.set(attributes, { id, collection, bucket, result });
  }
  return result;
}

function* mark(attributes: JsonObject, timestamp: number): Steps<JsonObject> {
  const marked: MutableJsonObject = {};
  yield* copyMembers(attributes, marked);
  setKey(marked, 'schema', timestamp);
  return marked;
}

function findBucket(write: PendingWrite): Promise<StoredObject | undefined> {
  return findToParse(write, { kind: 'bucket', parent: '' }, write.ids['bucket_id']!);
}

function findCollection(write: PendingWrite): Promise<StoredObject | undefined> {
  const { ids } = write;
  const list = { kind: 'collection', parent: uriBelow('', 'buckets', ids['bucket_id']!) };
  return findToParse(write, list, ids['collection_id']!);
}

async function schemaOf(object: StoredObject | undefined, attribute: string): Promise<JsonObject | undefined> {
  if (object === undefined) return undefined;
  const attributes = object.isLarge ? await runFromNow(object.read(), 'urgent') : object.attributes;
  const schema = getKey(attributes, attribute);
  return isJsonObject(schema) ? schema : undefined;
}

async function requireValid(
  schema: JsonObject | undefined,
  { attributes, id }: PendingWrite,
  internalFields: readonly string[],
): Promise<'at once' | 'in steps'> {
  if (schema === undefined) return 'at once';
  const validating = runFromNow(validateAgainst(schema, attributes, { internalFields, id }), 'urgent');
  const fault = validating instanceof Promise ? await validating : validating;
  if (fault !== undefined) {
    throw invalidParameters([{ location: 'body', name: fault.name, description: fault.description }]);
  }
  return validating instanceof Promise ? 'in steps' : 'at once';
}
