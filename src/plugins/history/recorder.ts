// Writes the history: one entry for each change of a request in the list of its bucket, in the order of the changes and
// in the same transaction.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { pause } from '../../base/steps.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import { storedUri, uriBelow, type ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { compareText } from '../../core/query/compare.ts';
import { anonymous } from '../../engine/caller.ts';
import type { CompiledKind } from '../../engine/compiled-kind.ts';
import type { Change } from '../../engine/events/event.ts';
import type { UnitOfWork, Writer } from '../../engine/unit-of-work.ts';
import { formatHistoryEntry } from './history-entry.ts';
import { bucketUri, isWithin } from './object-uris.ts';
import { trimHistory, type TrimOptions } from './trim.ts';

/** Exclusions from the history. */
export interface RecordedScope {
  /** URIs of objects without history, including everything in them. */
  readonly excludedUris: ReadonlySet<string>;
  /** Ids of users whose changes are not recorded. */
  readonly excludedUserIds: ReadonlySet<string>;
}

export interface RecorderOptions extends RecordedScope {
  readonly clock: Clock;
  /** Whether entries get the read permissions that the object has at the time of the change. */
  readonly explicitPermissions: boolean;
  readonly trim: TrimOptions;
}

/** Records all changes of a request. */
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

/**
 * Returns the changes to record by URI of the bucket. The deletion of a bucket discards its earlier changes, because
 * its history is deleted too.
 */
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

function isRecorded({ excludedUris, excludedUserIds }: RecordedScope, change: Change): boolean {
  const { userId } = change.caller;
  if (userId !== undefined && excludedUserIds.has(userId)) return false;
  return !isWithin(change, excludedUris);
}

/** Number of changes that are recorded before other requests run. */
const changesPerTurn = 500;

async function recordInBucket(
  kind: CompiledKind,
  { clock, explicitPermissions, trim }: RecorderOptions,
  changes: readonly Change[],
  { storage, permission }: Writer,
): Promise<void> {
  const { ids } = changes[0]!;
  const list = kind.listKey(ids, anonymous);
  const now = clock.now();
  // Sent together, because only the entries depend on the lock.
  const [, readers] = await Promise.all([
    storage.lock(list),
    explicitPermissions ? findReaders(changes, permission) : undefined,
  ]);
  const uri = kind.listUri(ids);
  for (let start = 0; start < changes.length; start += changesPerTurn) {
    if (start > 0) await pause('urgent');
    const entries = changes
      .slice(start, start + changesPerTurn)
      .map((change) => ({ id: randomUUID(), change, text: formatHistoryEntry(change, now) }));
    await storage.createAll(list, entries);
    if (readers === undefined) continue;
    await permission.addToAces(
      entries.map(({ id, change }) => ({
        objectId: storedUri(`${uri}/${id}`),
        permissions: { read: [...readers(change)] },
      })),
      { isFresh: true },
    );
  }
  await trimHistory(kind, trim, changes, { storage, permission });
}

/**
 * Returns a function from a change to the readers of its entry: the principals that can read or write the bucket, the
 * collection or the object at this time.
 */
async function findReaders(
  changes: readonly Change[],
  permission: Writer['permission'],
): Promise<(change: Change) => ReadonlySet<Principal>> {
  const uris = [...new Set(changes.flatMap(parentUris))];
  const found = await permission.getObjectsPermissions(uris, ['read', 'write']);
  const byUri = new Map(uris.map((uri, index) => [uri, found[index]!]));
  return (change) => {
    const parents = parentUris(change).flatMap((uri) => principalsOf(byUri.get(uri) ?? {}));
    return new Set([...parents, ...principalsOf(change.permissions)]);
  };
}

function parentUris({ ids }: Change): readonly ObjectUri[] {
  const bucket = bucketUri(ids);
  const collection = ids['collection_id'];
  return collection === undefined ? [bucket] : [bucket, uriBelow(bucket, 'collections', collection)];
}

function principalsOf({ read = [], write = [] }: ObjectPermissions): readonly Principal[] {
  return [...read, ...write];
}
