// The permission backend of a SQLite database.
import type { PermissionBackend } from '../../contracts/permission.ts';
import type { SqliteDatabase } from './database.ts';
import { SqlitePermissionReader } from './permission-reader.ts';
import { SqlitePermissionWriter } from './permission-writer.ts';

/** The permission backend of the database. */
export function createSqlitePermission(database: SqliteDatabase): PermissionBackend {
  return {
    database,
    reader: new SqlitePermissionReader(database.committed('permission')),
    writer: (transaction) =>
      new SqlitePermissionWriter(database.within(transaction, 'permission'), () => database.announceDoomed()),
  };
}
