// Takes deliveries of one webhook out of their outboxes, one after the other for each: what it begins it holds by a lease,
// so that no other process delivers it too, and what it has ended leaves in the same transaction in which the next is begun.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../contracts/logger.ts';
import type { StorageWriter } from '../contracts/storage.ts';
import type { ListKey, StoredObject } from '../core/objects/stored.ts';
import { runInUnit } from '../engine/retry.ts';
import type { Stores, UnitOfWork } from '../engine/unit-of-work.ts';
import type { WebhookOptions } from './options.ts';
import { bury, deadKind, parseEntry, pendingKind, readFirst, rewrite, take, type Entry } from './outbox.ts';
import type { Outcome, Sender } from './post.ts';

export interface CourierContext {
  /** Of the listener. */
  readonly name: string;
  readonly options: WebhookOptions;
  readonly stores: Stores;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is left of an outbox after a visit. */
export type Rest =
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
const turnLength = 20;

export class Courier {
  readonly #context: CourierContext;

  constructor(context: CourierContext) {
    this.#context = context;
  }

  /** The parents of the outboxes that hold something. */
  findOutboxes(): Promise<readonly string[]> {
    return this.#context.stores.storage.reader.listParents(pendingKind(this.#context.name));
  }

  /** Delivers what can be delivered of an outbox. */
  async visit(parent: string, stop: AbortSignal): Promise<Rest> {
    const { stores, sender } = this.#context;
    const list: ListKey = { kind: pendingKind(this.#context.name), parent };
    // Most of what wakes us is somebody else's already, which takes no transaction to see.
    const seen = await readFirst(stores.storage.reader, list);
    const ready = seen === undefined ? 'nothing' : this.#readyAt(parseEntry(seen));
    if (ready === 'nothing' || ready > this.#context.clock.now()) return ready;

    let begun = await this.#write((storage) => this.#begin(storage, list));
    for (let turn = 1; ; turn++) {
      if (typeof begun !== 'object') return begun;
      const held: Entry = begun;
      const outcome = await sender.send(held, stop);
      const goesOn = turn < turnLength && !stop.aborted && outcome.kind !== 'aborted';
      begun = await this.#write(async (storage, unit) => {
        const isOurs = await this.#settle({ storage, unit, list }, held, outcome);
        return goesOn && isOurs ? this.#begin(storage, list) : 'more';
      });
    }
  }

  /** When the first entry of an outbox may be attempted. */
  #readyAt({ due, heldUntil }: Entry): number {
    return Math.max(due, heldUntil);
  }

  /** Takes the lease of the first entry, unless it is not due or somebody else's. */
  async #begin(storage: StorageWriter, list: ListKey): Promise<Entry | Rest> {
    await storage.lock(list);
    const stored = await readFirst(storage, list);
    if (stored === undefined) return 'nothing';
    const entry = parseEntry(stored);
    const now = this.#context.clock.now();
    const ready = this.#readyAt(entry);
    if (ready > now) return ready;
    const lease = { holder: randomUUID(), heldUntil: now + this.#context.options.leaseMs };
    await rewrite(storage, list, stored, lease);
    return { ...entry, ...lease };
  }

  /** Writes down what came of an attempt; `false` when another process has taken the delivery over meanwhile. */
  async #settle(unit: Unit, held: Entry, outcome: Outcome): Promise<boolean> {
    const { storage, list } = unit;
    const { object: stored } = await storage.lock(list, held.id);
    if (stored === undefined || parseEntry(stored).holder !== held.holder) return false;
    const free = { holder: '', heldUntil: 0 };
    switch (outcome.kind) {
      case 'delivered':
        await take(storage, list, held.id);
        return true;
      case 'aborted':
        await rewrite(storage, list, stored, free);
        return true;
      case 'failed':
        await this.#fail(unit, { stored, held, outcome });
        return true;
    }
  }

  async #fail(
    { storage, unit, list }: Unit,
    { stored, held, outcome }: { stored: StoredObject; held: Entry; outcome: Outcome & { kind: 'failed' } },
  ): Promise<void> {
    const { name, options, clock, logger } = this.#context;
    const now = clock.now();
    const attempts = held.attempts + 1;
    const { reason } = outcome;
    const fields = { listener: name, delivery: held.id, outbox: list.parent, attempts, reason };
    if (attempts >= options.maxAttempts || now - held.created >= options.maxAgeMs) {
      await take(storage, list, held.id);
      const dead: ListKey = { kind: deadKind(name), parent: list.parent };
      const deadLetters = await bury(storage, dead, stored, { reason, maxDeadLetters: options.maxDeadLetters });
      unit.afterCommit(() => logger.error({ ...fields, deadLetters }, 'A webhook delivery was given up'));
      return;
    }
    const due = now + delayOf(attempts, outcome.retryAfterMs, options);
    await rewrite(storage, list, stored, { holder: '', heldUntil: 0, attempts, due, reason });
    const retryInMs = due - now;
    unit.afterCommit(() => logger.warn({ ...fields, retryInMs }, 'A webhook delivery failed and will be repeated'));
  }

  #write<T>(work: (storage: StorageWriter, unit: UnitOfWork) => Promise<T>): Promise<T> {
    const { stores, logger } = this.#context;
    return runInUnit(stores, logger, async (unit) => work((await unit.writer()).storage, unit));
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
