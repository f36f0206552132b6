// `/buckets/{bucket}/snapshot/collections/{collection}@{timestamp}` as a door to records: who may read all of them now may
// read them as they were. What they were like at instants of the past is compared by `past.test.ts`; here it is asked for
// the time before everything and after everything.
import { missing, uncached, type Expected } from './exchange.ts';
import { lastingChanges } from './history.ts';
import { compare } from './json.ts';
import { placeOf, type Place } from './places.ts';
import { requireGoodIds } from './refused-ids.ts';
import { mayAll } from './rights.ts';
import { refused, wholeOf, type Turn } from './turn.ts';

/** Later than every timestamp that there will be. */
export const endOfTime = 9_000_000_000_000;

interface Asked {
  /** The list of records. */
  readonly place: Place;
  readonly at: string;
}

/** What a path asks for; `undefined` when it is not about a snapshot. */
export function snapshotAt(path: string): Asked | undefined {
  const [, bucket, collection, at] = /^\/buckets\/([^/]+)\/snapshot\/collections\/([^/@]+)@([^/]+)$/.exec(path) ?? [];
  if (at === undefined) return undefined;
  return { place: placeOf(`/buckets/${bucket}/collections/${collection}/records`)!, at };
}

/** Whether the text is one that a snapshot can be asked for. */
export function isInstant(text: string): boolean {
  return /^\d{1,20}$/.test(text);
}

/** @throws Refusal */
export function answerSnapshot(turn: Turn, { place, at }: Asked): Expected {
  const { store, person, changes } = turn;
  requireGoodIds(turn, place, isInstant(at) ? [] : [['path', 'timestamp']]);
  if (!mayAll(store, person, place, 'read')) throw refused(person);
  const collection = place.collection!;
  const known = [...store.list(`/buckets/${place.bucket}/history`).live.values()];
  // In a batch, what it has done before counts although it is written down only at its end.
  const isDone = lastingChanges(changes).some(
    (change) => change.place.bucket === place.bucket && change.place.collection === collection,
  );
  const isKnown = isDone || known.some(({ data }) => data['collection_id'] === collection);
  const isThere = store.find(`/buckets/${place.bucket}/collections/${collection}`) !== undefined;
  if (!isThere && !isKnown) throw missing(111, collection, 'collection');
  const all = Number(at) >= endOfTime ? [...store.list(place.list).live] : [];
  const data = all
    .map(([id, item]) => wholeOf(id, item))
    .sort((a, b) => compare(b['last_modified'], a['last_modified']));
  return { status: 200, headers: uncached, body: { data } };
}
