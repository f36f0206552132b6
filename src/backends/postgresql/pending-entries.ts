// Changes of entries that a unit of work holds back, so that those of many objects are sent as a few statements. Only the
// last change of each entry is kept. Other statements of the unit are sent after them.
import { inChunks } from '../../base/in-chunks.ts';
import type { ObjectPermissions } from '../../contracts/permission.ts';
import type { ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import { textArray } from './array-text.ts';
import { prepared, type SqlValue, type Statement } from './connection.ts';
import { keyOfText } from './text-key.ts';

const addFolder = prepared('add-folder', 'INSERT INTO coffer_folders (parent) VALUES ($1) ON CONFLICT DO NOTHING');
const insertEntries = `INSERT INTO coffer_entries (parent, folder, name, permission, principal_key, principal)
  SELECT f.parent, f.folder, b.name, b.permission, b.principal_key, b.principal FROM coffer_folders f
  CROSS JOIN unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS b (name, permission, principal_key, principal)
  WHERE f.parent = $1`;
// ON CONFLICT makes the insert half as slow again, even without conflicts.
const addToFolder = prepared('add-to-folder', `${insertEntries} ON CONFLICT DO NOTHING`);
const addNewToFolder = prepared('add-new-to-folder', insertEntries);
// By the list of names, which the index supports. In a join with pairs of name and permission, a plan made when the folder
// was small would read the whole folder.
const emptyEntries = prepared(
  'empty-entries',
  `DELETE FROM coffer_entries e USING coffer_folders f
  WHERE f.parent = $1 AND e.parent = $1 AND e.folder = f.folder AND e.name = ANY ($2::text[]) AND e.permission = $3`,
);

const removeObjects = prepared(
  'remove-objects',
  `DELETE FROM coffer_entries e USING coffer_folders f
  WHERE f.parent = $1 AND e.parent = f.parent AND e.folder = f.folder AND e.name = ANY ($2::text[])`,
);

/** Maximum number of rows that one statement changes. */
const chunkRows = 2000;

interface Entry {
  readonly name: string;
  readonly permission: string;
  /** Whether the existing principals are removed. */
  isReplaced: boolean;
  /** Whether the caller expects the entry not to exist. */
  readonly isFresh: boolean;
  /** Key → principal. */
  readonly principals: Map<string, Principal>;
}

/** Pending changes in one folder. */
interface Folder {
  /** Names of the objects whose entries are removed before the changes below. */
  readonly removed: Set<string>;
  /** By name and permission. */
  readonly entries: Map<string, Entry>;
}

export class PendingEntries {
  readonly #folders = new Map<string, Folder>();
  #count = 0;
  readonly #send: (statement: Statement, values: readonly SqlValue[]) => void;

  constructor(send: (statement: Statement, values: readonly SqlValue[]) => void) {
    this.#send = send;
  }

  /**
   * Adds principals to the entries of an object.
   *
   * @param isFresh whether it has none of the entries so far
   */
  add(objectId: ObjectUri, permissions: ObjectPermissions, isFresh = false): void {
    for (const [permission, principals] of Object.entries(permissions)) {
      if (principals.length === 0) continue;
      const entry = this.#entry(objectId, permission, isFresh);
      this.#put(entry, principals);
    }
    this.#limit();
  }

  /** Replaces entries of an object. */
  replace(objectId: ObjectUri, permissions: ObjectPermissions): void {
    for (const [permission, principals] of Object.entries(permissions)) {
      const entry = this.#entry(objectId, permission, false);
      entry.isReplaced = true;
      entry.principals.clear();
      this.#put(entry, principals);
    }
    this.#limit();
  }

  /** Removes all entries of objects. */
  remove(objectIds: readonly ObjectUri[]): void {
    const names = new Map<Folder, Set<string>>();
    for (const objectId of objectIds) {
      const { folder, name } = splitObjectId(objectId);
      const pending = this.#folder(folder);
      pending.removed.add(name);
      const known = names.get(pending);
      if (known === undefined) names.set(pending, new Set([name]));
      else known.add(name);
    }
    for (const [{ entries }, removed] of names) {
      for (const [key, { name }] of entries) if (removed.has(name)) entries.delete(key);
    }
    this.#count += objectIds.length;
    this.#limit();
  }

  /** Sends all pending changes. */
  flush(): void {
    if (this.#folders.size === 0) return;
    this.#count = 0;
    const folders = [...this.#folders];
    this.#folders.clear();
    for (const [folder, { removed, entries }] of folders) {
      for (const chunk of inChunks([...removed], chunkRows)) this.#send(removeObjects, [folder, chunk]);
      this.#flushFolder(folder, [...entries.values()]);
    }
  }

  #put(entry: Entry, principals: readonly Principal[]): void {
    for (const principal of principals) entry.principals.set(keyOfText(principal), principal);
    this.#count += principals.length + 1;
  }

  #limit(): void {
    if (this.#count >= chunkRows) this.flush();
  }

  #flushFolder(folder: string, entries: readonly Entry[]): void {
    const emptied = new Map<string, string[]>();
    for (const { name, permission, isReplaced } of entries) {
      if (!isReplaced) continue;
      const names = emptied.get(permission);
      if (names === undefined) emptied.set(permission, [name]);
      else names.push(name);
    }
    for (const [permission, names] of emptied) {
      for (const chunk of inChunks(names, chunkRows)) this.#send(emptyEntries, [folder, chunk, permission]);
    }
    const added = entries.filter(({ principals }) => principals.size > 0);
    if (added.length > 0) this.#send(addFolder, [folder]);
    for (const isFresh of [true, false]) {
      const rows = added.filter((entry) => (entry.isFresh && !entry.isReplaced) === isFresh).flatMap(rowsOf);
      for (const chunk of inChunks(rows, chunkRows)) {
        this.#send(isFresh ? addNewToFolder : addToFolder, [folder, ...columnsOf(chunk)]);
      }
    }
  }

  #entry(objectId: ObjectUri, permission: string, isFresh: boolean): Entry {
    const { folder, name } = splitObjectId(objectId);
    const { entries } = this.#folder(folder);
    // A name contains no slash. A permission may.
    const key = `${name}/${permission}`;
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { name, permission, isReplaced: false, isFresh, principals: new Map() };
      entries.set(key, entry);
    }
    return entry;
  }

  #folder(name: string): Folder {
    let folder = this.#folders.get(name);
    if (folder === undefined) this.#folders.set(name, (folder = { removed: new Set(), entries: new Map() }));
    return folder;
  }
}

interface EntryRow {
  readonly name: string;
  readonly permission: string;
  readonly key: string;
  /** `null` when it equals the key. */
  readonly principal: Principal | null;
}

function rowsOf({ name, permission, principals }: Entry): readonly EntryRow[] {
  return Array.from(principals, ([key, principal]) => {
    return { name, permission, key, principal: key === principal ? null : principal };
  });
}

function columnsOf(rows: readonly EntryRow[]): readonly SqlValue[] {
  const principals = rows.map(({ principal }) => principal);
  return [
    textArray(rows.map(({ name }) => name)),
    textArray(rows.map(({ permission }) => permission)),
    textArray(rows.map(({ key }) => key)),
    // An empty array stands for principals that all equal their keys.
    textArray(principals.every((principal) => principal === null) ? [] : principals),
  ];
}
