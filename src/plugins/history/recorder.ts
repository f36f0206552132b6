// Writes the history: for every change of a request one entry in the list of its bucket, in the order in which things
// happened, inside the same transaction.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { compareText } from '../../core/query/compare.ts';
import { anonymous } from '../../engine/caller.ts';
import type { CompiledKind } from '../../engine/compiled-kind.ts';
import type { Change } from '../../engine/events/event.ts';
import type { UnitOfWork, Writer } from '../../engine/unit-of-work.ts';
import { formatHistoryEntry } from './entry.ts';
import { bucketUri, liesIn } from './places.ts';
import { trimHistory, type TrimOptions } from './trim.ts';

/** What is recorded at all. */
export interface RecordedScope {
  /** URIs of objects that have no history, nor has anything in them. */
  readonly excludedPlaces: ReadonlySet<string>;
  /** Those whose changes are not recorded. */
  readonly excludedUsers: ReadonlySet<string>;
}

export interface RecorderOptions extends RecordedScope {
  readonly clock: Clock;
  /** Whether those who may read the object now can go on reading the entry. */
  readonly explicitPermissions: boolean;
  readonly trim: TrimOptions;
}

/** Writes down all changes of a request. */
export async function recordChanges(
  kind: CompiledKind,
  options: RecorderOptions,
  changes: readonly Change[],
  unit: UnitOfWork,
): Promise<void> {
  const byBucket = changesToRecord(options, changes);
  if (byBucket.size === 0) return;
  const writer = await unit.writer();
  for (const bucket of [...byBucket.keys()].toSorted(compareText)) {
    await recordInBucket(kind, options, byBucket.get(bucket)!, writer);
  }
}

/** What is to be recorded, by URI of the bucket. With a bucket goes its history, and what has happened there before. */
export function changesToRecord(
  options: RecordedScope,
  changes: readonly Change[],
): ReadonlyMap<string, readonly Change[]> {
  const byBucket = new Map<string, Change[]>();
  for (const change of changes) {
    const bucket = bucketUri(change.ids);
    if (change.kind === 'bucket' && change.action === 'delete') {
      byBucket.delete(bucket);
    } else if (isRecorded(options, change)) {
      const known = byBucket.get(bucket);
      if (known === undefined) byBucket.set(bucket, [change]);
      else known.push(change);
    }
  }
  return byBucket;
}

function isRecorded({ excludedPlaces, excludedUsers }: RecordedScope, change: Change): boolean {
  const { userId } = change.caller;
  if (userId !== undefined && excludedUsers.has(userId)) return false;
  return !liesIn(change, excludedPlaces);
}

async function recordInBucket(
  kind: CompiledKind,
  { clock, explicitPermissions, trim }: RecorderOptions,
  changes: readonly Change[],
  { storage, permission }: Writer,
): Promise<void> {
  const { ids } = changes[0]!;
  const list = kind.listKey(ids, anonymous);
  const now = clock.now();
  const entries = changes.map((change) => ({ id: randomUUID(), change, text: formatHistoryEntry(change, now) }));
  // Sent together: nothing here depends on an answer but the entries on the lock.
  const [, readers] = await Promise.all([
    storage.lock(list),
    explicitPermissions ? findReaders(changes, permission) : undefined,
  ]);
  await storage.createAll(list, entries);
  if (readers !== undefined) {
    const uri = kind.listUri(ids);
    await permission.addToAces(
      entries.map(({ id, change }) => ({ objectId: `${uri}/${id}`, permissions: { read: [...readers(change)] } })),
      { isFresh: true },
    );
  }
  await trimHistory(kind, trim, changes, { storage, permission });
}

/**
 * Who may read the entry about a change: whoever may read or write the bucket, the collection or the object at this moment.
 */
async function findReaders(
  changes: readonly Change[],
  permission: Writer['permission'],
): Promise<(change: Change) => ReadonlySet<string>> {
  const uris = [...new Set(changes.flatMap(parentUris))];
  const found = await permission.getObjectsPermissions(uris, ['read', 'write']);
  const byUri = new Map(uris.map((uri, index) => [uri, found[index]!]));
  return (change) => {
    const parents = parentUris(change).flatMap((uri) => principalsOf(byUri.get(uri) ?? {}));
    return new Set([...parents, ...principalsOf(change.permissions)]);
  };
}

function parentUris({ ids }: Change): readonly string[] {
  const bucket = bucketUri(ids);
  const collection = ids['collection_id'];
  return collection === undefined ? [bucket] : [bucket, `${bucket}/collections/${collection}`];
}

function principalsOf({ read = [], write = [] }: ObjectPermissions): readonly string[] {
  return [...read, ...write];
}
