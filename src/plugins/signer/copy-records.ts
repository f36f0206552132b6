// Copies the records of one collection to another. Only records that differ are written.
import type { StorageReader } from '../../contracts/storage.ts';
import type { JsonObject } from '../../base/json.ts';
import { storedId } from '../../core/objects/object-id.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { idField } from '../../core/query/fields.ts';
import { roomFor } from '../../engine/stored-work.ts';
import { compareLists, readIds, type Difference } from './records.ts';
import { placeUri, type CollectionId } from './routes.ts';
import { collectionPlace, recordsOf, type Work } from './service.ts';

/** One write: the attributes of the record, or its deletion. */
interface CopyStep {
  readonly id: string;
  readonly attributes: JsonObject | undefined;
  /** Timestamp in the collection it is copied from; `undefined` when its tombstone was purged. */
  readonly lastModified: number | undefined;
}

/**
 * Copies the records that differ or were written since the last copy, even if their content is unchanged.
 *
 * @returns the difference before the copy
 */
export function publishRecords(work: Work, from: CollectionId, to: CollectionId): Promise<Difference> {
  return copyRecords(work, from, to, (there, here) => there.lastModified > here.lastModified);
}

/** Copies the records that differ. Records with equal content are not written. */
export function restoreRecords(work: Work, from: CollectionId, to: CollectionId): Promise<Difference> {
  return copyRecords(work, from, to, () => false);
}

/** Locks both collections until the end of the request and returns how they differ. */
export async function compareRecords(
  { actor }: Work,
  from: CollectionId,
  to: CollectionId,
  isTouched: NonNullable<Parameters<typeof compareLists>[1]['isTouched']> = () => false,
): Promise<Difference> {
  const { storage } = await actor.unit.writer();
  const lists = { from: recordsOf(from), to: recordsOf(to) };
  await storage.lock(lists.from);
  await storage.lock(lists.to);
  return compareLists({ storage, requireRoom: roomFor(actor, 'show') }, { ...lists, isTouched });
}

async function copyRecords(
  work: Work,
  from: CollectionId,
  to: CollectionId,
  isTouched: Parameters<typeof compareRecords>[3],
): Promise<Difference> {
  const difference = await compareRecords(work, from, to, isTouched);
  const { storage } = await work.actor.unit.writer();
  const deletions = await readDeletions(storage, recordsOf(from), difference.removed);
  const lists = { to, from };
  await applySteps(work, lists, (await storage.resourceTimestamp(recordsOf(to))) ?? 0, [
    ...difference.put.map(({ id, attributes, lastModified }) => ({ id, attributes, lastModified })),
    ...difference.removed.map((id) => ({ id, attributes: undefined, lastModified: deletions.get(id) })),
  ]);
  return difference;
}

/** Deletes all records and leaves tombstones for clients that synchronise. */
export async function removeRecords(work: Work, id: CollectionId): Promise<void> {
  const { actor } = work;
  const { storage } = await actor.unit.writer();
  await storage.lock(recordsOf(id));
  const ids = await readIds({ storage, requireRoom: roomFor(actor, 'show') }, recordsOf(id));
  const steps = ids.map((record): CopyStep => ({ id: record, attributes: undefined, lastModified: undefined }));
  await applySteps(work, { to: id }, 0, steps);
}

/**
 * Applies the steps in the order of their timestamps. A copy keeps the timestamp of its original if that is above the
 * clock of the target, because clients that synchronise have seen everything up to the clock. Other copies come last
 * and get new timestamps.
 */
async function applySteps(
  { service, actor }: Work,
  { to, from }: { readonly to: CollectionId; readonly from?: CollectionId },
  clock: number,
  steps: readonly CopyStep[],
): Promise<void> {
  const timeOf = ({ lastModified = 0 }: CopyStep): number => (lastModified > clock ? lastModified : Infinity);
  const ordered = steps.toSorted((a, b) => (timeOf(a) === timeOf(b) ? 0 : timeOf(a) - timeOf(b)));
  const { ids } = collectionPlace(service.host.objects, to);
  for (const step of ordered) {
    const place = { kind: 'record', ids: { ...ids, record_id: storedId(step.id) } };
    const { attributes } = step;
    const lastModified = timeOf(step) === Infinity ? undefined : step.lastModified;
    if (attributes === undefined) await service.host.objects.remove(actor, place, { lastModified });
    else {
      const copied = from === undefined ? {} : { copiedFrom: `${placeUri(from)}/records/${step.id}` };
      const write = { attributes: () => attributes, lastModified, isVerbatim: true, ...copied };
      await service.host.objects.write(actor, place, write);
    }
  }
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
