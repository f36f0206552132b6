// The memory database: the tables of the storage and permission backends, and the queue of units of work. Everything is in
// the memory of one process and is lost with it.
import type { Clock } from '../../base/clock.ts';
import type { Steps } from '../../base/steps.ts';
import type { Database, Transaction } from '../../contracts/database.ts';
import { GrantTable } from './grant-table.ts';
import { ListTable } from './list-table.ts';
import { writeConditionally } from './conditional-write.ts';
import { MemoryUnit, UnitQueue } from './unit-queue.ts';

export interface MemoryDatabase extends Database {
  readonly clock: Clock;
  readonly lists: ListTable;
  readonly grants: GrantTable;
  /** Runs a read of committed state. */
  read<T>(operation: () => T): Promise<T>;
  /** Runs a read of committed state in steps. The first step copies what the others need. */
  walk<T>(steps: Steps<T>): Promise<T>;
  /** Returns the unit behind a transaction that this database opened. */
  requireUnit(transaction: Transaction): MemoryUnit;
}

/** Creates an empty database. Storage and permission backends created on the same one share its transactions. */
export function createMemoryDatabase({ clock }: { readonly clock: Clock }): MemoryDatabase {
  const queue = new UnitQueue();
  const lists = new ListTable();
  const grants = new GrantTable();
  return {
    name: 'memory',
    abilities: { rollback: true, durable: false, atomicAcrossParents: true, textSearch: true },
    clock,
    lists,
    grants,
    begin: ({ party } = {}) => queue.begin(party),
    writeConditionally: (write) => queue.runAlone((unit) => writeConditionally(lists, grants, clock, unit, write)),
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
