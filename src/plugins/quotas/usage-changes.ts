// Sums the changes of a request by bucket and collection.
import { uriBelow, type ObjectUri } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import { add, noUsage, subtract, type Usage } from './counters.ts';
import { sizeOf } from './size.ts';

/** Change of usage of one bucket or collection in a request. */
export interface UsageChange {
  readonly uri: ObjectUri;
  readonly bucketId: string;
  readonly collectionId: string | undefined;
  /** Difference to the stored counter. */
  readonly change: Usage;
  /** Whether the bucket or collection was deleted, with its counter. */
  readonly isGone: boolean;
}

type MutableUsageChange = { -readonly [K in keyof UsageChange]: UsageChange[K] };

/**
 * Returns the changes of usage of all buckets and collections that a request touched.
 *
 * @param changes in chronological order
 * @param countedIn returns the stored usage of a collection at its deletion
 */
export function computeUsageChanges(
  changes: readonly Change[],
  countedIn: (deletion: Change) => Usage,
): readonly UsageChange[] {
  const usageChanges = new Map<ObjectUri, MutableUsageChange>();
  const open = (uri: ObjectUri, bucketId: string, collectionId?: string): MutableUsageChange => {
    let usageChange = usageChanges.get(uri);
    if (usageChange === undefined) {
      usageChange = { uri, bucketId, collectionId, change: noUsage, isGone: false };
      usageChanges.set(uri, usageChange);
    }
    return usageChange;
  };
  for (const change of changes) {
    const { kind, action, ids } = change;
    const bucketId = ids['bucket_id']!;
    const uri = uriBelow('', 'buckets', bucketId);
    if (kind === 'bucket' && action === 'delete') {
      forget(usageChanges, uri);
      continue;
    }
    const bucket = open(uri, bucketId);
    const collectionId = ids['collection_id'];
    const collection =
      collectionId === undefined ? undefined : open(uriBelow(uri, 'collections', collectionId), bucketId, collectionId);
    if (kind === 'collection' && action === 'delete') {
      // The deletion also removes what this request has created in the collection.
      const lost = add(countedIn(change), collection!.change);
      bucket.change = subtract(bucket.change, { ...lost, collections: 1 });
      Object.assign(collection!, { change: noUsage, isGone: true });
      continue;
    }
    const usage = usageOf(change);
    bucket.change = add(bucket.change, usage);
    if (collection === undefined) continue;
    collection.change = add(collection.change, { ...usage, collections: 0 });
    collection.isGone = false;
  }
  return [...usageChanges.values()];
}

function forget(usageChanges: Map<ObjectUri, MutableUsageChange>, bucketUri: ObjectUri): void {
  for (const uri of usageChanges.keys())
    if (uri === bucketUri || uri.startsWith(`${bucketUri}/`)) usageChanges.delete(uri);
}

function usageOf({ kind, action, old, new: entry }: Change): Usage {
  const count = action === 'create' ? 1 : action === 'delete' ? -1 : 0;
  return {
    collections: kind === 'collection' ? count : 0,
    records: kind === 'record' ? count : 0,
    size: sizeOf(entry) - sizeOf(old),
  };
}
