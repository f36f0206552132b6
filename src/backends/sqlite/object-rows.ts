// The rows of objects and tombstones: what is found under an id, and how it is replaced. The row of their list, with its
// clock and counts, is up to those who call.
import { IntegrityError, TransactionConflict } from '../../contracts/errors.ts';
import { StoredObject, type ListKey, type Tombstone } from '../../core/objects/stored.ts';
import type { Connection, SqlValue } from './connection.ts';
import { isTaken } from './errors.ts';
import type { ListRow } from './lists.ts';
import { holdsPlainNumbersOnly } from './plain-numbers.ts';
import { RowInsert } from './row-insert.ts';

/** A list, when it exists, and what is stored under one of its ids. */
export interface Found {
  readonly list: ListRow | undefined;
  readonly object: StoredObject | undefined;
  readonly tombstone: Tombstone | undefined;
}

const nothing: Found = { list: undefined, object: undefined, tombstone: undefined };

/**
 * The timestamp after this one, which is the time if that is later.
 *
 * @throws IntegrityError when a client has used up all timestamps with one far in the future
 */
export function nextAfter(timestamp: number, now: number): number {
  const next = Math.max(now, timestamp + 1);
  if (!Number.isSafeInteger(next)) throw new IntegrityError('the list has no timestamps left');
  return next;
}

const insert = new RowInsert('INSERT INTO objects (list, id, last_modified, plain, data)', 5);

/** A new object and the number of its list. */
export interface NewRow {
  readonly list: number;
  readonly object: StoredObject;
}

/**
 * Stores new objects. The rows of their lists are the caller's.
 *
 * @throws TransactionConflict when others have an id, which nobody looked for
 */
export function insertObjects(connection: Connection, rows: readonly NewRow[]): void {
  const values: SqlValue[] = [];
  for (const { list, object } of rows) {
    const { id, lastModified, text } = object;
    values.push(list, id, lastModified, holdsPlainNumbersOnly(text) ? 1 : 0, text);
  }
  try {
    insert.run(connection, values);
  } catch (error) {
    if (isTaken(error)) throw new TransactionConflict('an id that was drawn at random is taken', { cause: error });
    throw error;
  }
}

/** The list and what is stored under the id, in one look. */
export function findObject(connection: Connection, { kind, parent }: ListKey, id: string): Found {
  const row = connection.get<
    [
      list: number,
      clock: number,
      live: number,
      dead: number,
      modified: number | null,
      data: string | null,
      deleted: number | null,
    ]
  >(
    `SELECT l.list, l.clock, l.live, l.dead, o.last_modified, o.data, t.last_modified FROM lists l
    LEFT JOIN objects o ON o.list = l.list AND o.id = ?
    LEFT JOIN tombstones t ON t.list = l.list AND t.id = ?
    WHERE l.kind = ? AND l.parent = ?`,
    id,
    id,
    kind,
    parent,
  );
  if (row === undefined) return nothing;
  const [list, clock, live, dead, modified, data, deleted] = row;
  return {
    list: { list, clock, live, dead },
    object: modified === null || data === null ? undefined : new StoredObject(id, modified, data),
    tombstone: deleted === null ? undefined : { id, lastModified: deleted, deleted: true },
  };
}

/** A list, when it exists, and whether one of its ids is taken. */
export interface Presence {
  readonly list: ListRow | undefined;
  readonly isLive: boolean;
  readonly isDead: boolean;
}

/** Returns what `findObject` does without the text, which may be long and is not needed to replace it. */
export function findPresence(connection: Connection, { kind, parent }: ListKey, id: string): Presence {
  const row = connection.get<[list: number, clock: number, live: number, dead: number, isLive: 0 | 1, isDead: 0 | 1]>(
    `SELECT l.list, l.clock, l.live, l.dead,
    EXISTS (SELECT 1 FROM objects o WHERE o.list = l.list AND o.id = ?),
    EXISTS (SELECT 1 FROM tombstones t WHERE t.list = l.list AND t.id = ?)
    FROM lists l WHERE l.kind = ? AND l.parent = ?`,
    id,
    id,
    kind,
    parent,
  );
  if (row === undefined) return { list: undefined, isLive: false, isDead: false };
  const [list, clock, live, dead, isLive, isDead] = row;
  return { list: { list, clock, live, dead }, isLive: isLive === 1, isDead: isDead === 1 };
}

/** Stores a live object in place of what was found under its id. The list's row is the caller's. */
export function putObject(
  connection: Connection,
  list: number,
  object: StoredObject,
  { isLive, isDead }: Pick<Presence, 'isLive' | 'isDead'>,
): void {
  if (!isLive) insertObjects(connection, [{ list, object }]);
  else {
    const { id, lastModified, text } = object;
    const sql = 'UPDATE objects SET last_modified = ?, plain = ?, data = ? WHERE list = ? AND id = ?';
    connection.run(sql, lastModified, holdsPlainNumbersOnly(text) ? 1 : 0, text, list, id);
  }
  if (isDead) {
    connection.run('DELETE FROM tombstones WHERE list = ? AND id = ?', list, object.id);
  }
}

/**
 * Removes a live object and leaves a tombstone when there is a timestamp for one. The list's row is the caller's.
 *
 * @returns whether there was an object
 */
export function removeObject(connection: Connection, list: number, id: string, tombstone: number | undefined): boolean {
  if (connection.run('DELETE FROM objects WHERE list = ? AND id = ?', list, id) === 0) return false;
  if (tombstone !== undefined) {
    connection.run('INSERT INTO tombstones (list, id, last_modified) VALUES (?, ?, ?)', list, id, tombstone);
  }
  return true;
}
