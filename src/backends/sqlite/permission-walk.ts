// Walks over all objects that have entries, by folder and then by name.
import type { ObjectEntries, ObjectPermissions } from '../../contracts/permission.ts';
import type { Steps } from '../../base/steps.ts';
import { storedUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import type { Connection } from './connection.ts';

/** Number of objects that are read, and of folders that are visited, without a pause. */
const objectsPerStep = 500;

/** Returns the objects with entries after the given one. Empty folders are skipped. */
export function* readObjectsAfter(
  connection: Connection,
  after: string | undefined,
  limit: number,
): Steps<readonly ObjectEntries[]> {
  const start = after === undefined ? undefined : splitObjectId(after);
  const found: ObjectEntries[] = [];
  let last: string | undefined;
  for (;;) {
    const folders: readonly [number, string][] =
      last === undefined
        ? connection.all(
            'SELECT folder, uri FROM folders WHERE uri >= ? ORDER BY uri LIMIT ?',
            start?.folder ?? '',
            objectsPerStep,
          )
        : connection.all('SELECT folder, uri FROM folders WHERE uri > ? ORDER BY uri LIMIT ?', last, objectsPerStep);
    for (const [folder, uri] of folders) {
      if (found.length >= limit) break;
      const from = start !== undefined && uri === start.folder ? start.name : undefined;
      yield* readFolder(connection, { folder, uri }, from, limit, found);
      last = uri;
    }
    if (found.length >= limit || folders.length < objectsPerStep) return found;
    yield;
  }
}

/** Adds the objects of a folder after the given name, up to the limit. */
function* readFolder(
  connection: Connection,
  { folder, uri }: { readonly folder: number; readonly uri: string },
  after: string | undefined,
  limit: number,
  found: ObjectEntries[],
): Steps<void> {
  let last = after;
  while (found.length < limit) {
    const wanted = Math.min(objectsPerStep, limit - found.length);
    const names =
      last === undefined
        ? connection.all<[string]>(
            'SELECT DISTINCT name FROM entries WHERE folder = ? ORDER BY name LIMIT ?',
            folder,
            wanted,
          )
        : connection.all<[string]>(
            'SELECT DISTINCT name FROM entries WHERE folder = ? AND name > ? ORDER BY name LIMIT ?',
            folder,
            last,
            wanted,
          );
    const [first] = names;
    if (first === undefined) return;
    last = names.at(-1)![0];
    readNames(connection, folder, [first[0], last], (name, permissions) => {
      found.push({ objectId: storedUri(uri + name), permissions });
    });
    if (names.length < wanted) return;
    yield;
  }
}

/** Reports all entries of the objects of a folder in a range of names, both ends included. */
function readNames(
  connection: Connection,
  folder: number,
  [low, high]: readonly [string, string],
  report: (name: string, permissions: ObjectPermissions) => void,
): void {
  const rows = connection.all<[name: string, permission: string, principal: Principal]>(
    `SELECT name, permission, principal FROM entries WHERE folder = ? AND name BETWEEN ? AND ?
    ORDER BY name, permission`,
    folder,
    low,
    high,
  );
  let entries = new Map<string, Principal[]>();
  for (const [index, [name, permission, principal]] of rows.entries()) {
    const principals = entries.get(permission);
    if (principals === undefined) entries.set(permission, [principal]);
    else principals.push(principal);
    if (rows[index + 1]?.[0] === name) continue;
    report(name, Object.fromEntries(entries));
    entries = new Map();
  }
}
