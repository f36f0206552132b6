// JSON Schema validation of objects about to be written: records by their collection and their bucket, collections and
// groups by their bucket. Part of the kinds only where the setting asks for it.
import { getKey, isJsonObject, setKey, type JsonObject, type MutableJsonObject } from '../base/json.ts';
import { invalidParameters } from '../core/errors.ts';
import type { StoredObject } from '../core/objects/stored.ts';
import { validateAgainst } from '../core/schema/validate.ts';
import type { PendingWrite } from '../engine/kind.ts';

/** Validates by an attribute of the bucket, such as `group:schema`. */
export function validateByBucket(attribute: string): (write: PendingWrite) => Promise<JsonObject> {
  return async (write) => {
    requireValid(schemaOf(await findBucket(write), attribute), write, ['last_modified']);
    return write.attributes;
  };
}

/** Validates by the schema of the collection, then by that of the bucket, and marks the record with the schema's age. */
export async function validateRecord(write: PendingWrite): Promise<JsonObject> {
  const collection = await findCollection(write);
  const schema = schemaOf(collection, 'schema');
  const internalFields = ['last_modified', 'schema'];
  requireValid(schema, write, internalFields);
  requireValid(schemaOf(await findBucket(write), 'record:schema'), write, internalFields);
  if (schema === undefined) return write.attributes;
  const marked: MutableJsonObject = { ...write.attributes };
  setKey(marked, 'schema', collection!.lastModified);
  return marked;
}

function findBucket({ ids, session }: PendingWrite): Promise<StoredObject | undefined> {
  return session.reader.storage.get({ kind: 'bucket', parent: '' }, ids['bucket_id']!);
}

function findCollection({ ids, session }: PendingWrite): Promise<StoredObject | undefined> {
  const list = { kind: 'collection', parent: `/buckets/${ids['bucket_id']}` };
  return session.reader.storage.get(list, ids['collection_id']!);
}

function schemaOf(object: StoredObject | undefined, attribute: string): JsonObject | undefined {
  const schema = object === undefined ? undefined : getKey(object.attributes, attribute);
  return isJsonObject(schema) ? schema : undefined;
}

function requireValid(
  schema: JsonObject | undefined,
  { attributes, id }: PendingWrite,
  internalFields: readonly string[],
): void {
  if (schema === undefined) return;
  const fault = validateAgainst(schema, { ...attributes, id }, { internalFields });
  if (fault !== undefined) {
    throw invalidParameters([{ location: 'body', name: fault.name, description: fault.description }]);
  }
}
