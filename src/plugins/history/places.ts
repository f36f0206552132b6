// The places that the settings leave out of the history: object URIs, and what a change has to do with them.
import { createUriParser, objectTemplate, type ObjectAddress } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import { list, type Reader } from '../../settings/readers.ts';

/** The kinds that have a history. */
export const recordedKinds: readonly string[] = ['bucket', 'group', 'collection', 'record'];

const parse = createUriParser([
  ['bucket', objectTemplate('bucket', '/buckets')],
  ['group', objectTemplate('group', '/buckets/{bucket_id}/groups')],
  ['collection', objectTemplate('collection', '/buckets/{bucket_id}/collections')],
  ['record', objectTemplate('record', '/buckets/{bucket_id}/collections/{collection_id}/records')],
]);

const form = 'URIs of buckets, groups, collections or records, such as /buckets/a/collections/b';

/** A list of URIs of objects that have a history. */
export function objectUris(): Reader<readonly string[]> {
  const words = list(form);
  return {
    form,
    read(given) {
      const reading = words.read(given);
      if (reading.kind !== 'value') return reading;
      const uris = reading.value.map((uri) => uri.replace(/(?<=.)\/$/, ''));
      const isRight = uris.every((uri) => parse(uri) !== undefined);
      return isRight ? { kind: 'value', value: uris } : { kind: 'wrong', expected: form };
    },
  };
}

/** The ids in a URI as the root view shows them: `{bucket: 'a', collection: 'b'}`. */
export function idsByKind(uri: string): Readonly<Record<string, string>> {
  const { ids }: ObjectAddress = parse(uri) ?? { kind: '', ids: {} };
  return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name.replace(/_id$/, ''), id]));
}

/** Whether the object, or what it lies in, is one of these. */
export function liesIn({ uri, ids }: Change, places: ReadonlySet<string>): boolean {
  if (places.size === 0) return false;
  const bucket = bucketUri(ids);
  return places.has(uri) || places.has(bucket) || places.has(`${bucket}/collections/${ids['collection_id']}`);
}

/** URI of the bucket that something lies in. */
export function bucketUri(ids: Change['ids']): string {
  return `/buckets/${ids['bucket_id']}`;
}
