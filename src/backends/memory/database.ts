// The memory database: the tables that the storage and permission backends work on, and the turn to write them. One
// process holds all of it; it is gone when the process ends.
import type { Clock } from '../../base/clock.ts';
import type { Steps } from '../../base/steps.ts';
import type { Database, Transaction } from '../../contracts/database.ts';
import { GrantTable } from './grant-table.ts';
import { ListChanges } from './list-changes.ts';
import { ListTable } from './list-table.ts';
import { writeConditionally } from './conditional-write.ts';
import { MemoryUnit, UnitQueue } from './unit-queue.ts';

export interface MemoryDatabase extends Database {
  readonly clock: Clock;
  readonly lists: ListTable;
  readonly grants: GrantTable;
  /** Runs a read of committed state. */
  read<T>(operation: () => T): Promise<T>;
  /** The same in steps, the first of which keeps what the others need. */
  walk<T>(steps: Steps<T>): Promise<T>;
  /** The unit behind a transaction that this database opened. */
  requireUnit(transaction: Transaction): MemoryUnit;
}

/** A new, empty database. Storage and permission backends created on the same one share its transactions. */
export function createMemoryDatabase({ clock }: { readonly clock: Clock }): MemoryDatabase {
  const queue = new UnitQueue();
  const lists = new ListTable();
  const grants = new GrantTable();
  return {
    name: 'memory',
    abilities: { rollback: true, durable: false, atomicAcrossParents: true },
    clock,
    lists,
    grants,
    begin: ({ userId } = {}) => queue.begin(userId),
    writeConditionally: (write) =>
      queue.runAlone((unit) => writeConditionally(lists, grants, new ListChanges(lists, clock, unit), unit, write)),
    read: (operation) => queue.read(operation),
    walk: (steps) => queue.walk(steps),
    requireUnit(transaction) {
      if (transaction instanceof MemoryUnit && transaction.belongsTo(queue)) return transaction;
      throw new Error('the transaction belongs to another database');
    },
    initializeSchema: async () => [],
    close: () => queue.close(),
  };
}
