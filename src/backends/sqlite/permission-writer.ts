// The writing half of the permission contract, inside a unit of work.
import type { ObjectPermissions, PermissionWriter } from '../../contracts/permission.ts';
import type { Access } from './access.ts';
import type { Connection } from './connection.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { SqlitePermissionReader } from './permission-reader.ts';
import { rangeBelow, rangeOfPrefix } from '../sql/text-range.ts';

/** Objects given entries without a pause. */
const objectsPerStep = 500;

export class SqlitePermissionWriter extends SqlitePermissionReader implements PermissionWriter {
  readonly #announceDoomed: () => void;

  constructor(access: Access, announceDoomed: () => void) {
    super(access);
    this.#announceDoomed = announceDoomed;
  }

  addUserPrincipal(userId: string, principal: string): Promise<void> {
    return this.#run('INSERT OR IGNORE INTO user_principals (user_id, principal) VALUES (?, ?)', userId, principal);
  }

  removeUserPrincipal(userId: string, principal: string): Promise<void> {
    return this.#run('DELETE FROM user_principals WHERE user_id = ? AND principal = ?', userId, principal);
  }

  removePrincipal(principal: string): Promise<void> {
    return this.#run('DELETE FROM user_principals WHERE principal = ?', principal);
  }

  removePrincipalsBelow(prefix: string): Promise<void> {
    const { low, high } = rangeOfPrefix(prefix);
    return high === undefined
      ? this.#run('DELETE FROM user_principals WHERE principal >= ?', low)
      : this.#run('DELETE FROM user_principals WHERE principal >= ? AND principal < ?', low, high);
  }

  addPrincipalToAce(objectId: string, permission: string, principal: string): Promise<void> {
    return this.access.run((connection) => {
      const { folder, name } = splitObjectId(objectId);
      grant(connection, ensureFolder(connection, folder), name, permission, principal);
    });
  }

  removePrincipalFromAce(objectId: string, permission: string, principal: string): Promise<void> {
    const { folder, name } = splitObjectId(objectId);
    return this.#run(
      `DELETE FROM entries WHERE folder = (SELECT folder FROM folders WHERE uri = ?)
      AND name = ? AND permission = ? AND principal = ?`,
      folder,
      name,
      permission,
      principal,
    );
  }

  removePrincipalFromAces(principal: string): Promise<void> {
    return this.#run('DELETE FROM entries WHERE principal = ?', principal);
  }

  addToAces(entries: readonly { readonly objectId: string; readonly permissions: ObjectPermissions }[]): Promise<void> {
    return this.access.read(function* (connection) {
      for (const [index, { objectId, permissions }] of entries.entries()) {
        if (index > 0 && index % objectsPerStep === 0) yield;
        const { folder: uri, name } = splitObjectId(objectId);
        for (const [permission, principals] of Object.entries(permissions)) {
          if (principals.length === 0) continue;
          const folder = ensureFolder(connection, uri);
          for (const principal of principals) grant(connection, folder, name, permission, principal);
        }
      }
    });
  }

  replaceObjectPermissions(objectId: string, permissions: ObjectPermissions): Promise<void> {
    return this.access.run((connection) => {
      const { folder: uri, name } = splitObjectId(objectId);
      let folder = findFolder(connection, uri);
      for (const [permission, principals] of Object.entries(permissions)) {
        if (folder !== undefined) {
          connection.run(
            'DELETE FROM entries WHERE folder = ? AND name = ? AND permission = ?',
            folder,
            name,
            permission,
          );
        }
        if (principals.length === 0) continue;
        folder ??= ensureFolder(connection, uri);
        for (const principal of principals) grant(connection, folder, name, permission, principal);
      }
    });
  }

  deleteObjectPermissions(objectIds: readonly string[]): Promise<void> {
    return this.access.run((connection) => {
      for (const objectId of objectIds) {
        const { folder, name } = splitObjectId(objectId);
        connection.run(
          'DELETE FROM entries WHERE folder = (SELECT folder FROM folders WHERE uri = ?) AND name = ?',
          folder,
          name,
        );
      }
    });
  }

  /** Takes the folders away and leaves their entries, which nobody can reach any more, to the reaper. */
  deletePermissionsBelow(uri: string): Promise<void> {
    return this.access.run((connection) => {
      const { low, high } = rangeBelow(uri);
      const doomed = connection.run(
        'INSERT INTO doomed_folders (folder) SELECT folder FROM folders WHERE uri >= ? AND uri < ?',
        low,
        high,
      );
      if (doomed === 0) return;
      connection.run('DELETE FROM folders WHERE uri >= ? AND uri < ?', low, high);
      this.#announceDoomed();
    });
  }

  flush(): Promise<void> {
    return this.access.run((connection) => {
      for (const table of ['entries', 'folders', 'doomed_folders', 'user_principals']) {
        connection.run(`DELETE FROM ${table}`);
      }
    });
  }

  #run(sql: string, ...parameters: readonly string[]): Promise<void> {
    return this.access.run((connection) => {
      connection.run(sql, ...parameters);
    });
  }
}

function findFolder(connection: Connection, uri: string): number | undefined {
  return connection.get<[number]>('SELECT folder FROM folders WHERE uri = ?', uri)?.[0];
}

function ensureFolder(connection: Connection, uri: string): number {
  return (
    findFolder(connection, uri) ??
    connection.get<[number]>('INSERT INTO folders (uri) VALUES (?) RETURNING folder', uri)![0]
  );
}

function grant(connection: Connection, folder: number, name: string, permission: string, principal: string): void {
  connection.run(
    'INSERT OR IGNORE INTO entries (folder, name, permission, principal) VALUES (?, ?, ?, ?)',
    folder,
    name,
    permission,
    principal,
  );
}
