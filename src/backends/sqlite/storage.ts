// The storage backend of a SQLite database.
import type { StorageBackend } from '../../contracts/storage.ts';
import { CommittedStorageReader } from './committed-storage-reader.ts';
import type { SqliteDatabase } from './database.ts';
import { SqliteStorageWriter } from './storage-writer.ts';

/** The storage backend of the database. */
export function createSqliteStorage(database: SqliteDatabase): StorageBackend {
  return {
    database,
    reader: new CommittedStorageReader(database.committed('storage')),
    writer: (transaction) =>
      new SqliteStorageWriter(database.within(transaction, 'storage'), database.clock, () => database.wakeReaper()),
  };
}
