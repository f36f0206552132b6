// Entries of many objects, stored with few statements: what most of the time goes to is the way to SQLite and back.
import type { Steps } from '../../base/steps.ts';
import type { ObjectEntries } from '../../contracts/permission.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import type { Connection, SqlValue } from './connection.ts';
import type { Folders } from './entry-rows.ts';

/** Rows that one statement stores. What is left over goes row by row, so that two statements are kept. */
const rowsPerStatement = 32;
const columns = 4;
const insert = (rows: number): string =>
  `INSERT OR IGNORE INTO entries (folder, name, permission, principal)
  VALUES ${Array.from({ length: rows }, () => '(?, ?, ?, ?)').join(', ')}`;
const insertOne = insert(1);
const insertMany = insert(rowsPerStatement);

/** Statements without a pause. */
const statementsPerStep = 16;

/** Adds principals to entries of the objects. */
export function* grantAll(connection: Connection, entries: readonly ObjectEntries[], folders: Folders): Steps<void> {
  let values: SqlValue[] = [];
  let statements = 0;
  for (const { objectId, permissions } of entries) {
    const { folder: uri, name } = splitObjectId(objectId);
    for (const [permission, principals] of Object.entries(permissions)) {
      if (principals.length === 0) continue;
      const folder = folders.ensure(connection, uri);
      for (const principal of principals) {
        values.push(folder, name, permission, principal);
        if (values.length < rowsPerStatement * columns) continue;
        connection.run(insertMany, ...values);
        values = [];
        if (++statements % statementsPerStep === 0) yield;
      }
    }
  }
  for (let start = 0; start < values.length; start += columns) {
    connection.run(insertOne, ...values.slice(start, start + columns));
  }
}
