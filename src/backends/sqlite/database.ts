// Opens a database file for the storage and permission backends: one connection that writes, others that read, and the
// queue of the writer.
import { existsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import type { Database, Transaction } from '../../contracts/database.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { Requester } from '../../contracts/requester.ts';
import { Background } from '../sql/background.ts';
import { accessCommitted, accessUnit, type CommittedAccess, type UnitAccess } from './access.ts';
import { CheckpointThread } from './checkpoint-thread.ts';
import { Checkpoints } from './checkpoints.ts';
import { Connection, type Synchronous } from './connection.ts';
import { copyDatabase } from './copy-thread.ts';
import { withoutLinks } from './database-path.ts';
import { translating, type BackendName } from './errors.ts';
import { isWritable, requireWritable, sizeOf, sizeWithLog } from './file-access.ts';
import { Damage, findFaults, openSound } from './integrity.ts';
import { OpenFiles } from './open-files.ts';
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
  /** The file, or a link to it, which is created with its folder when absent. */
  readonly path: string;
  readonly clock: Clock;
  /** Default `FULL`: a commit survives a power loss. */
  readonly synchronous?: Synchronous;
  /** Number of pages in the write-ahead log from which they are moved into the file. */
  readonly checkpointFrames?: number;
  /** Approximate size of the read cache in bytes; 0: none. */
  readonly cacheBytes?: number;
  /** Whether other processes may not serve the file at the same time. */
  readonly isExclusive?: boolean;
  /** Whether nothing will be written, so the disk may be read-only. */
  readonly isReadonly?: boolean;
  /** Maximum size of a file that is checked completely; default 0. */
  readonly maxCheckedBytes?: number;
  /** Maximum number of cached principals per object or user. With more, only those that requests ask for are cached. */
  readonly maxPrincipals?: number;
}

const defaultMemoryBytes = 33_554_432;

export interface SqliteDatabase extends Database {
  readonly path: string;
  readonly clock: Clock;
  /** Returns access to committed state, outside any unit of work. */
  committed(backend: BackendName, requester?: Requester): CommittedAccess;
  /** Returns access inside a transaction that this database opened. */
  within(transaction: Transaction, backend: BackendName): UnitAccess;
  /** Starts the reaper, after rows became unreachable. */
  wakeReaper(): void;
  /** Deletes at once what the reaper would delete in chunks. */
  reapAll(): Promise<void>;
}

/**
 * Opens a database file. Storage and permission backends created on the same one share its transactions.
 *
 * @throws BackendUnavailable when the file cannot be opened, is damaged, or is served by another process; Error when a
 *   newer version has migrated it
 */
export function openSqliteDatabase(given: SqliteDatabaseOptions): SqliteDatabase {
  const options = { ...given, path: withoutLinks(given.path) };
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

/** @param isFixed whether the disk is read-only */
function openFile(options: SqliteDatabaseOptions, isFixed: boolean, unlock: () => void): SqliteDatabase {
  // SQLite reads a log that was not moved into the file with the help of files next to it.
  const isImmutable = isFixed && sizeOf(`${options.path}-wal`) === 0;
  const { path, clock, synchronous = 'FULL', cacheBytes = defaultMemoryBytes } = options;
  // A commit that must be durable is flushed in the background and not by SQLite.
  const log = synchronous === 'FULL' || synchronous === 'EXTRA' ? new WalFile(path) : undefined;
  const ofCommits = log === undefined ? synchronous : 'NORMAL';
  const maxCheckedBytes = options.maxCheckedBytes ?? 0;
  const writer = openSound({ path, isImmutable, synchronous: ofCommits, backend: 'storage', maxCheckedBytes });
  try {
    requireKnownSchema(writer, databaseMigrations, path);
    const files = new OpenFiles(path);
    const damage = new Damage();
    const failed = (error: unknown): void => damage.note(error);
    const snapshots = translating(
      'storage',
      () =>
        new Snapshots({
          open() {
            files.requireInPlace();
            return new Connection({ path, isImmutable, synchronous, readOnly: true });
          },
          writer,
          cache: new ReadCache(cacheBytes, options.maxPrincipals),
          failed,
        }),
    );
    const queue: WriterQueue = new WriterQueue(writer, options, {
      before() {
        files.requireInPlace();
        snapshots.hold();
      },
      done: () => checkpoints.look(writer),
      flush: log && (() => flush(log, snapshots)),
      settled: (changes) => snapshots.release(changes),
      failed,
    });
    const thread = new CheckpointThread(path, synchronous);
    const checkpoints = new Checkpoints({ thread, writer, queue, snapshots, frames: options.checkpointFrames });
    const parts = { path, clock, writer, files, log, snapshots, queue, checkpoints, damage };
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
  readonly files: OpenFiles;
  readonly log: WalFile | undefined;
  readonly snapshots: Snapshots;
  readonly queue: WriterQueue;
  readonly checkpoints: Checkpoints;
  readonly damage: Damage;
}

function createDatabase(
  { path, clock, writer, files, log, snapshots, queue, checkpoints, damage }: Parts,
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

  /** Refuses the file when a newer version has migrated it since it was opened. */
  function requireKnown(): void {
    snapshots.run('storage', (connection) => requireKnownSchema(connection, databaseMigrations, path));
  }

  async function migrate(): Promise<readonly string[]> {
    const done: string[] = [];
    // Without pending migrations, another process that writes need not be waited for.
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
      // Every commit is safe in the log. The next start moves it.
    }
    writer.close();
    unlock();
  }

  return {
    name: 'sqlite',
    abilities: { rollback: true, durable: true, atomicAcrossParents: true, textSearch: true },
    path,
    clock,
    begin: ({ party, isOneOfSeveral } = {}) => queue.begin({ party, isLast: isOneOfSeveral }),
    writeConditionally: (write) => conditionalWrites.write(write),
    /** A reader does not migrate a file of an older version, which another process may be serving. */
    get needsMigration() {
      return isReadonly && readSchemaVersion(writer) > 0;
    },
    poolState: () => queue.state,
    findDamage: () => damage.found ?? files.findDisplaced(),
    readSizeBytes: () => Promise.resolve(sizeWithLog(path)),
    async copyTo(file, signal) {
      files.requireInPlace();
      return copyDatabase(path, file, signal);
    },
    checkIntegrity: async () => snapshots.run('storage', findFaults),
    committed: (backend, requester) => accessCommitted(snapshots, backend, requester),
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
