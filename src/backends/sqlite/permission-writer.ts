// Writes of the permission contract inside a unit of work.
import type {
  BoundPermission,
  ObjectEntries,
  ObjectPermissions,
  PermissionWriter,
} from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal, UserId } from '../../core/permissions/principals.ts';
import type { UnitAccess } from './access.ts';
import type { Connection } from './connection.ts';
import { countPrincipals, deleteEntries, Folders, grant, grantAll, replaceEntries } from './entry-rows.ts';
import type { Changes } from './read-cache.ts';
import { runAtOnce, type Steps } from '../../base/steps.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { SqlitePermissionReader } from './permission-reader.ts';
import { rangeBelow, rangeOfPrefix } from '../sql/text-range.ts';

/** Maximum number of principals that are added in one step. */
const maxAtOnce = 100;
/** Number of objects whose entries are deleted without a pause. */
const objectsPerStep = 100;

/** Number of folders, and of rows of principals, that are deleted without a pause. */
const foldersPerStep = 200;
const deletedPerStep = 1000;

interface KeyedTable {
  readonly name: string;
  /** Columns of the primary key. */
  readonly key: string;
}

const memberships: KeyedTable = { name: 'user_principals', key: 'user_id, principal' };
const entriesTable: KeyedTable = { name: 'entries', key: 'folder, name, permission, principal' };

interface Result {
  readonly bound: readonly BoundPermission[];
  readonly isGranted: Promise<boolean>;
}

export class SqlitePermissionWriter extends SqlitePermissionReader implements PermissionWriter {
  readonly #changes: Changes;
  readonly #wakeReaper: () => void;
  /**
   * Results of checks of this unit, because the entries of a batch make the same checks. No other unit changes entries or
   * memberships meanwhile; the unit's own changes remove the results that they affect.
   */
  readonly #results = new Map<string, Result>();
  readonly #folders = new Folders();

  constructor(access: UnitAccess, wakeReaper: () => void) {
    super(access);
    this.#changes = access.changes;
    this.#wakeReaper = wakeReaper;
  }

  override checkPermission(
    principals: readonly Principal[],
    bound: readonly BoundPermission[],
    memberOf?: UserId,
  ): Promise<boolean> {
    const key = JSON.stringify([principals, bound, memberOf]);
    const known = this.#results.get(key);
    if (known !== undefined) return known.isGranted;
    // Cached before a later call can write: the result depends on the present entries.
    const isGranted = super.checkPermission(principals, bound, memberOf);
    this.#results.set(key, { bound, isGranted });
    return isGranted;
  }

  addUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    this.#changes.ofPrincipals(userId);
    return this.#run('INSERT OR IGNORE INTO user_principals (user_id, principal) VALUES (?, ?)', userId, principal);
  }

  removeUserPrincipal(userId: Principal, principal: Principal): Promise<void> {
    this.#changes.ofPrincipals(userId);
    return this.#run('DELETE FROM user_principals WHERE user_id = ? AND principal = ?', userId, principal);
  }

  removePrincipal(principal: Principal): Promise<void> {
    return this.#deleteInSteps(memberships, 'principal = ?', principal);
  }

  removePrincipalsBelow(prefix: string): Promise<void> {
    const { low, high } = rangeOfPrefix(prefix);
    return high === undefined
      ? this.#deleteInSteps(memberships, 'principal >= ?', low)
      : this.#deleteInSteps(memberships, 'principal >= ? AND principal < ?', low, high);
  }

  addPrincipalToAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    this.#results.clear();
    this.#changes.ofEntries(objectId);
    return this.access.run((connection) => {
      const { folder, name } = splitObjectId(objectId);
      grant(connection, this.#folders.ensure(connection, folder), name, permission, principal);
    });
  }

  removePrincipalFromAce(objectId: ObjectUri, permission: string, principal: Principal): Promise<void> {
    this.#changes.ofEntries(objectId);
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

  removePrincipalFromAces(principal: Principal): Promise<void> {
    return this.#deleteInSteps(entriesTable, 'principal = ?', principal);
  }

  addToAces(entries: readonly ObjectEntries[]): Promise<void> {
    const objectIds = new Set(entries.map(({ objectId }) => objectId));
    for (const objectId of objectIds) this.#changes.ofEntries(objectId);
    this.#forgetResults(objectIds);
    const folders = this.#folders;
    const [first] = entries;
    if (first !== undefined && entries.length === 1 && countPrincipals(first.permissions) <= maxAtOnce) {
      return this.access.run((connection) => runAtOnce(grantAll(connection, entries, folders)));
    }
    return (
      this.access
        .read((connection) => grantAll(connection, entries, folders))
        // Removes results of checks between two steps.
        .finally(() => this.#forgetResults(objectIds))
    );
  }

  replaceObjectPermissions(objectId: ObjectUri, permissions: ObjectPermissions): Promise<void> {
    const objectIds = new Set([objectId]);
    this.#forgetResults(objectIds);
    this.#changes.ofEntries(objectId);
    return this.access
      .read((connection) => replaceEntries(connection, objectId, permissions, this.#folders))
      .finally(() => this.#forgetResults(objectIds));
  }

  deleteObjectPermissions(objectIds: readonly ObjectUri[]): Promise<void> {
    this.#results.clear();
    for (const objectId of objectIds) this.#changes.ofEntries(objectId);
    return this.access
      .read(function* (connection) {
        // In the order of the table, so that each of its pages is read once.
        for (const [index, objectId] of objectIds.toSorted().entries()) {
          if (index > 0 && index % objectsPerStep === 0) yield;
          deleteEntries(connection, objectId);
        }
      })
      .finally(() => this.#results.clear());
  }

  /** Deletes the folders. Their entries become unreachable, and the reaper deletes them. */
  deletePermissionsBelow(uri: ObjectUri): Promise<void> {
    const { low, high } = rangeBelow(uri);
    const below = 'SELECT folder FROM folders WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?';
    const wakeReaper = this.#wakeReaper;
    return this.#changeEverything(function* (connection) {
      for (;;) {
        const parameters = [low, high, foldersPerStep];
        const detached = connection.run(`INSERT INTO doomed_folders (folder) ${below}`, ...parameters);
        if (detached > 0) {
          connection.run(`DELETE FROM folders WHERE folder IN (${below})`, ...parameters);
          wakeReaper();
        }
        if (detached < foldersPerStep) return;
        yield;
      }
    });
  }

  flush(): Promise<void> {
    this.#results.clear();
    this.#folders.forget();
    this.#changes.ofEverything();
    return this.access.run((connection) => {
      for (const table of ['entries', 'folders', 'doomed_folders', 'user_principals']) {
        connection.run(`DELETE FROM ${table}`);
      }
    });
  }

  #forgetResults(objectIds: ReadonlySet<string>): void {
    for (const [key, { bound }] of this.#results) {
      if (bound.some(({ objectId }) => objectIds.has(objectId))) this.#results.delete(key);
    }
  }

  #deleteInSteps({ name, key }: KeyedTable, condition: string, ...parameters: readonly string[]): Promise<void> {
    const sql = `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE ${condition} LIMIT ?)`;
    return this.#changeEverything(function* (connection) {
      while (connection.run(sql, ...parameters, deletedPerStep) === deletedPerStep) yield;
    });
  }

  /** Writes in steps, and forgets what was read before them and between two of them. */
  #changeEverything(write: (connection: Connection) => Steps<void>): Promise<void> {
    const forget = (): void => {
      this.#results.clear();
      this.#folders.forget();
    };
    forget();
    this.#changes.ofEverything();
    return this.access.read(write).finally(forget);
  }

  #run(sql: string, ...parameters: readonly string[]): Promise<void> {
    this.#results.clear();
    return this.access.run((connection) => {
      connection.run(sql, ...parameters);
    });
  }
}
