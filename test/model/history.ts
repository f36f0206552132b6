// The history plugin: every change of a request becomes an entry in the list of its bucket, when the request is done.
// plugins.md §1.
import type { JsonMap } from './json.ts';
import { idsOf, uriOf } from './places.ts';
import type { QueryRules } from './query.ts';
import type { Store } from './store.ts';
import { plainEntries, type Change } from './turn.ts';

/** The service draws the ids of entries. Until they are seen, they are called by names that begin with this. */
export const unseen = '?entry-';

const fields = ['uri', 'resource_name', 'action', 'date', 'user_id', 'target'];
const ids = ['id', 'bucket_id', 'group_id', 'collection_id', 'record_id'];

export const historyRules: Omit<QueryRules, 'horizon'> = {
  knownFields: [...ids, ...fields, 'last_modified'],
  textFields: [...ids, 'target.data.id'],
};

/** What a request has changed and has to be written down. With a bucket goes what has happened in it before. */
export function lastingChanges(changes: readonly Change[]): readonly Change[] {
  return changes.filter(
    ({ place }, index) =>
      !changes
        .slice(index)
        .some(
          (later) => later.action === 'delete' && later.place.kind === 'bucket' && later.place.bucket === place.bucket,
        ),
  );
}

/** Writes down what a request has changed, in order. */
export function recordHistory(store: Store, changes: readonly Change[], now: number): void {
  for (const change of lastingChanges(changes)) {
    const { place } = change;
    const list = `/buckets/${place.bucket}/history`;
    const id = `${unseen}${place.bucket}-after-${store.list(list).clock ?? 'nothing'}`;
    store.put(list, id, entryOf(change, now), now);
    store.setEntries(`${list}/${id}`, new Map([['read', readersOf(store, change)]]));
  }
}

function entryOf({ action, place, data, entries, userId }: Change, now: number): JsonMap {
  const known = Object.entries(idsOf(place)).filter(([name]) => place.kind === 'bucket' || name !== 'bucket_id');
  return {
    uri: uriOf(place),
    resource_name: place.kind,
    action,
    date: new Date(now).toISOString().replace('Z', '000+00:00'),
    user_id: userId ?? null,
    ...Object.fromEntries(known),
    target: { data, permissions: plainEntries(entries) },
  };
}

/** Those who may read the bucket, the collection or the object at this time. */
function readersOf(store: Store, { place, entries }: Change): ReadonlySet<string> {
  const bucket = `/buckets/${place.bucket}`;
  const parents = place.collection === undefined ? [bucket] : [bucket, `${bucket}/collections/${place.collection}`];
  return new Set(
    [...parents.map((uri) => store.entriesOf(uri)), entries].flatMap((each) => [
      ...(each.get('read') ?? []),
      ...(each.get('write') ?? []),
    ]),
  );
}
