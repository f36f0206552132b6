// Databases of tests: each in a folder of its own, deleted with the test.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Connection } from '../../../src/backends/sqlite/connection.ts';
import {
  openSqliteDatabase,
  type SqliteDatabase,
  type SqliteDatabaseOptions,
} from '../../../src/backends/sqlite/database.ts';
import { createSqlitePermission } from '../../../src/backends/sqlite/permission.ts';
import { createSqliteStorage } from '../../../src/backends/sqlite/storage.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { createTestClock, type TestClock } from '../../../src/testing/contract/contract-case.ts';
import { inUnit } from '../../../src/testing/contract/unit-of-work.ts';
import type {
  PermissionBackend,
  PermissionWriter,
  StorageBackend,
  StorageWriter,
} from '../../../src/testing/contract/plain-contracts.ts';

export const records = { kind: 'record', parent: storedUri('/buckets/b/collections/c') };

/** Returns the path of a database file in a new folder, which is removed when the test has finished. */
export async function temporaryPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'coffer-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'coffer.sqlite3');
}

/** Opens a connection of its own to a file, as another process would. */
export function openConnection(path: string): Connection {
  const connection = new Connection({ path, synchronous: 'OFF' });
  onTestFinished(() => connection.close());
  return connection;
}

export interface TestDatabase {
  readonly path: string;
  readonly clock: TestClock;
  readonly database: SqliteDatabase;
  readonly storage: StorageBackend;
  readonly permission: PermissionBackend;
  /** Runs the work in a unit of work of its own. */
  unit<T>(work: (storage: StorageWriter, permission: PermissionWriter) => Promise<T>): Promise<T>;
}

/** Opens a database with both backends, at the path or at a new one, and migrates it. */
export async function openTestDatabase({
  isReaped = true,
  ...options
}: Partial<SqliteDatabaseOptions> & {
  readonly path?: string;
  /** Whether pending deletions are deleted in the background while the database is open. */
  readonly isReaped?: boolean;
} = {}): Promise<TestDatabase> {
  const path = options.path ?? (await temporaryPath());
  const clock = createTestClock();
  const opened = openSqliteDatabase({ clock, synchronous: 'OFF', ...options, path });
  onTestFinished(() => opened.close());
  const database = isReaped ? opened : { ...opened, wakeReaper: () => undefined };
  await database.initializeSchema({ dryRun: false });
  const storage = createSqliteStorage(database);
  const permission = createSqlitePermission(database);
  return {
    path,
    clock,
    database,
    storage,
    permission,
    unit: (work) =>
      inUnit(database, (transaction) => work(storage.writer(transaction), permission.writer(transaction))),
  };
}
