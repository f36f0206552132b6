// Updates the counters and enforces the limits, once at the end of each request, inside its transaction.
import { ServiceError } from '../../core/errors.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import { uriBelow } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import {
  add,
  bucketCounter,
  collectionCounter,
  counterLock,
  counterList,
  formatUsage,
  noUsage,
  parseUsage,
  type Usage,
} from './counters.ts';
import type { QuotaLimits } from './limits.ts';
import { sizeOf } from './size.ts';
import { computeUsageChanges, type UsageChange } from './usage-changes.ts';

export class QuotaEnforcement {
  readonly #limits: QuotaLimits;
  /** Usage of collections at the time of their deletion. */
  readonly #deletedUsage = new WeakMap<Change, Usage>();

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** Saves the usage of a collection that is being deleted, while its counter still exists. */
  async saveDeletedUsage(deletion: Change, unit: UnitOfWork): Promise<void> {
    const { storage } = await unit.writer();
    const { object } = await storage.lock(counterList(deletion.uri), collectionCounter);
    this.#deletedUsage.set(deletion, parseUsage(object));
  }

  /**
   * Counts the changes of a request. It may exceed a limit where it does not make the use larger, and where it only deletes.
   *
   * @throws ServiceError insufficientStorage when a limit is exceeded, which rolls back the request
   */
  async count(changes: readonly Change[], unit: UnitOfWork): Promise<void> {
    const mayExceed = isDeletion(changes);
    if (!mayExceed) for (const change of changes) this.#requireObjectWithin(change);
    const usageChanges = computeUsageChanges(changes, (deletion) => this.#deletedUsage.get(deletion) ?? noUsage)
      .filter(({ isGone }) => !isGone)
      .map((usageChange) => ({ ...usageChange, list: counterList(usageChange.uri) }))
      .toSorted((a, b) => compareLists(a.list, b.list));
    if (usageChanges.length === 0) return;
    const { storage } = await unit.writer();
    const locks = [...new Set(usageChanges.map(({ bucketId }) => bucketId))].map((id) =>
      counterLock(uriBelow('', 'buckets', id)),
    );
    // Sent together. Locks are taken in the order of the calls.
    const [, states] = await Promise.all([
      Promise.all(locks.toSorted(compareLists).map((lock) => storage.lock(lock))),
      Promise.all(usageChanges.map(({ list, ...usageChange }) => storage.lock(list, counterId(usageChange)))),
    ]);
    const writes: Promise<StoredObject>[] = [];
    const update = (list: ListKey, id: string, usage: Usage): void => {
      writes.push(storage.update(list, id, formatUsage(id, usage)));
    };
    for (const [index, usageChange] of usageChanges.entries()) {
      const usage = add(parseUsage(states[index]!.object), usageChange.change);
      if (!mayExceed) this.#requireWithin(usageChange, usage);
      update(usageChange.list, counterId(usageChange), usage);
    }
    await Promise.all(writes);
  }

  /** @throws ServiceError insufficientStorage */
  #requireObjectWithin({ kind, action, ids, old, new: entry }: Change): void {
    if (action === 'delete') return;
    const bucketId = ids['bucket_id']!;
    const collectionId = ids['collection_id'];
    const ofCollection = collectionId === undefined ? undefined : this.#limits.ofCollection(bucketId, collectionId);
    const limit = ofCollection?.maxBytesPerItem ?? this.#limits.ofBucket(bucketId).maxBytesPerItem;
    if (limit === undefined) return;
    const size = sizeOf(entry);
    if (size > limit && size > sizeOf(old)) throw exceeded(`The ${kind} has ${size} bytes. The limit is ${limit}.`);
  }

  /** @throws ServiceError insufficientStorage */
  #requireWithin({ bucketId, collectionId, change }: UsageChange, { records, size }: Usage): void {
    const isBucket = collectionId === undefined;
    const { maxBytes, maxItems } = isBucket
      ? this.#limits.ofBucket(bucketId)
      : this.#limits.ofCollection(bucketId, collectionId);
    const name = isBucket ? 'bucket' : 'collection';
    if (maxBytes !== undefined && change.size > 0 && size > maxBytes) {
      throw exceeded(`The ${name} would have ${size} bytes. The limit is ${maxBytes}.`);
    }
    if (maxItems !== undefined && change.records > 0 && records > maxItems) {
      throw exceeded(`The ${name} would have ${records} records. The limit is ${maxItems}.`);
    }
  }
}

/** Whether a request only deletes. What the service updates because of that, such as a status or a signature, may grow. */
function isDeletion(changes: readonly Change[]): boolean {
  return changes.every(({ action, isByService }) => action === 'delete' || (action === 'update' && isByService));
}

function counterId({ collectionId }: Pick<UsageChange, 'collectionId'>): string {
  return collectionId === undefined ? bucketCounter : collectionCounter;
}

function exceeded(message: string): ServiceError {
  return new ServiceError('insufficientStorage', { message });
}
