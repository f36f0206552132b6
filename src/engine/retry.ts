// Runs work again after a transaction conflict. The next attempt locks the lists of earlier conflicts first, in order, so
// that it cannot conflict over them again.
import { setTimeout as wait } from 'node:timers/promises';
import { TransactionConflict } from '../contracts/errors.ts';
import type { Logger } from '../contracts/logger.ts';
import type { ListKey } from '../core/objects/stored.ts';
import { DatabaseUnit } from './database-unit.ts';
import { WorkAhead, WorkAwaited } from './work-ahead.ts';
import type { Stores, UnitOfWork } from './unit-of-work.ts';

const maxAttempts = 8;

/** The state of repeated attempts at one piece of work. */
export class Retry {
  #attempt = 1;
  #isFirst = true;
  #contended: readonly ListKey[] = [];
  #ahead: WorkAhead | undefined;

  /** Returns the results of slow work, which all attempts share. */
  get ahead(): WorkAhead {
    return (this.#ahead ??= new WorkAhead());
  }

  /** Number of the current attempt, from 1. An attempt that only found further contended lists is not counted. */
  get attempt(): number {
    return this.#attempt;
  }

  /** Whether no attempt has failed yet. */
  get isFirst(): boolean {
    return this.#isFirst;
  }

  /** Lists that the next attempt has to lock before all others. */
  get contended(): readonly ListKey[] {
    return this.#contended;
  }

  /** Records why an attempt failed, and returns whether another one is to follow: after conflicts, up to a limit. */
  allows(error: unknown): boolean {
    if (!(error instanceof TransactionConflict) || this.#attempt === maxAttempts) return false;
    this.#isFirst = false;
    this.#ahead?.restart();
    const known = this.#contended.length;
    // A conflict names only some of the lists, so those of earlier attempts are kept.
    this.#contended = union(this.#contended, error.lists);
    // A unit of work writes to a limited number of lists, so attempts that find new ones come to an end.
    if (this.#contended.length === known) this.#attempt++;
    return true;
  }

  /** Does the work that an attempt waits for, which has not failed. Returns the error when the work fails. */
  async waitFor({ work }: WorkAwaited): Promise<{ readonly error: unknown } | undefined> {
    this.#ahead?.restart();
    try {
      await work();
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  /** Waits for a random time that doubles with each attempt, so that the same units do not conflict again. */
  backOff(): Promise<void> {
    return wait(Math.random() * 2 ** this.#attempt);
  }
}

function union(known: readonly ListKey[], added: readonly ListKey[]): readonly ListKey[] {
  return [...known, ...added.filter((a) => !known.some((b) => a.parent === b.parent && a.kind === b.kind))];
}

/** Runs work in a unit of work of its own and commits it; after a conflict, runs it again from its start. */
export async function runInUnit<T>(stores: Stores, logger: Logger, work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
  const retry = new Retry();
  for (;;) {
    const unit = new DatabaseUnit(stores, logger, { contended: retry.contended, attempts: retry });
    try {
      const result = await work(unit);
      await unit.end(true);
      return result;
    } catch (error) {
      await unit.abandon();
      if (error instanceof WorkAwaited) {
        const refusal = await retry.waitFor(error);
        if (refusal !== undefined) throw refusal.error;
        continue;
      }
      if (!retry.allows(error)) throw error;
      await retry.backOff();
    }
  }
}
