// The rows of objects and tombstones: lookup by id, and replacement. Callers update the row of the list.
import { TransactionConflict } from '../../contracts/errors.ts';
import { StoredObject, type ListKey, type Tombstone } from '../../core/objects/stored.ts';
import { assignments, keyColumns, keyValues } from './key-columns.ts';
import { BoundText, type Connection, type SqlValue } from './connection.ts';
import { isTaken } from './errors.ts';
import { listColumns, type ListRow, type ListTuple } from './lists.ts';
import { holdsPlainNumbersOnly } from './plain-numbers.ts';
import { RowInsert } from './row-insert.ts';

/** A list, when it exists, and the object and tombstone of an id. */
export interface Found {
  readonly list: ListRow | undefined;
  readonly object: StoredObject | undefined;
  readonly tombstone: Tombstone | undefined;
}

type FoundTuple = [
  ...ListTuple,
  modified: number | null,
  data: string | null,
  bytes: number | null,
  deleted: number | null,
];

const nothing: Found = { list: undefined, object: undefined, tombstone: undefined };

/** Parameters of the columns that all objects have. */
const ownPlaces = ['?', '?', '?', '?', 'CAST(? AS TEXT)'];
const insert = new RowInsert('INSERT INTO objects (list, id, last_modified, plain, data)', ownPlaces);
const insertIndexed = new RowInsert(
  `INSERT INTO objects (list, id, last_modified, plain, data, ${keyColumns.join(', ')})`,
  [...ownPlaces, ...keyColumns.map(() => '?')],
);

/** A new object and the number of its list. */
export interface NewRow {
  readonly list: number;
  readonly object: StoredObject;
}

/**
 * Stores new objects.
 *
 * @throws TransactionConflict when an id is taken
 */
export function insertObjects(connection: Connection, rows: readonly NewRow[]): void {
  const values: (SqlValue | BoundText)[] = [];
  const indexed: (SqlValue | BoundText)[] = [];
  for (const { list, object } of rows) {
    const { id, lastModified, text, keys } = object;
    const own = [list, id, lastModified, holdsPlainNumbersOnly(text) ? 1 : 0, BoundText.of(text)];
    if (keys === undefined) values.push(...own);
    else indexed.push(...own, ...keyValues(keys));
  }
  try {
    if (values.length > 0) insert.run(connection, values);
    if (indexed.length > 0) insertIndexed.run(connection, indexed);
  } catch (error) {
    if (isTaken(error)) throw new TransactionConflict('a random id is taken', { cause: error });
    throw error;
  }
}

/** Texts of more bytes than `maxBytes` are deferred: the object is what `defer` returns. */
export interface Deferring {
  readonly maxBytes: number;
  readonly defer: (lastModified: number, bytes: number) => StoredObject;
}

const noDeferring: Deferring = {
  maxBytes: Number.MAX_SAFE_INTEGER,
  defer: () => {
    throw new RangeError('a text is longer than any can be');
  },
};

/** Reads the row of the list, and object and tombstone of the id, with one query. */
export function findObject(
  connection: Connection,
  { kind, parent }: ListKey,
  id: string,
  { maxBytes, defer }: Deferring = noDeferring,
): Found {
  const row = connection.get<FoundTuple>(
    `SELECT ${listColumns}, o.last_modified, CASE WHEN octet_length(o.data) <= ? THEN o.data END, octet_length(o.data),
    t.last_modified FROM lists l
    LEFT JOIN objects o ON o.list = l.list AND o.id = ?
    LEFT JOIN tombstones t ON t.list = l.list AND t.id = ?
    WHERE l.kind = ? AND l.parent = ?`,
    maxBytes,
    id,
    id,
    kind,
    parent,
  );
  if (row === undefined) return nothing;
  const [list, clock, horizon, live, dead, modified, data, bytes, deleted] = row;
  const read = (lastModified: number): StoredObject =>
    data === null ? defer(lastModified, bytes ?? 0) : new StoredObject(id, lastModified, data);
  return {
    list: { list, clock, horizon, live, dead },
    object: modified === null ? undefined : read(modified),
    tombstone: deleted === null ? undefined : { id, lastModified: deleted, deleted: true },
  };
}

/** A list, when it exists, and whether an id has an object or a tombstone; `undefined` stands for absence. */
export interface Presence {
  readonly list: ListRow | undefined;
  readonly object: unknown;
  readonly tombstone: unknown;
}

/** Returns what `findObject` does without the text, which may be long and is not needed to replace it. */
export function findPresence(connection: Connection, { kind, parent }: ListKey, id: string): Presence {
  const row = connection.get<
    [list: number, clock: number, live: number, dead: number, horizon: number, isLive: 0 | 1, isDead: 0 | 1]
  >(
    `SELECT l.list, l.clock, l.live, l.dead, l.horizon,
    EXISTS (SELECT 1 FROM objects o WHERE o.list = l.list AND o.id = ?),
    EXISTS (SELECT 1 FROM tombstones t WHERE t.list = l.list AND t.id = ?)
    FROM lists l WHERE l.kind = ? AND l.parent = ?`,
    id,
    id,
    kind,
    parent,
  );
  if (row === undefined) return nothing;
  const [list, clock, live, dead, horizon, isLive, isDead] = row;
  return {
    list: { list, clock, live, dead, horizon },
    object: isLive === 1 || undefined,
    tombstone: isDead === 1 || undefined,
  };
}

// Keys of indexes that are no longer declared stay: nothing reads them, and a new build replaces them.
const updateObject =
  'UPDATE objects SET last_modified = ?, plain = ?, data = CAST(? AS TEXT) WHERE list = ? AND id = ?';
const updateIndexed = `UPDATE objects SET last_modified = ?, plain = ?, data = CAST(? AS TEXT), ${assignments} WHERE list = ? AND id = ?`;

/** Stores a live object in place of the rows that were found under its id. */
export function putObject(
  connection: Connection,
  list: number,
  object: StoredObject,
  found: Pick<Presence, 'object' | 'tombstone'>,
): void {
  if (found.object === undefined) insertObjects(connection, [{ list, object }]);
  else {
    const { id, lastModified, text, keys } = object;
    const own = [lastModified, holdsPlainNumbersOnly(text) ? 1 : 0, BoundText.of(text)];
    const sql = keys === undefined ? updateObject : updateIndexed;
    connection.run(sql, ...own, ...(keys === undefined ? [] : keyValues(keys)), list, id);
  }
  if (found.tombstone !== undefined) {
    connection.run('DELETE FROM tombstones WHERE list = ? AND id = ?', list, object.id);
  }
}

/**
 * Removes a live object, and stores a tombstone when a timestamp for one is given.
 *
 * @returns whether the object existed
 */
export function removeObject(connection: Connection, list: number, id: string, tombstone: number | undefined): boolean {
  if (connection.run('DELETE FROM objects WHERE list = ? AND id = ?', list, id) === 0) return false;
  if (tombstone !== undefined) {
    connection.run('INSERT INTO tombstones (list, id, last_modified) VALUES (?, ?, ?)', list, id, tombstone);
  }
  return true;
}
