// Adds up what a request has changed, for each bucket and each collection it touched.
import type { Change } from '../../engine/kind.ts';
import { add, noUsage, subtract, type Usage } from './counters.ts';
import { sizeOf } from './size.ts';

/** What a request did to one bucket or collection. */
export interface UsageChange {
  readonly uri: string;
  readonly bucketId: string;
  readonly collectionId: string | undefined;
  /** How much more there is now, compared with the stored counter. */
  readonly change: Usage;
  /** Whether anything was created or updated, and not only deleted. */
  readonly hasWrites: boolean;
  /** Whether it is gone, and its counter with it. */
  readonly isGone: boolean;
}

type MutableUsageChange = { -readonly [K in keyof UsageChange]: UsageChange[K] };

/**
 * Tallies of all buckets and collections that changes touched.
 *
 * @param changes in the order in which they happened
 * @param countedIn what the stored counter of a collection said when this change deleted it
 */
export function computeUsageChanges(
  changes: readonly Change[],
  countedIn: (deletion: Change) => Usage,
): readonly UsageChange[] {
  const usageChanges = new Map<string, MutableUsageChange>();
  const open = (uri: string, bucketId: string, collectionId?: string): MutableUsageChange => {
    let usageChange = usageChanges.get(uri);
    if (usageChange === undefined) {
      usageChange = { uri, bucketId, collectionId, change: noUsage, hasWrites: false, isGone: false };
      usageChanges.set(uri, usageChange);
    }
    return usageChange;
  };
  for (const change of changes) {
    const { kind, action, ids } = change;
    const bucketId = ids['bucket_id']!;
    const uri = `/buckets/${bucketId}`;
    if (kind === 'bucket' && action === 'delete') {
      forget(usageChanges, uri);
      continue;
    }
    const bucket = open(uri, bucketId);
    const collectionId = ids['collection_id'];
    const collection =
      collectionId === undefined ? undefined : open(`${uri}/collections/${collectionId}`, bucketId, collectionId);
    if (kind === 'collection' && action === 'delete') {
      // Everything that was counted in it goes with it, what this request has put there included.
      const lost = add(countedIn(change), collection!.change);
      bucket.change = subtract(bucket.change, { ...lost, collections: 1 });
      Object.assign(collection!, { change: noUsage, hasWrites: false, isGone: true });
      continue;
    }
    const usage = usageOf(change);
    bucket.change = add(bucket.change, usage);
    bucket.hasWrites ||= action !== 'delete';
    if (collection === undefined) continue;
    collection.change = add(collection.change, { ...usage, collections: 0 });
    collection.hasWrites ||= action !== 'delete';
    collection.isGone = false;
  }
  return [...usageChanges.values()];
}

/** A bucket that is deleted takes everything along that was counted in it. */
function forget(usageChanges: Map<string, MutableUsageChange>, bucketUri: string): void {
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
