// Runs work in a transaction the way the service does: committed when it succeeds, rolled back when it throws.
import type { Database, Transaction } from '../contracts/database.ts';

/** Runs the work in a transaction of its own and commits it. */
export async function inUnit<T>(database: Database, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  const transaction = await database.begin();
  let result: T;
  try {
    result = await work(transaction);
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
  await transaction.commit();
  return result;
}

/** Runs the work in a transaction of its own and takes it back. */
export async function inRolledBackUnit(
  database: Database,
  work: (transaction: Transaction) => Promise<unknown>,
): Promise<void> {
  const transaction = await database.begin();
  try {
    await work(transaction);
  } finally {
    await transaction.rollback();
  }
}
