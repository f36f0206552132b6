// Collections of TanStack DB that survive in SQLite.
import { DatabaseSync } from '@photostructure/sqlite';
import { createCollection } from '@tanstack/db';
import {
  createSQLiteCorePersistenceAdapter,
  persistedCollectionOptions,
  type SQLiteDriver,
} from '@tanstack/db-sqlite-persistence-core';
import { cofferCollectionOptions, type CofferCollectionConfig } from '../../../packages/tanstack-db/src/index.ts';
import type { Item, Items, World } from './support.ts';

/** Creates a collection whose rows are in the database, from earlier runs too. */
export function persistedIn(
  driver: SQLiteDriver,
  world: World,
  config: Partial<CofferCollectionConfig<Item>> = {},
): Items {
  const options = cofferCollectionOptions<Item>({
    id: 'persisted',
    client: world.client,
    list: world.records,
    startSync: true,
    ...config,
  });
  const adapter = createSQLiteCorePersistenceAdapter({ driver });
  return createCollection(
    persistedCollectionOptions({ ...options, persistence: { adapter }, schemaVersion: 1 } as never) as never,
  ) as unknown as Items;
}

/** SQLite in memory, with the interface that persisted collections expect. */
export function memoryDriver(): SQLiteDriver {
  const connection = new DatabaseSync(':memory:');
  let last: Promise<unknown> = Promise.resolve();
  const driver: SQLiteDriver = {
    exec: async (sql) => connection.exec(sql),
    query: async <R>(sql: string, params: readonly unknown[] = []) =>
      connection.prepare(sql).all(...(params as never[])) as R[],
    run: async (sql, params = []) => void connection.prepare(sql).run(...(params as never[])),
    transaction: (work) => {
      const turn = last.then(async () => {
        connection.exec('BEGIN');
        try {
          const result = await work(driver);
          connection.exec('COMMIT');
          return result;
        } catch (error) {
          connection.exec('ROLLBACK');
          throw error;
        }
      });
      last = turn.catch(() => undefined);
      return turn;
    },
  };
  return driver;
}

/** Makes transactions of a database fail, or wait. */
export class FailingStore {
  /** Number of transactions that have succeeded. */
  written = 0;
  #failures = 0;
  #running = 0;
  #held = Promise.resolve();
  release = (): void => undefined;

  constructor(database: SQLiteDriver) {
    const { transaction } = database;
    database.transaction = async (work) => {
      this.#running++;
      try {
        await this.#held;
        if (this.#failures-- > 0) throw new Error('The disk is full.');
        const result = await transaction(work);
        this.written++;
        return result;
      } finally {
        this.#running--;
      }
    };
  }

  /** Whether no transaction is under way. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Makes the next transactions fail. */
  fail(count = 1): void {
    this.#failures = count;
  }

  /** Makes transactions wait until `release`. */
  hold(): void {
    this.#held = new Promise((resolve) => {
      this.release = resolve;
    });
  }
}
