// Keeps the counters right and the limits kept: once for each request, inside its transaction, when all is done.
import { ServiceError } from '../../core/errors.ts';
import type { ListKey, StoredObject } from '../../core/objects/stored.ts';
import { compareLists } from '../../core/objects/list-order.ts';
import type { Change } from '../../engine/events/event.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import {
  add,
  bucketCounter,
  collectionCounter,
  counterGate,
  counterList,
  formatAmounts,
  nothing,
  parseAmounts,
  type Amounts,
} from './counters.ts';
import type { QuotaLimits } from './limits.ts';
import { sizeOf } from './size.ts';
import { tallyChanges, type Tally } from './tally.ts';

export class QuotaKeeper {
  readonly #limits: QuotaLimits;
  /** What was counted in collections at the moment of their deletion. */
  readonly #lost = new WeakMap<Change, Amounts>();

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** Remembers what is counted in a collection that is being deleted, while its counter is still there. */
  async rememberCollection(deletion: Change, unit: UnitOfWork): Promise<void> {
    const { storage } = await unit.writer();
    const { object } = await storage.lock(counterList(deletion.uri), collectionCounter);
    this.#lost.set(deletion, parseAmounts(object));
  }

  /**
   * Counts what a request has changed.
   *
   * @throws ServiceError insufficientStorage when a limit is exceeded; nothing of the request is kept then
   */
  async count(changes: readonly Change[], unit: UnitOfWork): Promise<void> {
    for (const change of changes) this.#requireSmall(change);
    const tallies = tallyChanges(changes, (deletion) => this.#lost.get(deletion) ?? nothing)
      .filter(({ isGone }) => !isGone)
      .map((tally) => ({ ...tally, list: counterList(tally.uri) }))
      .toSorted((a, b) => compareLists(a.list, b.list));
    if (tallies.length === 0) return;
    const { storage } = await unit.writer();
    const gates = [...new Set(tallies.map(({ bucketId }) => bucketId))].map((id) => counterGate(`/buckets/${id}`));
    // Sent together; locks are taken in the order in which they were asked for.
    const [, states] = await Promise.all([
      Promise.all(gates.toSorted(compareLists).map((gate) => storage.lock(gate))),
      Promise.all(tallies.map(({ list, ...tally }) => storage.lock(list, counterId(tally)))),
    ]);
    const writes: Promise<StoredObject>[] = [];
    const update = (list: ListKey, id: string, amounts: Amounts): void => {
      writes.push(storage.update(list, id, formatAmounts(id, amounts)));
    };
    for (const [index, tally] of tallies.entries()) {
      const amounts = add(parseAmounts(states[index]!.object), tally.change);
      if (tally.hasWrites) this.#requireWithin(tally, amounts);
      update(tally.list, counterId(tally), amounts);
    }
    await Promise.all(writes);
  }

  /** @throws ServiceError insufficientStorage */
  #requireSmall({ kind, action, ids, new: entry }: Change): void {
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
  #requireWithin({ bucketId, collectionId }: Tally, { records, size }: Amounts): void {
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

function counterId({ collectionId }: Pick<Tally, 'collectionId'>): string {
  return collectionId === undefined ? bucketCounter : collectionCounter;
}

function exceeded(message: string): ServiceError {
  return new ServiceError('insufficientStorage', { message });
}
