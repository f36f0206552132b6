// Delivers the outboxes of one webhook in order. A lease prevents other processes from sending the same delivery. One
// transaction records the outcome of a delivery and takes the lease of the next.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../contracts/logger.ts';
import type { StorageWriter } from '../contracts/storage.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import type { ListParent } from '../core/objects/uris.ts';
import { runInUnit } from '../engine/retry.ts';
import type { Stores, UnitOfWork } from '../engine/unit-of-work.ts';
import type { WebhookOptions } from './options.ts';
import {
  moveToDeadLetters,
  deadKind,
  parseDelivery,
  pendingKind,
  readFirst,
  updateDelivery,
  removeDelivery,
  type Delivery,
} from './outbox.ts';
import type { Outcome, Sender } from './sender.ts';

export interface OutboxWorkerOptions {
  /** Name of the listener. */
  readonly name: string;
  readonly options: WebhookOptions;
  readonly stores: Stores;
  readonly sender: Pick<Sender, 'send'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** State of an outbox after processing. */
export type RemainingWork =
  | 'nothing'
  /** More deliveries are ready, but other outboxes come first. */
  | 'more'
  /** Time of the next attempt, in milliseconds since 1970 UTC. */
  | number;

/** One transaction on an outbox. */
interface Unit {
  readonly unit: UnitOfWork;
  readonly storage: StorageWriter;
  readonly list: ListKey;
}

/** Maximum number of deliveries before other outboxes are processed. */
const maxDeliveriesPerTurn = 20;

export class OutboxWorker {
  readonly #context: OutboxWorkerOptions;

  constructor(context: OutboxWorkerOptions) {
    this.#context = context;
  }

  /** Returns the parents of outboxes with deliveries. */
  findOutboxes(): Promise<readonly ListParent[]> {
    return this.#context.stores.storage.reader.listParents(pendingKind(this.#context.name));
  }

  /** Sends the deliveries of an outbox that are due. */
  async process(parent: ListParent, stop: AbortSignal): Promise<RemainingWork> {
    const { stores, sender } = this.#context;
    const list: ListKey = { kind: pendingKind(this.#context.name), parent };
    // Another process usually holds the lease, which is visible without a transaction.
    const seen = await readFirst(stores.storage.reader, list);
    const ready = seen === undefined ? 'nothing' : this.#readyAt(parseDelivery(seen));
    if (ready === 'nothing' || ready > this.#context.clock.now()) return ready;

    let leasedDelivery = await this.#write((storage) => this.#lease(storage, list));
    for (let turn = 1; ; turn++) {
      if (typeof leasedDelivery !== 'object') return leasedDelivery;
      const leased: Delivery = leasedDelivery;
      const outcome = await sender.send(leased, stop);
      const goesOn = turn < maxDeliveriesPerTurn && !stop.aborted && outcome.kind !== 'aborted';
      leasedDelivery = await this.#write(async (storage, unit) => {
        const isCurrent = await this.#recordOutcome({ storage, unit, list }, leased, outcome);
        return goesOn && isCurrent ? this.#lease(storage, list) : 'more';
      });
    }
  }

  /**
   * Returns the earliest time of the next attempt. Times that no process could set now are of a clock that was wrong, and do
   * not count. The clocks of processes may differ by the duration of a lease.
   */
  #readyAt({ due, heldUntil }: Delivery): number {
    const { clock, options } = this.#context;
    const latestLease = clock.now() + 2 * options.leaseMs;
    const latestRetry = clock.now() + options.retryMaxMs + options.leaseMs;
    return Math.max(due > latestRetry ? 0 : due, heldUntil > latestLease ? 0 : heldUntil);
  }

  /** Takes the lease of the first delivery if it is due and free. */
  async #lease(storage: StorageWriter, list: ListKey): Promise<Delivery | RemainingWork> {
    await storage.lock(list);
    const stored = await readFirst(storage, list);
    if (stored === undefined) return 'nothing';
    const delivery = parseDelivery(stored);
    const now = this.#context.clock.now();
    const ready = this.#readyAt(delivery);
    if (ready > now) return ready;
    const lease = { holder: randomUUID(), heldUntil: now + this.#context.options.leaseMs };
    await updateDelivery(storage, list, stored, lease);
    return { ...delivery, ...lease };
  }

  /** Records the outcome of an attempt. Returns `false` if another process has taken over the delivery. */
  async #recordOutcome(unit: Unit, leased: Delivery, outcome: Outcome): Promise<boolean> {
    const { storage, list } = unit;
    const { object: stored } = await storage.lock(list, leased.id);
    if (stored === undefined || parseDelivery(stored).holder !== leased.holder) return false;
    const free = { holder: '', heldUntil: 0 };
    switch (outcome.kind) {
      case 'delivered':
        await removeDelivery(storage, list, leased.id);
        return true;
      case 'aborted':
        await updateDelivery(storage, list, stored, free);
        return true;
      case 'failed':
        await this.#fail(unit, { stored, leased, outcome });
        return true;
    }
  }

  async #fail(
    { storage, unit, list }: Unit,
    { stored, leased, outcome }: { stored: StoredObject; leased: Delivery; outcome: Outcome & { kind: 'failed' } },
  ): Promise<void> {
    const { name, options, clock, logger } = this.#context;
    const now = clock.now();
    const attempts = leased.attempts + 1;
    const { reason } = outcome;
    const fields = { listener: name, delivery: leased.id, outbox: list.parent, attempts, reason };
    if (attempts >= options.maxAttempts || now - leased.created >= options.maxAgeMs) {
      await removeDelivery(storage, list, leased.id);
      const dead: ListKey = { kind: deadKind(name), parent: list.parent };
      const deadLetters = await moveToDeadLetters(storage, dead, stored, {
        attempts,
        reason,
        maxDeadLetters: options.maxDeadLetters,
      });
      unit.afterCommit(() => logger.error({ ...fields, deadLetters }, 'A webhook delivery was given up'));
      return;
    }
    const due = now + delayOf(attempts, outcome.retryAfterMs, options);
    await updateDelivery(storage, list, stored, { holder: '', heldUntil: 0, attempts, due, reason });
    const retryInMs = due - now;
    unit.afterCommit(() => logger.warn({ ...fields, retryInMs }, 'A webhook delivery failed and will be retried'));
  }

  /** Runs work in a transaction, and retries it after a conflict. */
  #write<T>(work: (storage: StorageWriter, unit: UnitOfWork) => Promise<T>): Promise<T> {
    const { stores, logger } = this.#context;
    return runInUnit(stores, logger, async (unit) => work((await unit.writer()).storage, unit));
  }
}

/** Returns the delay before a retry: exponential, with a random part that spreads simultaneous retries. */
function delayOf(
  attempts: number,
  retryAfterMs: number | undefined,
  { retryMinMs, retryMaxMs }: Pick<WebhookOptions, 'retryMinMs' | 'retryMaxMs'>,
): number {
  const longest = Math.min(retryMinMs * 2 ** (attempts - 1), retryMaxMs);
  const own = Math.round(longest * (0.75 + Math.random() * 0.25));
  return Math.max(own, Math.min(retryAfterMs ?? 0, retryMaxMs));
}
