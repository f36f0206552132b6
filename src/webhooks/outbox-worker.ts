// Takes deliveries of one webhook out of their outboxes, one after the other for each: what it begins it holds by a
// lease, so that no other process delivers it too, and what it has ended leaves in the same transaction in which the
// next is begun.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../contracts/logger.ts';
import type { StorageWriter } from '../contracts/storage.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import { Retry } from '../engine/retry.ts';
import { UnitOfWork, type Stores } from '../engine/unit-of-work.ts';
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
  /** Of the listener. */
  readonly name: string;
  readonly options: WebhookOptions;
  readonly stores: Stores;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is left of an outbox after a visit. */
export type RemainingWork =
  | 'nothing'
  /** Others should have their turn first. */
  | 'more'
  /** Nothing can be done before that time, in milliseconds since 1970 UTC. */
  | number;

/** One transaction over an outbox. */
interface Unit {
  readonly unit: UnitOfWork;
  readonly storage: StorageWriter;
  readonly list: ListKey;
}

/** After so many deliveries other outboxes have their turn. */
const maxDeliveriesPerTurn = 20;

export class OutboxWorker {
  readonly #context: OutboxWorkerOptions;

  constructor(context: OutboxWorkerOptions) {
    this.#context = context;
  }

  /** The parents of the outboxes that hold something. */
  findOutboxes(): Promise<readonly string[]> {
    return this.#context.stores.storage.reader.listParents(pendingKind(this.#context.name));
  }

  /** Delivers what can be delivered of an outbox. */
  async process(parent: string, stop: AbortSignal): Promise<RemainingWork> {
    const { stores, sender } = this.#context;
    const list: ListKey = { kind: pendingKind(this.#context.name), parent };
    // Most of what wakes us is somebody else's already, which takes no transaction to see.
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

  /** When the first entry of an outbox may be attempted. */
  #readyAt({ due, heldUntil }: Delivery): number {
    return Math.max(due, heldUntil);
  }

  /** Takes the lease of the first entry, unless it is not due or somebody else's. */
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

  /** Writes down what came of an attempt; `false` when another process has taken the delivery over meanwhile. */
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
        reason,
        maxDeadLetters: options.maxDeadLetters,
      });
      unit.afterCommit(() => logger.error({ ...fields, deadLetters }, 'A webhook delivery was given up'));
      return;
    }
    const due = now + delayOf(attempts, outcome.retryAfterMs, options);
    await updateDelivery(storage, list, stored, { holder: '', heldUntil: 0, attempts, due, reason });
    const retryInMs = due - now;
    unit.afterCommit(() => logger.warn({ ...fields, retryInMs }, 'A webhook delivery failed and will be repeated'));
  }

  /** A transaction of its own over the storage, run again when it loses a race. */
  async #write<T>(work: (storage: StorageWriter, unit: UnitOfWork) => Promise<T>): Promise<T> {
    const { stores, logger } = this.#context;
    const retry = new Retry();
    for (;;) {
      const unit = new UnitOfWork(stores, logger, { contended: retry.contended });
      try {
        const { storage } = await unit.writer();
        const result = await work(storage, unit);
        await unit.end(true);
        return result;
      } catch (error) {
        await unit.abandon();
        if (!retry.isLost(error)) throw error;
        await retry.pause();
      }
    }
  }
}

/** Twice as long after each attempt, a part of it at random, so that many deliveries do not come back together. */
export function delayOf(
  attempts: number,
  retryAfterMs: number | undefined,
  { retryMinMs, retryMaxMs }: Pick<WebhookOptions, 'retryMinMs' | 'retryMaxMs'>,
): number {
  const longest = Math.min(retryMinMs * 2 ** (attempts - 1), retryMaxMs);
  const own = Math.round(longest * (0.75 + Math.random() * 0.25));
  return Math.max(own, Math.min(retryAfterMs ?? 0, retryMaxMs));
}
