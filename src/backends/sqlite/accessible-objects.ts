// Finds the objects on which principals have permissions. When the patterns allow few folders, only these are searched.
// Otherwise the entries of the principals are, because that is less work.
import type { AccessibleOptions, BoundPattern, RequireRoomForObjects } from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import { listNameOf } from '../../core/permissions/object-pattern.ts';
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

interface SearchOptions {
  readonly withChildren: boolean;
  readonly limit?: number | undefined;
  readonly requireRoom?: RequireRoomForObjects | undefined;
}

/** Returns every entry of the principals, or those on objects of some lists. */
export function* findAllAccessible(
  connection: Connection,
  principals: readonly Principal[],
  { lists, requireRoom }: Pick<AccessibleOptions, 'lists' | 'requireRoom'>,
): Steps<AccessibleObjects> {
  const found: Found = new Map();
  const names = lists && new Set(lists);
  for (const [index, principal] of [...new Set(principals)].entries()) {
    if (index > 0 && index % principalsPerStep === 0) yield;
    const visit = (objectId: ObjectUri, permission: string): void => addAccessible(found, objectId, permission);
    const requireMore = besides(found, requireRoom);
    if (names === undefined) yield* walkEntries(connection, principal, visit, requireMore);
    else yield* walkLists(connection, { principal, names, visit }, requireMore);
  }
  return found;
}

/** Returns what reserves memory for objects besides those that are found already. */
function besides(
  found: Found,
  requireRoom: RequireRoomForObjects | undefined,
  limit = Infinity,
): RequireRoomForObjects | undefined {
  const before = found.size;
  return requireRoom && ((more) => requireRoom(Math.min(before + more, limit)));
}

/** Returns the entries of the principals that match one of the patterns. */
export function* findAccessible(
  connection: Connection,
  principals: readonly Principal[],
  bound: readonly BoundPattern[],
  { withChildren, limit = Infinity, requireRoom }: SearchOptions,
): Steps<AccessibleObjects> {
  const found: Found = new Map();
  for (const { pattern: text, permission } of bound) {
    const pattern = compilePattern(text, withChildren);
    const folders = findFolders(connection, pattern);
    if (folders?.length === 0) continue;
    for (const [index, principal] of [...new Set(principals)].entries()) {
      if (index > 0 && index % principalsPerStep === 0) yield;
      if (found.size >= limit) return found;
      const requireMore = besides(found, requireRoom, limit);
      if (folders === undefined) {
        const visit = (objectId: ObjectUri, name: string): void => {
          if (name === permission && pattern.matches(objectId)) addAccessible(found, objectId, permission);
        };
        yield* walkEntries(connection, principal, visit, requireMore);
      } else {
        const visit = (objectId: ObjectUri): boolean => {
          addAccessible(found, objectId, permission);
          return found.size >= limit;
        };
        yield* walkFolders(connection, { principal, permission, folders, pattern }, visit, requireMore);
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

/**
 * Visits all entries of a principal.
 *
 * @param requireMore called with the number of entries when they are many
 */
function* walkEntries(
  connection: Connection,
  principal: Principal,
  visit: (objectId: ObjectUri, permission: string) => void,
  requireMore: RequireRoomForObjects | undefined,
): Steps<void> {
  let last: readonly [folder: number, permission: string, name: string] = [-1, '', ''];
  for (let window = 1; ; window++) {
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
    if (window === 1) requireMore?.(countRows(connection, 'principal = ?', principal));
    yield;
  }
}

interface ListWalk {
  readonly principal: Principal;
  /** Names of the lists. */
  readonly names: ReadonlySet<string>;
  readonly visit: (objectId: ObjectUri, permission: string) => void;
}

/** Visits the entries of a principal on objects of some lists. Other folders are skipped, however many entries they have. */
function* walkLists(
  connection: Connection,
  { principal, names, visit }: ListWalk,
  requireMore: RequireRoomForObjects | undefined,
): Steps<void> {
  let [looked, visited, reserved] = [0, 0, 0];
  for (let last = -1; ;) {
    const row = connection.get<FolderRow>(
      `SELECT e.folder, f.uri FROM entries e CROSS JOIN folders f
      WHERE e.principal = ? AND e.folder > ? AND f.folder = e.folder ORDER BY e.folder LIMIT 1`,
      principal,
      last,
    );
    if (row === undefined) return;
    const [folder, uri] = row;
    last = folder;
    if (++looked % principalsPerStep === 0) yield;
    if (!names.has(listNameOf(`${uri}-`))) continue;
    let rows: readonly (readonly [permission: string, name: string])[] = [];
    for (let window = 1; window === 1 || rows.length === windowRows; window++) {
      if (visited - reserved >= windowRows) {
        reserved = visited;
        requireMore?.(visited + windowRows);
        yield;
      }
      rows = connection.all<[string, string]>(
        `SELECT permission, name FROM entries WHERE principal = ? AND folder = ? AND (permission, name) > (?, ?)
        ORDER BY permission, name LIMIT ?`,
        principal,
        folder,
        ...(rows.at(-1) ?? ['', '']),
        windowRows,
      );
      for (const [permission, name] of rows) visit(storedUri(uri + name), permission);
      visited += rows.length;
    }
  }
}

/** Returns the number of entries that fulfil a condition. */
function countRows(connection: Connection, condition: string, ...parameters: readonly (string | number)[]): number {
  const [row] = connection.all<[number]>(`SELECT count(*) FROM entries WHERE ${condition}`, ...parameters);
  return row![0];
}

interface FolderWalk {
  readonly principal: Principal;
  readonly permission: string;
  readonly folders: readonly FolderRow[];
  readonly pattern: ObjectPattern;
}

/**
 * Visits the entries of a principal with one permission, in some folders, until `visit` returns that it is enough.
 *
 * @param requireMore called with the number of entries of a folder when they are many
 */
function* walkFolders(
  connection: Connection,
  { principal, permission, folders, pattern }: FolderWalk,
  visit: (objectId: ObjectUri) => boolean,
  requireMore: RequireRoomForObjects | undefined,
): Steps<void> {
  const start = pattern.name ?? '';
  const only = pattern.name === undefined ? '' : 'AND name <= ?';
  for (const [folder, uri] of folders) {
    let names: readonly (readonly [string])[] = [];
    for (let window = 1; window === 1 || names.length === windowRows; window++) {
      if (window === 2 && requireMore !== undefined) {
        const condition = 'principal = ? AND folder = ? AND permission = ?';
        requireMore(countRows(connection, condition, principal, folder, permission));
      }
      if (window > 1) yield;
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
    }
  }
}
