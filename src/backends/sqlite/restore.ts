// Puts entries into a list exactly as they are in another store.
import type { Steps } from '../../base/steps.ts';
import type { Restoration } from '../../contracts/storage.ts';
import { restoredClock } from '../../core/lists/list-state.ts';
import {
  isTombstone,
  type ListKey,
  type StoredEntry,
  StoredObject,
  type Tombstone,
} from '../../core/objects/stored.ts';
import { BoundText, type Connection } from './connection.ts';
import type { ListRows } from './list-rows.ts';
import { holdsPlainNumbersOnly } from './plain-numbers.ts';

/** Number of entries stored without a pause. */
const entriesPerStep = 100;

/** Stores the entries in steps, each of which leaves the row of the list right. */
export function* restoreEntries(
  connection: Connection,
  rows: ListRows,
  key: ListKey,
  { clock, entries, horizon, gone = [] }: Restoration,
): Steps<void> {
  const { list } = rows.ensure(connection, key, clock);
  rows.change(connection, key, { clock, horizon });
  rows.store(connection);
  for (let start = 0; start < gone.length; start += entriesPerStep) {
    const counts = { live: 0, dead: 0 };
    for (const id of gone.slice(start, start + entriesPerStep)) {
      counts.live -= connection.run('DELETE FROM objects WHERE list = ? AND id = ?', list, id);
      counts.dead -= connection.run('DELETE FROM tombstones WHERE list = ? AND id = ?', list, id);
    }
    rows.change(connection, key, counts);
    rows.store(connection);
    yield;
  }
  for (let start = 0; start < entries.length; start += entriesPerStep) {
    if (start > 0) yield;
    restoreStep(connection, rows, key, entries.slice(start, start + entriesPerStep));
  }
}

function restoreStep(connection: Connection, rows: ListRows, key: ListKey, entries: readonly StoredEntry[]): void {
  const latest = restoredClock(0, entries);
  const row = rows.ensure(connection, key, latest);
  const objects = entries.filter((entry) => entry instanceof StoredObject);
  const tombstones = entries.filter(isTombstone);
  const counts = { live: 0, dead: 0 };
  // Storing an object finds the objects in its way, and storing a tombstone the tombstones.
  if (row.dead > 0) counts.dead -= clear(connection, 'tombstones', row.list, objects);
  if (row.live > 0) counts.live -= clear(connection, 'objects', row.list, tombstones);
  for (const object of objects) {
    while (!insertObject(connection, row.list, object))
      counts.live -= clearPlace(connection, 'objects', row.list, object);
  }
  for (const tombstone of tombstones) {
    while (!insertTombstone(connection, row.list, tombstone)) {
      counts.dead -= clearPlace(connection, 'tombstones', row.list, tombstone);
    }
  }
  counts.live += objects.length;
  counts.dead += tombstones.length;
  rows.change(connection, key, { ...counts, clock: latest });
  rows.store(connection);
}

/** Stores an object, unless another one has its id or its timestamp. Returns whether it was stored. */
function insertObject(connection: Connection, list: number, { id, lastModified, text }: StoredObject): boolean {
  const sql = `INSERT INTO objects (list, id, last_modified, plain, data)
    VALUES (?, ?, ?, ?, CAST(? AS TEXT)) ON CONFLICT DO NOTHING`;
  return connection.run(sql, list, id, lastModified, holdsPlainNumbersOnly(text) ? 1 : 0, BoundText.of(text)) > 0;
}

/** Stores a tombstone, unless another one has its id or its timestamp. Returns whether it was stored. */
function insertTombstone(connection: Connection, list: number, { id, lastModified }: Tombstone): boolean {
  const sql = 'INSERT INTO tombstones (list, id, last_modified) VALUES (?, ?, ?) ON CONFLICT DO NOTHING';
  return connection.run(sql, list, id, lastModified) > 0;
}

/** Removes the rows that have an id or a timestamp of the entries. Returns their number. */
function clear(
  connection: Connection,
  table: 'objects' | 'tombstones',
  list: number,
  entries: readonly StoredEntry[],
): number {
  if (entries.length === 0 || !isInTheWay(connection, table, list, entries)) return 0;
  return entries.reduce((sum, entry) => sum + clearPlace(connection, table, list, entry), 0);
}

/** Removes the rows that have the id or the timestamp of the entry. Returns their number. */
function clearPlace(
  connection: Connection,
  table: 'objects' | 'tombstones',
  list: number,
  { id, lastModified }: StoredEntry,
): number {
  return connection.run(
    `DELETE FROM ${table} WHERE list = ? AND (id = ? OR last_modified = ?)`,
    list,
    id,
    lastModified,
  );
}

/** Whether the table may have rows of the ids or timestamps. Mostly it has none while a list is being filled. */
function isInTheWay(
  connection: Connection,
  table: 'objects' | 'tombstones',
  list: number,
  entries: readonly StoredEntry[],
): boolean {
  const times = entries.map(({ lastModified }) => lastModified);
  const byTime = `SELECT 1 FROM ${table} WHERE list = ? AND last_modified BETWEEN ? AND ? LIMIT 1`;
  if (connection.get(byTime, list, Math.min(...times), Math.max(...times)) !== undefined) return true;
  const byId = `SELECT 1 FROM json_each(?) j CROSS JOIN ${table} e WHERE e.list = ? AND e.id = j.value LIMIT 1`;
  return connection.get(byId, JSON.stringify(entries.map(({ id }) => id)), list) !== undefined;
}
