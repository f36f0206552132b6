// The permission backend of a PostgreSQL database.
import type { PermissionBackend } from '../../contracts/permission.ts';
import type { PostgresDatabase } from './database.ts';
import { PostgresPermissionReader } from './permission-reader.ts';
import { PostgresPermissionWriter } from './permission-writer.ts';

/** The permission backend of the database. */
export function createPostgresPermission(database: PostgresDatabase): PermissionBackend {
  return {
    database,
    reader: new PostgresPermissionReader(database.committed('permission')),
    readerFor: (requester) => new PostgresPermissionReader(database.committed('permission', requester)),
    writer: (transaction) =>
      new PostgresPermissionWriter(database.within(transaction, 'permission'), database.listsOf(transaction), () =>
        database.wakeReaper(),
      ),
  };
}
