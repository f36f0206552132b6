// Copies the records of one collection to another. Only records that differ are written.
import { storedId } from '../../core/objects/object-id.ts';
import { isTombstone, type ListKey, type StoredObject } from '../../core/objects/stored.ts';
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
}

/** Locks both collections until the end of the request and returns how they differ. */
export function compareRecords({ actor, pending }: Work, from: CollectionId, to: CollectionId): Promise<Difference> {
  return pending.difference([from, to], async () => {
    const { storage } = await actor.unit.writer();
    const lists = { from: recordsOf(from), to: recordsOf(to) };
    await storage.lock(lists.from);
    await storage.lock(lists.to);
    return compareLists({ storage, requireRoom: roomFor(actor, 'show') }, lists);
  });
}

/** Copies the records that differ, in the order in which they were written. */
export async function copyRecords(work: Work, from: CollectionId, to: CollectionId): Promise<void> {
  const { put, removed } = await compareRecords(work, from, to);
  const inOrder = put.toSorted((a, b) => a.lastModified - b.lastModified);
  await applySteps(work, { to, from }, [...removed.map(deletionOf), ...inOrder]);
}

/** Deletes all records and leaves tombstones for clients that synchronise. */
export async function removeRecords(work: Work, id: CollectionId): Promise<void> {
  const { actor } = work;
  const { storage } = await actor.unit.writer();
  await storage.lock(recordsOf(id));
  const ids = await readIds({ storage, requireRoom: roomFor(actor, 'show') }, recordsOf(id));
  await applySteps(work, { to: id }, ids.map(deletionOf));
}

function deletionOf(id: string): CopyStep {
  return { id, bytes: undefined };
}

/**
 * Applies the steps in their order. Copies get new timestamps: clients look for what was published since they last did, and
 * an original may be much older than its publication.
 */
async function applySteps(
  { service, actor, pending }: Work,
  { to, from }: { readonly to: CollectionId; readonly from?: CollectionId },
  steps: readonly CopyStep[],
): Promise<void> {
  if (steps.length > 0) pending.forgetDifferences();
  const { ids } = collectionPlace(service.host.objects, to);
  for (const some of inGroups(steps)) {
    const originals = from === undefined ? noObjects : await readObjects(actor, recordsOf(from), some);
    for (const step of some) {
      const place = { kind: 'record', ids: { ...ids, record_id: storedId(step.id) } };
      if (step.bytes === undefined) await service.host.objects.remove(actor, place);
      else {
        const { attributes } = originals.get(step.id)!;
        const copied = from === undefined ? {} : { copiedFrom: `${placeUri(from)}/records/${step.id}` };
        const write = { attributes: () => attributes, isVerbatim: true, ...copied };
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
