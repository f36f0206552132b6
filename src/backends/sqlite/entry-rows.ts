// The rows of permission entries and of their folders.
import type { ObjectEntries, ObjectPermissions } from '../../contracts/permission.ts';
import type { Steps } from '../../base/steps.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import type { Connection, SqlValue } from './connection.ts';
import { RowInsert } from './row-insert.ts';

/** Numbers of folders, valid while no other code changes them. */
export class Folders {
  /** The last one: successive writes mostly use the same folder. */
  #last: { readonly uri: string; readonly folder: number } | undefined;

  /** Returns the folder; `undefined` when absent. */
  find(connection: Connection, uri: string): number | undefined {
    if (this.#last?.uri === uri) return this.#last.folder;
    const folder = connection.get<[number]>('SELECT folder FROM folders WHERE uri = ?', uri)?.[0];
    if (folder !== undefined) this.#last = { uri, folder };
    return folder;
  }

  /** Returns the folder, and creates it when absent. */
  ensure(connection: Connection, uri: string): number {
    const known = this.find(connection, uri);
    if (known !== undefined) return known;
    const folder = connection.get<[number]>('INSERT INTO folders (uri) VALUES (?) RETURNING folder', uri)![0];
    this.#last = { uri, folder };
    return folder;
  }

  /** Forgets the folder, when folders are deleted. */
  forget(): void {
    this.#last = undefined;
  }
}

/** Adds a principal to an entry. */
export function grant(
  connection: Connection,
  folder: number,
  name: string,
  permission: string,
  principal: Principal,
): void {
  connection.run(
    'INSERT OR IGNORE INTO entries (folder, name, permission, principal) VALUES (?, ?, ?, ?)',
    folder,
    name,
    permission,
    principal,
  );
}

/** Number of rows that are changed without a pause. */
const rowsPerStep = 100;

/** Returns the number of principals in all entries. */
export function countPrincipals(permissions: ObjectPermissions): number {
  let count = 0;
  for (const principals of Object.values(permissions)) count += principals.length;
  return count;
}

/** Number of principals that are read without a pause. */
const readPerStep = 500;

/** Replaces the principals of the named permissions. Rows of principals that stay are not touched. */
export function* replaceEntries(
  connection: Connection,
  objectId: ObjectUri,
  permissions: ObjectPermissions,
  folders: Folders,
): Steps<void> {
  const { folder: uri, name } = splitObjectId(objectId);
  for (const [permission, principals] of Object.entries(permissions)) {
    const folder = principals.length > 0 ? folders.ensure(connection, uri) : folders.find(connection, uri);
    if (folder === undefined) continue;
    const missing = new Set(principals);
    let last = '';
    let changed = 0;
    for (;;) {
      const rows: readonly (readonly [Principal])[] = connection.all(
        `SELECT principal FROM entries WHERE folder = ? AND name = ? AND permission = ? AND principal > ?
        ORDER BY principal LIMIT ?`,
        folder,
        name,
        permission,
        last,
        readPerStep,
      );
      for (const [principal] of rows) {
        last = principal;
        if (missing.delete(principal)) continue;
        revoke(connection, folder, name, permission, principal);
        if (++changed % rowsPerStep === 0) yield;
      }
      if (rows.length < readPerStep) break;
      yield;
    }
    yield* insertEntries(connection, folder, name, permission, missing);
  }
}

function revoke(connection: Connection, folder: number, name: string, permission: string, principal: Principal): void {
  connection.run(
    'DELETE FROM entries WHERE folder = ? AND name = ? AND permission = ? AND principal = ?',
    folder,
    name,
    permission,
    principal,
  );
}

/** Deletes all entries of an object. */
export function deleteEntries(connection: Connection, objectId: ObjectUri): void {
  const { folder, name } = splitObjectId(objectId);
  connection.run(
    'DELETE FROM entries WHERE folder = (SELECT folder FROM folders WHERE uri = ?) AND name = ?',
    folder,
    name,
  );
}

const places = ['?', '?', '?', '?'];
const columns = places.length;
const insert = new RowInsert('INSERT OR IGNORE INTO entries (folder, name, permission, principal)', places);

/** Number of new rows that are stored without a pause. */
const insertedPerStep = 96;

/** Adds principals to one entry. */
function* insertEntries(
  connection: Connection,
  folder: number,
  name: string,
  permission: string,
  principals: Iterable<Principal>,
): Steps<void> {
  let values: SqlValue[] = [];
  for (const principal of principals) {
    values.push(folder, name, permission, principal);
    if (values.length < insertedPerStep * columns) continue;
    insert.run(connection, values);
    values = [];
    yield;
  }
  insert.run(connection, values);
}

/** Adds principals to entries of many objects, with few statements. */
export function* grantAll(connection: Connection, entries: readonly ObjectEntries[], folders: Folders): Steps<void> {
  let values: SqlValue[] = [];
  for (const { objectId, permissions } of entries) {
    const { folder: uri, name } = splitObjectId(objectId);
    for (const [permission, principals] of Object.entries(permissions)) {
      if (principals.length === 0) continue;
      const folder = folders.ensure(connection, uri);
      for (const principal of principals) {
        values.push(folder, name, permission, principal);
        if (values.length < insertedPerStep * columns) continue;
        insert.run(connection, values);
        values = [];
        yield;
      }
    }
  }
  insert.run(connection, values);
}
