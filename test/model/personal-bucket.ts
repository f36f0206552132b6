// `/buckets/default`: another name for a bucket of one's own, which comes into being when it is used. endpoints.md §8.
import { missing, Refusal, requireNone, type Issue } from './exchange.ts';
import { placeOf, uriOf, type Place } from './places.ts';
import { badIds } from './refused-ids.ts';
import { recordOfAttachment } from './attachments.ts';
import { mayCreate } from './rights.ts';
import { isInstant, snapshotAt } from './snapshots.ts';
import { refused, wholeOf, type Turn } from './turn.ts';

const alias = '/buckets/default';

/** The path that a path stands for. What a request takes for granted is created. */
export function resolveAlias(turn: Turn, path: string, personalId: string | undefined): string {
  if (path !== alias && !path.startsWith(`${alias}/`)) return path;
  const { store, person, ask } = turn;
  if (person.id === undefined || personalId === undefined) throw refused(person);
  const below = path.slice(alias.length);
  const real = `/buckets/${personalId}${below}`;
  const parts = below.split('/');
  if (parts[2] === 'default' || (parts.length > 3 && parts.at(-1) === 'default')) {
    throw new Refusal(400, 107, [{ location: 'path', name: null }]);
  }
  // Everything below belongs to the caller, who may learn what is wrong.
  requireNone(badIdsAt(real));
  const bucket = placeOf(`/buckets/${personalId}`)!;
  if (ask.method === 'DELETE') {
    if (store.find(uriOf(bucket)) !== undefined) return real;
    throw missing(below === '' ? 110 : 111, personalId, 'bucket');
  }
  const collection = parts[1] === 'collections' && parts[2] !== undefined ? parts[2] : undefined;
  if (ask.method !== 'PUT' || below !== '') createMissing(turn, bucket);
  if (collection !== undefined && (ask.method !== 'PUT' || parts.length > 3)) {
    const place = placeOf(`${uriOf(bucket)}/collections/${collection}`)!;
    // After a deletion the bucket may be that of another user.
    if (mayCreate(store, person, place)) createMissing(turn, place);
  }
  return real;
}

function badIdsAt(path: string): readonly Issue[] {
  const snapshot = snapshotAt(path);
  const more: readonly Issue[] = snapshot === undefined || isInstant(snapshot.at) ? [] : [['path', 'timestamp']];
  const place = snapshot?.place ?? recordOfAttachment(path) ?? placeOf(path);
  return place === undefined ? [] : [...badIds(place), ...more];
}

function createMissing({ store, person, now, record }: Turn, place: Place): void {
  const uri = uriOf(place);
  if (store.find(uri) !== undefined) return;
  const item = store.put(place.list, place.id!, {}, now);
  store.setEntries(uri, new Map([['write', new Set([person.id!])]]));
  record({ action: 'create', place, data: wholeOf(place.id!, item), entries: store.entriesOf(uri) });
}
