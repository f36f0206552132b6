// Adds up what a request has changed, for each bucket and each collection it touched.
import type { Change } from '../../engine/events/event.ts';
import { add, nothing, subtract, type Amounts } from './counters.ts';
import { sizeOf } from './size.ts';

/** What a request did to one bucket or collection. */
export interface Tally {
  readonly uri: string;
  readonly bucketId: string;
  readonly collectionId: string | undefined;
  /** How much more there is now, compared with the stored counter. */
  readonly change: Amounts;
  /** Whether anything was created or updated, and not only deleted. */
  readonly hasWrites: boolean;
  /** Whether it is gone, and its counter with it. */
  readonly isGone: boolean;
}

type MutableTally = { -readonly [K in keyof Tally]: Tally[K] };

/**
 * Tallies of all buckets and collections that changes touched.
 *
 * @param changes in the order in which they happened
 * @param countedIn what the stored counter of a collection said when this change deleted it
 */
export function tallyChanges(changes: readonly Change[], countedIn: (deletion: Change) => Amounts): readonly Tally[] {
  const tallies = new Map<string, MutableTally>();
  const open = (uri: string, bucketId: string, collectionId?: string): MutableTally => {
    let tally = tallies.get(uri);
    if (tally === undefined) {
      tally = { uri, bucketId, collectionId, change: nothing, hasWrites: false, isGone: false };
      tallies.set(uri, tally);
    }
    return tally;
  };
  for (const change of changes) {
    const { kind, action, ids } = change;
    const bucketId = ids['bucket_id']!;
    const uri = `/buckets/${bucketId}`;
    if (kind === 'bucket' && action === 'delete') {
      forget(tallies, uri);
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
      Object.assign(collection!, { change: nothing, hasWrites: false, isGone: true });
      continue;
    }
    const amounts = amountsOf(change);
    bucket.change = add(bucket.change, amounts);
    bucket.hasWrites ||= action !== 'delete';
    if (collection === undefined) continue;
    collection.change = add(collection.change, { ...amounts, collections: 0 });
    collection.hasWrites ||= action !== 'delete';
    collection.isGone = false;
  }
  return [...tallies.values()];
}

/** A bucket that is deleted takes everything along that was counted in it. */
function forget(tallies: Map<string, MutableTally>, bucketUri: string): void {
  for (const uri of tallies.keys()) if (uri === bucketUri || uri.startsWith(`${bucketUri}/`)) tallies.delete(uri);
}

function amountsOf({ kind, action, old, new: entry }: Change): Amounts {
  const count = action === 'create' ? 1 : action === 'delete' ? -1 : 0;
  return {
    collections: kind === 'collection' ? count : 0,
    records: kind === 'record' ? count : 0,
    size: sizeOf(entry) - sizeOf(old),
  };
}
