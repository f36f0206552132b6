// Copies the records of one collection to another. Only records that differ are written.
import type { StorageReader } from '../../contracts/storage.ts';
import { storedId } from '../../core/objects/object-id.ts';
import { isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
import { idField } from '../../core/query/fields.ts';
import { roomFor } from '../../engine/stored-work.ts';
import { walk } from '../../engine/walk.ts';
import { compareLists, readIds, type Difference } from './records.ts';
import { placeUri, type CollectionId } from './routes.ts';
import { collectionPlace, recordsOf, type Work } from './service.ts';

/** One write: a copy of the record, or its deletion. */
interface CopyStep {
  readonly id: string;
  /** Length of the copy in bytes; `undefined` deletes the record. */
  readonly bytes: number | undefined;
  /** Timestamp in the collection it is copied from; `undefined` when its tombstone was purged. */
  readonly lastModified: number | undefined;
}

/**
 * Copies the records that differ or were written since the last copy, even if their content is unchanged.
 *
 * @returns the difference before the copy
 */
export function publishRecords(work: Work, from: CollectionId, to: CollectionId): Promise<Difference> {
  return copyRecords(work, from, to, touchedOnes);
}

/** Copies the records that differ. Records with equal content are not written. */
export function restoreRecords(work: Work, from: CollectionId, to: CollectionId): Promise<Difference> {
  return copyRecords(work, from, to, differentOnes);
}

/** Which records count as different. */
interface Comparison {
  readonly name: string;
  readonly isTouched: (there: StoredObject, here: StoredObject) => boolean;
}

const differentOnes: Comparison = { name: 'different', isTouched: () => false };
const touchedOnes: Comparison = {
  name: 'touched',
  isTouched: (there, here) => there.lastModified > here.lastModified,
};

/** Locks both collections until the end of the request and returns how they differ. */
export function compareRecords(
  { actor, pending }: Work,
  from: CollectionId,
  to: CollectionId,
  { name, isTouched }: Comparison = differentOnes,
): Promise<Difference> {
  return pending.difference(name, [from, to], async () => {
    const { storage } = await actor.unit.writer();
    const lists = { from: recordsOf(from), to: recordsOf(to) };
    await storage.lock(lists.from);
    await storage.lock(lists.to);
    return compareLists({ storage, requireRoom: roomFor(actor, 'show') }, { ...lists, isTouched });
  });
}

async function copyRecords(
  work: Work,
  from: CollectionId,
  to: CollectionId,
  comparison: Comparison,
): Promise<Difference> {
  const difference = await compareRecords(work, from, to, comparison);
  const { storage } = await work.actor.unit.writer();
  const deletions = await readDeletions(storage, recordsOf(from), difference.removed);
  const lists = { to, from };
  await applySteps(work, lists, (await storage.resourceTimestamp(recordsOf(to))) ?? 0, [
    ...difference.put,
    ...difference.removed.map((id) => ({ id, bytes: undefined, lastModified: deletions.get(id) })),
  ]);
  return difference;
}

/** Deletes all records and leaves tombstones for clients that synchronise. */
export async function removeRecords(work: Work, id: CollectionId): Promise<void> {
  const { actor } = work;
  const { storage } = await actor.unit.writer();
  await storage.lock(recordsOf(id));
  const ids = await readIds({ storage, requireRoom: roomFor(actor, 'show') }, recordsOf(id));
  const steps = ids.map((record): CopyStep => ({ id: record, bytes: undefined, lastModified: undefined }));
  await applySteps(work, { to: id }, 0, steps);
}

/**
 * Applies the steps in the order of their timestamps. A copy keeps the timestamp of its original if that is above the
 * clock of the target, because clients that synchronise have seen everything up to the clock. Other copies come last
 * and get new timestamps.
 */
async function applySteps(
  { service, actor, pending }: Work,
  { to, from }: { readonly to: CollectionId; readonly from?: CollectionId },
  clock: number,
  steps: readonly CopyStep[],
): Promise<void> {
  if (steps.length > 0) pending.forgetDifferences();
  const timeOf = ({ lastModified = 0 }: CopyStep): number => (lastModified > clock ? lastModified : Infinity);
  const ordered = steps.toSorted((a, b) => (timeOf(a) === timeOf(b) ? 0 : timeOf(a) - timeOf(b)));
  const { ids } = collectionPlace(service.host.objects, to);
  for (const some of inGroups(ordered)) {
    const originals = from === undefined ? noObjects : await readObjects(actor, recordsOf(from), some);
    for (const step of some) {
      const place = { kind: 'record', ids: { ...ids, record_id: storedId(step.id) } };
      const lastModified = timeOf(step) === Infinity ? undefined : step.lastModified;
      if (step.bytes === undefined) await service.host.objects.remove(actor, place, { lastModified });
      else {
        const { attributes } = originals.get(step.id)!;
        const copied = from === undefined ? {} : { copiedFrom: `${placeUri(from)}/records/${step.id}` };
        const write = { attributes: () => attributes, lastModified, isVerbatim: true, ...copied };
        await service.host.objects.write(actor, place, write);
      }
    }
  }
}

const stepsAtOnce = 100;
const bytesAtOnce = 1_000_000;

/** Divides steps into groups of about a megabyte. */
function* inGroups(steps: readonly CopyStep[]): Generator<readonly CopyStep[]> {
  let group: CopyStep[] = [];
  let bytes = 0;
  for (const step of steps) {
    group.push(step);
    bytes += step.bytes ?? 0;
    if (group.length < stepsAtOnce && bytes < bytesAtOnce) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  if (group.length > 0) yield group;
}

const noObjects: ReadonlyMap<string, StoredObject> = new Map();

/** Reads the originals of the steps that copy. Their list is locked, so they are there. */
async function readObjects(
  actor: Work['actor'],
  list: ListKey,
  steps: readonly CopyStep[],
): Promise<ReadonlyMap<string, StoredObject>> {
  const ids = steps.filter(({ bytes }) => bytes !== undefined).map(({ id }) => id);
  const found = new Map<string, StoredObject>();
  if (ids.length === 0) return found;
  const { storage } = await actor.unit.writer();
  for await (const entries of walk(storage, list, { filters: [], ids }, roomFor(actor, 'show'))) {
    for (const entry of entries) if (!isTombstone(entry)) found.set(entry.id, entry);
  }
  return found;
}

const idsPerQuery = 200;

/** Returns the timestamps of the tombstones that still exist. */
async function readDeletions(
  storage: StorageReader,
  list: ListKey,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>();
  for (let start = 0; start < ids.length; start += idsPerQuery) {
    const some = ids.slice(start, start + idsPerQuery);
    const { entries } = await storage.listAll(list, {
      filters: [],
      ids: some,
      includeDeleted: true,
      sort: [{ field: idField, direction: 'ascending' }],
      limit: idsPerQuery,
    });
    for (const { id, lastModified } of entries) times.set(id, lastModified);
  }
  return times;
}
