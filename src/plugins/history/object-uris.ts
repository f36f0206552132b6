// URIs of objects with a history: their reader for settings, and tests whether a change is inside of one.
import { createUriParser, objectTemplate, uriBelow, type ObjectUri } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import { list, type Reader } from '../../settings/readers.ts';

/** The kinds of objects whose changes are recorded. */
export const recordedKinds: readonly string[] = ['bucket', 'group', 'collection', 'record'];

const parse = createUriParser([
  ['bucket', objectTemplate('bucket', '/buckets')],
  ['group', objectTemplate('group', '/buckets/{bucket_id}/groups')],
  ['collection', objectTemplate('collection', '/buckets/{bucket_id}/collections')],
  ['record', objectTemplate('record', '/buckets/{bucket_id}/collections/{collection_id}/records')],
]);

const form = 'URIs of buckets, groups, collections or records, such as /buckets/a/collections/b';

/** Reads a list of object URIs. */
export function objectUris(): Reader<readonly string[]> {
  const words = list(form);
  return {
    form,
    read(given) {
      const reading = words.read(given);
      if (reading.kind !== 'value') return reading;
      const uris = reading.value.map((uri) => uri.replace(/(?<=.)\/$/, ''));
      const areValid = uris.every((uri) => parse(uri) !== undefined);
      return areValid ? { kind: 'value', value: uris } : { kind: 'wrong', expected: form };
    },
  };
}

/** Returns the ids in a URI as the root view shows them: `{bucket: 'a', collection: 'b'}`. */
export function idsByKind(uri: string): Readonly<Record<string, string>> {
  const ids = parse(uri)?.ids ?? {};
  return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name.replace(/_id$/, ''), id]));
}

/** Returns whether the object or one of its parents is in the set. */
export function isWithin({ uri, ids }: Change, excludedUris: ReadonlySet<string>): boolean {
  if (excludedUris.size === 0) return false;
  const bucket = bucketUri(ids);
  return (
    excludedUris.has(uri) ||
    excludedUris.has(bucket) ||
    excludedUris.has(`${bucket}/collections/${ids['collection_id']}`)
  );
}

/** Returns the URI of the bucket of an object. */
export function bucketUri(ids: Change['ids']): ObjectUri {
  return uriBelow('', 'buckets', ids['bucket_id']!);
}
