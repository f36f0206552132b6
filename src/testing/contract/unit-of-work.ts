// Runs work in a transaction as the service does: commits when it succeeds, and rolls back when it throws.
import type { TransactionContext } from './contract-case.ts';
import type { Database, PermissionWriter, StorageWriter, Transaction } from './plain-contracts.ts';

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

/** Runs the work in a transaction of its own and rolls it back. */
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

/** The writers of storage and permissions of one transaction. */
export interface Writers {
  readonly storage: StorageWriter;
  readonly permission: PermissionWriter;
}

/** Runs the work with the writers of one transaction and commits. */
export function inUnitOf<T>(
  context: Pick<TransactionContext, 'database' | 'storage' | 'permission'>,
  work: (writers: Writers) => Promise<T>,
): Promise<T> {
  const { database, storage, permission } = context;
  return inUnit(database, (transaction) =>
    work({ storage: storage.writer(transaction), permission: permission.writer(transaction) }),
  );
}
