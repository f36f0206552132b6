// Stores the permission entries of many objects with few statements.
import type { Steps } from '../../base/steps.ts';
import type { ObjectEntries } from '../../contracts/permission.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import type { Connection, SqlValue } from './connection.ts';
import type { Folders } from './entry-rows.ts';
import { RowInsert } from './row-insert.ts';

const columns = 4;
const insert = new RowInsert('INSERT OR IGNORE INTO entries (folder, name, permission, principal)', columns);

/** Number of rows that are stored without a pause. */
const rowsPerStep = 96;

/** Adds principals to entries of the objects. */
export function* grantAll(connection: Connection, entries: readonly ObjectEntries[], folders: Folders): Steps<void> {
  let values: SqlValue[] = [];
  for (const { objectId, permissions } of entries) {
    const { folder: uri, name } = splitObjectId(objectId);
    for (const [permission, principals] of Object.entries(permissions)) {
      if (principals.length === 0) continue;
      const folder = folders.ensure(connection, uri);
      for (const principal of principals) {
        values.push(folder, name, permission, principal);
        if (values.length < rowsPerStep * columns) continue;
        insert.run(connection, values);
        values = [];
        yield;
      }
    }
  }
  insert.run(connection, values);
}
