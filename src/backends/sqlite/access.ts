// Access to the tables: committed state through snapshots, or the state of a unit of work through the writer.
import type { Requester } from '../../contracts/requester.ts';
import type { Connection } from './connection.ts';
import type { BackendName } from './errors.ts';
import type { Changes, ReadCache } from './read-cache.ts';
import type { Snapshots } from './snapshots.ts';
import { pause, runWithPauses, type Steps } from '../../base/steps.ts';
import type { WriterUnit } from './writer-queue.ts';

export interface Access {
  /** Runs one operation without interruption, with the cache of committed state where it applies. */
  run<T>(operation: (connection: Connection, cache?: ReadCache) => T | Promise<T>): Promise<T>;
  /** Runs a read in one snapshot, with pauses when it yields; a read that has yielded runs without the cache. */
  read<T>(read: (connection: Connection, cache?: ReadCache) => Steps<T>): Promise<T>;
}

/** Access to committed state, which always has a cache. */
export interface CommittedAccess extends Access {
  run<T>(operation: (connection: Connection, cache: ReadCache) => T | Promise<T>): Promise<T>;
}

/** Access inside a unit of work. */
export interface UnitAccess extends Access {
  /** Objects, lists and entries that the unit is going to change. */
  readonly changes: Changes;
  /** Runs one operation before it returns. */
  readonly runAtOnce: <T>(operation: (connection: Connection) => T) => T;
}

/** Returns access to committed state. */
export function accessCommitted(snapshots: Snapshots, backend: BackendName, requester?: Requester): CommittedAccess {
  return {
    run: async (operation) => snapshots.run(backend, operation),
    read: (read) => snapshots.read(backend, read, requester),
  };
}

/** An operation that has taken longer is followed by a turn of the event loop. */
const longOperationMs = 4;

/** Returns access inside a unit of work. The unit is the only writer, so nothing changes between steps. */
export function accessUnit(unit: WriterUnit, backend: BackendName): UnitAccess {
  return {
    changes: unit.changes,
    runAtOnce: (operation) => unit.run(backend, operation),
    async run(operation) {
      const startedAt = performance.now();
      const result = unit.run(backend, operation);
      // Other requests run between two operations on large objects.
      if (performance.now() - startedAt > longOperationMs) await pause('urgent');
      return result;
    },
    read: async (read) => {
      const steps = unit.run(backend, read);
      return runWithPauses(steps, 'urgent', (step) => unit.run(backend, step));
    },
  };
}
