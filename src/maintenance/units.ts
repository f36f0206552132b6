// Units of work of a copy: short ones, run again when the database says that they lost a race.
import { setTimeout as wait } from 'node:timers/promises';
import type { Database, Transaction } from '../contracts/database.ts';
import { TransactionConflict } from '../contracts/errors.ts';

const attempts = 8;
const firstPauseMs = 20;

/**
 * Runs the work in a transaction of its own and commits it. The work may run more than once.
 *
 * @param work learns which attempt it is, from 1
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
      if (!(error instanceof TransactionConflict) || attempt === attempts) throw error;
    }
    await wait(firstPauseMs * 2 ** attempt * (0.5 + Math.random() / 2));
  }
}

const firstRefresh = 2000;

/** Counts what is written to a database that is being filled, and refreshes its statistics each time it has doubled. */
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

  /** Refreshes them a last time, when anything was written. */
  async finish(): Promise<void> {
    if (this.#written > 0) await this.#database.refreshStatistics?.();
  }
}
