// Finds the objects on which principals have permissions. When the patterns allow few folders, only these are searched.
// Otherwise the entries of the principals are, because that is less work.
import type { BoundPattern } from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import type { Connection } from './connection.ts';
import { compilePattern, type ObjectPattern } from '../sql/object-pattern.ts';
import { addAccessible, type AccessibleObjects } from '../sql/permission-rows.ts';
import type { Steps } from '../../base/steps.ts';

type Found = Map<ObjectUri, Set<string>>;
type FolderRow = readonly [folder: number, uri: string];

/** Maximum number of folders of a pattern that are searched one by one. With more, the entries of the principal are. */
const maxFolders = 100;
/** Number of principals that are looked up without a pause; a user may be in very many groups. */
const principalsPerStep = 200;
/** Maximum number of rows that one statement returns. */
const windowRows = 2000;

/** Returns every entry of the principals. */
export function* findAllAccessible(connection: Connection, principals: readonly Principal[]): Steps<AccessibleObjects> {
  const found: Found = new Map();
  for (const [index, principal] of [...new Set(principals)].entries()) {
    if (index > 0 && index % principalsPerStep === 0) yield;
    yield* walkEntries(connection, principal, (objectId, permission) => addAccessible(found, objectId, permission));
  }
  return found;
}

/** Returns the entries of the principals that match one of the patterns. */
export function* findAccessible(
  connection: Connection,
  principals: readonly Principal[],
  bound: readonly BoundPattern[],
  { withChildren, limit = Infinity }: { readonly withChildren: boolean; readonly limit?: number | undefined },
): Steps<AccessibleObjects> {
  const found: Found = new Map();
  for (const { pattern: text, permission } of bound) {
    const pattern = compilePattern(text, withChildren);
    const folders = findFolders(connection, pattern);
    if (folders?.length === 0) continue;
    for (const [index, principal] of [...new Set(principals)].entries()) {
      if (index > 0 && index % principalsPerStep === 0) yield;
      if (found.size >= limit) return found;
      if (folders === undefined) {
        yield* walkEntries(connection, principal, (objectId, name) => {
          if (name === permission && pattern.matches(objectId)) addAccessible(found, objectId, permission);
        });
      } else {
        yield* walkFolders(connection, principal, permission, folders, pattern, (objectId) => {
          addAccessible(found, objectId, permission);
          return found.size >= limit;
        });
      }
    }
  }
  return found;
}

/** Returns the folders that matching objects can lie in; `undefined` when they are too many. */
function findFolders(connection: Connection, { folder, folders }: ObjectPattern): readonly FolderRow[] | undefined {
  if (folder !== undefined) return connection.all<FolderRow>('SELECT folder, uri FROM folders WHERE uri = ?', folder);
  const { low, high } = folders;
  const rows =
    high === undefined
      ? connection.all<FolderRow>('SELECT folder, uri FROM folders WHERE uri >= ? LIMIT ?', low, maxFolders + 1)
      : connection.all<FolderRow>(
          'SELECT folder, uri FROM folders WHERE uri >= ? AND uri < ? LIMIT ?',
          low,
          high,
          maxFolders + 1,
        );
  return rows.length > maxFolders ? undefined : rows;
}

/** Visits all entries of a principal. */
function* walkEntries(
  connection: Connection,
  principal: Principal,
  visit: (objectId: ObjectUri, permission: string) => void,
): Steps<void> {
  let last: readonly [folder: number, permission: string, name: string] = [-1, '', ''];
  for (;;) {
    const rows = connection.all<[folder: number, permission: string, name: string, uri: string]>(
      `SELECT e.folder, e.permission, e.name, f.uri FROM entries e CROSS JOIN folders f
      WHERE e.principal = ? AND (e.folder, e.permission, e.name) > (?, ?, ?) AND f.folder = e.folder
      ORDER BY e.folder, e.permission, e.name LIMIT ?`,
      principal,
      ...last,
      windowRows,
    );
    for (const [, permission, name, uri] of rows) visit(storedUri(uri + name), permission);
    const end = rows[windowRows - 1];
    if (end === undefined) return;
    last = [end[0], end[1], end[2]];
    yield;
  }
}

/** Visits the entries of a principal with one permission, in some folders, until `visit` returns that it is enough. */
function* walkFolders(
  connection: Connection,
  principal: Principal,
  permission: string,
  folders: readonly FolderRow[],
  pattern: ObjectPattern,
  visit: (objectId: ObjectUri) => boolean,
): Steps<void> {
  const start = pattern.name ?? '';
  const only = pattern.name === undefined ? '' : 'AND name <= ?';
  for (const [folder, uri] of folders) {
    let names: readonly (readonly [string])[] = [];
    do {
      if (names.length > 0) yield;
      names = connection.all<[string]>(
        `SELECT name FROM entries WHERE principal = ? AND folder = ? AND permission = ?
        AND name ${names.length === 0 ? '>=' : '>'} ? ${only} ORDER BY name LIMIT ?`,
        principal,
        folder,
        permission,
        names.at(-1)?.[0] ?? start,
        ...(pattern.name === undefined ? [] : [pattern.name]),
        windowRows,
      );
      for (const [name] of names) if (pattern.matches(uri + name) && visit(storedUri(uri + name))) return;
    } while (names.length === windowRows);
  }
}
