// Opens a database file for the storage and permission backends: one connection that writes, others that read, and the
// turns of the writer.
import { existsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { Database, Transaction } from '../../contracts/database.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import { Background } from '../sql/background.ts';
import { accessCommitted, accessUnit, type CommittedAccess, type UnitAccess } from './access.ts';
import { CheckpointThread } from './checkpoint-thread.ts';
import { Checkpoints } from './checkpoints.ts';
import { Connection, type Synchronous } from './connection.ts';
import { Damage } from './damage.ts';
import { translating, type BackendName } from './errors.ts';
import { isWritable, requireWritable, sizeOf } from './file-access.ts';
import { findFaults, openSound } from './integrity.ts';
import { WalFile } from './wal-file.ts';
import { ConditionalWrites } from './conditional-writes.ts';
import { ReadCache } from './read-cache.ts';
import { takeProcessLock } from './process-lock.ts';
import { Reaper } from './reaper.ts';
import {
  applyNextMigration,
  databaseMigrations,
  pendingMigrations,
  readSchemaVersion,
  requireKnownSchema,
} from './schema.ts';
import { Snapshots } from './snapshots.ts';
import { WriterQueue, WriterUnit, type WriterQueueOptions } from './writer-queue.ts';

export interface SqliteDatabaseOptions extends WriterQueueOptions {
  /** The file; it and its folder are created when absent. */
  readonly path: string;
  readonly clock: Clock;
  /** Default `FULL`: a commit survives loss of power. */
  readonly synchronous?: Synchronous;
  /** Pages in the write-ahead log that are worth moving into the file. */
  readonly checkpointFrames?: number;
  /** About how many bytes of what was read are remembered; 0: none. */
  readonly cacheBytes?: number;
  /** Whether no other process may serve the file meanwhile. */
  readonly isExclusive?: boolean;
  /** Whether nothing will be written, so that the disk may be one that cannot be written. */
  readonly isReadonly?: boolean;
  /** Larger files are not checked completely; default 0. */
  readonly maxCheckedBytes?: number;
  /** Of more principals in the entries of one object, or of one user, only those are remembered that somebody asks about. */
  readonly mostPrincipals?: number;
}

const defaultMemoryBytes = 33_554_432;

export interface SqliteDatabase extends Database {
  readonly path: string;
  readonly clock: Clock;
  /** Access to committed state, outside any unit of work. */
  committed(backend: BackendName): CommittedAccess;
  /** Access inside a transaction that this database opened. */
  within(transaction: Transaction, backend: BackendName): UnitAccess;
  /** Starts the reaper, after rows were detached. */
  wakeReaper(): void;
  /** Deletes at once what the reaper would delete in small pieces. */
  reapAll(): Promise<void>;
}

/**
 * Opens a database file. Storage and permission backends created on the same one share its transactions.
 *
 * @throws BackendUnavailable when the file cannot be opened, is damaged, or is served by another process; Error when a
 * newer version has migrated it
 */
export function openSqliteDatabase(options: SqliteDatabaseOptions): SqliteDatabase {
  const { path, isReadonly = false, isExclusive = false } = options;
  if (!isReadonly || !existsSync(path)) requireWritable(path, 'storage');
  const isFixed = isReadonly && !isWritable(path);
  const unlock = isExclusive ? takeProcessLock(path) : (): void => undefined;
  try {
    return openFile(options, isFixed, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

/** @param isFixed whether the disk cannot be written */
function openFile(options: SqliteDatabaseOptions, isFixed: boolean, unlock: () => void): SqliteDatabase {
  // SQLite finds its way through a log that was not moved into the file by files next to it.
  const isImmutable = isFixed && sizeOf(`${options.path}-wal`) === 0;
  const { path, clock, synchronous = 'FULL', cacheBytes = defaultMemoryBytes } = options;
  // Where a commit has to be on the disk, it is flushed in the background and not by SQLite.
  const log = synchronous === 'FULL' || synchronous === 'EXTRA' ? new WalFile(path) : undefined;
  const ofCommits = log === undefined ? synchronous : 'NORMAL';
  const maxCheckedBytes = options.maxCheckedBytes ?? 0;
  const writer = openSound({ path, isImmutable, synchronous: ofCommits, backend: 'storage', maxCheckedBytes });
  try {
    requireKnownSchema(writer, databaseMigrations, path);
    const damage = new Damage();
    const failed = (error: unknown): void => damage.note(error);
    const snapshots = translating(
      'storage',
      () =>
        new Snapshots({
          open: () => new Connection({ path, isImmutable, synchronous, readOnly: true }),
          writer,
          cache: new ReadCache(cacheBytes, options.mostPrincipals),
          failed,
        }),
    );
    const queue: WriterQueue = new WriterQueue(writer, options, {
      before: () => snapshots.hold(),
      done: () => checkpoints.look(writer),
      flush: log && (() => flush(log, snapshots)),
      settled: (changes) => snapshots.release(changes),
      failed,
    });
    const thread = new CheckpointThread(path, synchronous);
    const checkpoints = new Checkpoints({ thread, writer, queue, snapshots, frames: options.checkpointFrames });
    const parts = { path, clock, writer, log, snapshots, queue, checkpoints, damage };
    return createDatabase(parts, { isFixed, isReadonly: options.isReadonly ?? false, unlock });
  } catch (error) {
    writer.close();
    throw error;
  }
}

async function flush(log: WalFile, snapshots: Snapshots): Promise<void> {
  try {
    await log.flush();
  } catch (error) {
    if (error instanceof BackendUnavailable) snapshots.fail(error);
    throw error;
  }
}

interface Parts {
  readonly path: string;
  readonly clock: Clock;
  readonly writer: Connection;
  readonly log: WalFile | undefined;
  readonly snapshots: Snapshots;
  readonly queue: WriterQueue;
  readonly checkpoints: Checkpoints;
  readonly damage: Damage;
}

function createDatabase(
  { path, clock, writer, log, snapshots, queue, checkpoints, damage }: Parts,
  {
    isFixed,
    isReadonly,
    unlock,
  }: { readonly isFixed: boolean; readonly isReadonly: boolean; readonly unlock: () => void },
): SqliteDatabase {
  const reaper = new Reaper(queue, checkpoints);
  const conditionalWrites = new ConditionalWrites(queue, clock);
  const reaping = new Background(
    () => reaper.reapChunk(),
    () => reaper.pauseMs,
  );
  if (!isFixed && pendingMigrations(writer, databaseMigrations).length === 0) reaping.wake();
  let closing: Promise<void> | undefined;

  /** A newer version may have migrated the file since it was opened. */
  function requireKnown(): void {
    snapshots.run('storage', (connection) => requireKnownSchema(connection, databaseMigrations, path));
  }

  async function migrate(): Promise<readonly string[]> {
    const done: string[] = [];
    // Where nothing is to be done, another process that is writing need not be waited for.
    while (pendingOf(snapshots).length > 0) {
      const unit = await queue.begin();
      let line: string | undefined;
      unit.changes.ofEverything();
      try {
        line = unit.run('storage', (connection) => applyNextMigration(connection, databaseMigrations));
      } catch (error) {
        await unit.rollback();
        throw error;
      }
      await unit.commit();
      if (line !== undefined) done.push(line);
    }
    requireKnown();
    return done;
  }

  async function close(): Promise<void> {
    await reaping.stop();
    await queue.close();
    await checkpoints.close();
    await log?.close();
    await snapshots.close();
    try {
      writer.all('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Everything committed is safe in the log; the next start moves it over.
    }
    writer.close();
    unlock();
  }

  return {
    name: 'sqlite',
    abilities: { rollback: true, durable: true, atomicAcrossParents: true },
    path,
    clock,
    begin: ({ userId } = {}) => queue.begin({ userId }),
    writeConditionally: (write) => conditionalWrites.write(write),
    /** A reader changes no file of an older version, which another process may be serving. */
    get needsMigration() {
      return isReadonly && readSchemaVersion(writer) > 0;
    },
    poolState: () => queue.state,
    findDamage: () => damage.found,
    checkIntegrity: async () => snapshots.run('storage', findFaults),
    committed: (backend) => accessCommitted(snapshots, backend),
    within(transaction, backend) {
      if (transaction instanceof WriterUnit && transaction.belongsTo(queue)) return accessUnit(transaction, backend);
      throw new Error('the transaction belongs to another database');
    },
    wakeReaper: () => reaping.wake(),
    async reapAll() {
      while (await reaper.reapChunk());
    },
    async initializeSchema({ dryRun }) {
      requireKnown();
      return dryRun ? pendingOf(snapshots) : migrate();
    },
    close: () => (closing ??= close()),
  };
}

function pendingOf(snapshots: Snapshots): readonly string[] {
  return snapshots.run('storage', (connection) => pendingMigrations(connection, databaseMigrations));
}
