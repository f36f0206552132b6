// The storage backend of a PostgreSQL database.
import type { StorageBackend } from '../../contracts/storage.ts';
import type { PostgresDatabase } from './database.ts';
import { PostgresStorageReader } from './storage-reader.ts';
import { PostgresStorageWriter } from './storage-writer.ts';

/** The storage backend of the database. */
export function createPostgresStorage(database: PostgresDatabase): StorageBackend {
  return {
    database,
    reader: new PostgresStorageReader(database.committed('storage')),
    readerFor: (requester) => new PostgresStorageReader(database.committed('storage', requester)),
    writer: (transaction) =>
      new PostgresStorageWriter(
        database.within(transaction, 'storage'),
        database.listsOf(transaction),
        database.clock,
        () => database.wakeReaper(),
      ),
  };
}
