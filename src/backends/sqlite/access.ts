// How a backend reaches its tables: committed state through the snapshots, a unit of work through the writer.
import type { Connection } from './connection.ts';
import type { BackendName } from './errors.ts';
import type { Changes, ReadCache } from './read-cache.ts';
import type { Snapshots } from './snapshots.ts';
import { pause, runWithPauses, type Steps } from '../../base/steps.ts';
import type { WriterUnit } from './writer-queue.ts';

export interface Access {
  /** Runs one operation without interruption. */
  run<T>(operation: (connection: Connection) => T): Promise<T>;
  /** Runs a read in one snapshot, with pauses when it yields. */
  read<T>(read: (connection: Connection) => Steps<T>): Promise<T>;
}

/** The same, with what is remembered of committed state. */
export interface CommittedAccess extends Access {
  run<T>(operation: (connection: Connection, cache: ReadCache) => T | Promise<T>): Promise<T>;
  /** Without memory once it has yielded. */
  read<T>(read: (connection: Connection, cache: ReadCache | undefined) => Steps<T>): Promise<T>;
}

/** The same, inside a unit of work. */
export interface UnitAccess extends Access {
  /** Notes here what it is going to change. */
  readonly changes: Changes;
}

/** Access to committed state. */
export function accessCommitted(snapshots: Snapshots, backend: BackendName): CommittedAccess {
  return {
    run: async (operation) => snapshots.run(backend, operation),
    read: (read) => snapshots.read(backend, read),
  };
}

/** An operation that has taken longer is followed by a turn of the event loop. */
const longOperationMs = 4;

/** Access inside a unit of work. It holds the turn to write, so nobody changes anything between steps. */
export function accessUnit(unit: WriterUnit, backend: BackendName): UnitAccess {
  return {
    changes: unit.changes,
    async run(operation) {
      const startedAt = performance.now();
      const result = unit.run(backend, operation);
      // Others are served between two operations on large objects.
      if (performance.now() - startedAt > longOperationMs) await pause('urgent');
      return result;
    },
    read: async (read) => {
      const steps = unit.run(backend, read);
      return runWithPauses(steps, 'urgent', (step) => unit.run(backend, step));
    },
  };
}
