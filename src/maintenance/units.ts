// Units of work outside of requests: short ones, repeated after a serialization conflict.
import { setTimeout as wait } from 'node:timers/promises';
import { openBackends } from '../backends/open-backends.ts';
import { systemClock } from '../base/clock.ts';
import type { Database, Transaction } from '../contracts/database.ts';
import { BackendUnavailable, TransactionConflict } from '../contracts/errors.ts';
import { silentLogger } from '../contracts/logger.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import { runInUnit } from '../engine/retry.ts';
import type { Writer } from '../engine/unit-of-work.ts';
import type { Settings } from '../settings/settings.ts';
import { prepareSchemas } from './schemas.ts';

/** Opens the backends for a piece of work and closes them after it. */
export async function withBackends<T>(settings: Settings, work: (backends: OpenBackends) => Promise<T>): Promise<T> {
  const backends = await openBackends(settings, systemClock);
  try {
    await prepareSchemas(backends, settings);
    return await work(backends);
  } finally {
    await backends.close();
  }
}

/** A busy service may keep the lock of a SQLite file for a while. */
const maxAttemptsWhenBusy = 6;

/**
 * Runs the work in one transaction over storage and permissions. Repeats it after conflicts and while the backend is busy, but
 * not when it may have been committed.
 */
export async function write<T>(backends: OpenBackends, work: (writer: Writer) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const state = { isCommitting: false };
    try {
      return await runInUnit(backends, silentLogger, async (unit) => {
        state.isCommitting = false;
        const result = await work(await unit.writer());
        state.isCommitting = true;
        return result;
      });
    } catch (error) {
      const passes = error instanceof BackendUnavailable && !error.isLasting && (!state.isCommitting || error.isUndone);
      if (!passes || attempt === maxAttemptsWhenBusy) throw error;
    }
    await pause(attempt);
  }
}

const maxAttempts = 8;
const firstPauseMs = 20;

/**
 * Runs the work in a transaction of one database, and repeats it after conflicts.
 *
 * @param work gets the number of the attempt, from 1
 */
export async function inUnit<T>(
  database: Database,
  work: (transaction: Transaction, attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const transaction = await database.begin();
    try {
      const result = await work(transaction, attempt);
      await transaction.commit();
      return result;
    } catch (error) {
      await transaction.rollback();
      if (!(error instanceof TransactionConflict) || attempt === maxAttempts) throw error;
    }
    await pause(attempt);
  }
}

function pause(attempt: number): Promise<void> {
  return wait(firstPauseMs * 2 ** attempt * (0.5 + Math.random() / 2));
}

const firstRefresh = 2000;

/** Counts writes to a database that is being filled, and refreshes its statistics each time their number has doubled. */
export class Growth {
  readonly #database: Database;
  #written = 0;
  #next = firstRefresh;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(count: number): Promise<void> {
    this.#written += count;
    if (this.#written < this.#next) return;
    this.#next = this.#written * 2;
    await this.#database.refreshStatistics?.();
  }

  /** Refreshes the statistics a last time, when anything was written. */
  async finish(): Promise<void> {
    if (this.#written > 0) await this.#database.refreshStatistics?.();
  }
}
