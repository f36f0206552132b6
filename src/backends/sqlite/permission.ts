// The permission backend of a SQLite database.
import type { PermissionBackend } from '../../contracts/permission.ts';
import { CommittedPermissionReader } from './committed-permission-reader.ts';
import type { SqliteDatabase } from './database.ts';
import { SqlitePermissionWriter } from './permission-writer.ts';

/** The permission backend of the database. */
export function createSqlitePermission(database: SqliteDatabase): PermissionBackend {
  return {
    database,
    reader: new CommittedPermissionReader(database.committed('permission')),
    readerFor: (requester) => new CommittedPermissionReader(database.committed('permission', requester)),
    writer: (transaction) =>
      new SqlitePermissionWriter(database.within(transaction, 'permission'), () => database.wakeReaper()),
  };
}
