// The JSON Schemas that the records of a collection must pass: that of the collection, and that of its bucket.
import type { Api } from './api.ts';
import { memberText } from './json-text.ts';
import { loadObject, type StoredObject } from './objects.ts';
import { pathOf, type Place } from './places.ts';
import type { Service } from './service.ts';

/** Returns the schemas as JSON texts; none when the service does not validate. */
export async function schemasOf(
  api: Api,
  service: Service,
  place: Place,
  collection: StoredObject | undefined,
): Promise<readonly string[]> {
  if (!service.capabilities.has('schema')) return [];
  const ofBucket = await bucketSchema(api, place);
  const own = collection === undefined ? undefined : memberText(collection.data, 'schema');
  return [own, ofBucket].filter((schema) => schema?.startsWith('{') === true).map(String);
}

/** Returns the schema of a bucket for records; `undefined` without one, or when the user may not read the bucket. */
export async function bucketSchema(api: Api, place: Place): Promise<string | undefined> {
  const bucket = await loadObject(api, pathOf(place.slice(0, 1))).catch(() => undefined);
  return bucket === undefined ? undefined : memberText(bucket.data, 'record:schema');
}
