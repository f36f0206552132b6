// Keeps the counters right and the limits kept: once for each request, inside its transaction, when all is done.
import { ServiceError } from '../../core/errors.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import type { Change } from '../../engine/kind.ts';
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
  /** What was counted in collections at the moment of their deletion. */
  readonly #lost = new WeakMap<Change, Usage>();

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** Remembers what is counted in a collection that is being deleted, while its counter is still there. */
  async saveDeletedUsage(deletion: Change, unit: UnitOfWork): Promise<void> {
    const { storage } = await unit.writer();
    const { object } = await storage.lock(counterList(deletion.uri), collectionCounter);
    this.#lost.set(deletion, parseUsage(object));
  }

  /**
   * Counts what a request has changed.
   *
   * @throws ServiceError insufficientStorage when a limit is exceeded; noUsage of the request is kept then
   */
  async count(changes: readonly Change[], unit: UnitOfWork): Promise<void> {
    for (const change of changes) this.#requireObjectWithin(change);
    const usageChanges = computeUsageChanges(changes, (deletion) => this.#lost.get(deletion) ?? noUsage)
      .filter(({ isGone }) => !isGone)
      .map((usageChange) => ({ ...usageChange, list: counterList(usageChange.uri) }))
      .toSorted((a, b) => compareLists(a.list, b.list));
    if (usageChanges.length === 0) return;
    const { storage } = await unit.writer();
    const locks = [...new Set(usageChanges.map(({ bucketId }) => bucketId))].map((id) => counterLock(`/buckets/${id}`));
    // Sent together; locks are taken in the order in which they were asked for.
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
      if (usageChange.hasWrites) this.#requireWithin(usageChange, usage);
      update(usageChange.list, counterId(usageChange), usage);
    }
    await Promise.all(writes);
  }

  /** @throws ServiceError insufficientStorage */
  #requireObjectWithin({ kind, action, ids, new: entry }: Change): void {
    if (action === 'delete') return;
    const bucketId = ids['bucket_id']!;
    const collectionId = ids['collection_id'];
    const ofCollection = collectionId === undefined ? undefined : this.#limits.ofCollection(bucketId, collectionId);
    const limit = ofCollection?.maxBytesPerItem ?? this.#limits.ofBucket(bucketId).maxBytesPerItem;
    if (limit === undefined) return;
    const size = sizeOf(entry);
    if (size > limit) throw exceeded(`The ${kind} has ${size} bytes, ${limit} are allowed.`);
  }

  /** @throws ServiceError insufficientStorage */
  #requireWithin({ bucketId, collectionId }: UsageChange, { records, size }: Usage): void {
    const isBucket = collectionId === undefined;
    const { maxBytes, maxItems } = isBucket
      ? this.#limits.ofBucket(bucketId)
      : this.#limits.ofCollection(bucketId, collectionId);
    const name = isBucket ? 'bucket' : 'collection';
    if (maxBytes !== undefined && size > maxBytes) {
      throw exceeded(`The ${name} would have ${size} bytes, ${maxBytes} are allowed.`);
    }
    if (maxItems !== undefined && records > maxItems) {
      throw exceeded(`The ${name} would have ${records} records, ${maxItems} are allowed.`);
    }
  }
}

function counterId({ collectionId }: Pick<UsageChange, 'collectionId'>): string {
  return collectionId === undefined ? bucketCounter : collectionCounter;
}

function exceeded(message: string): ServiceError {
  return new ServiceError('insufficientStorage', { message });
}
