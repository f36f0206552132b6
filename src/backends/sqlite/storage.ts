// The storage backend of a SQLite database.
import type { StorageBackend } from '../../contracts/storage.ts';
import type { SqliteDatabase } from './database.ts';
import { SqliteStorageReader } from './storage-reader.ts';
import { SqliteStorageWriter } from './storage-writer.ts';

/** The storage backend of the database. */
export function createSqliteStorage(database: SqliteDatabase): StorageBackend {
  return {
    database,
    reader: new SqliteStorageReader(database.committed('storage')),
    readerFor: (requester) => new SqliteStorageReader(database.committed('storage', requester)),
    writer: (transaction) =>
      new SqliteStorageWriter(database.within(transaction, 'storage'), database.clock, () => database.wakeReaper()),
  };
}
