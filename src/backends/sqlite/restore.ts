// Puts entries into a list exactly as they were elsewhere.
import type { Restoration } from '../../contracts/storage.ts';
import {
  isTombstone,
  type ListKey,
  type StoredEntry,
  StoredObject,
  type Tombstone,
} from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import { findList, insertList, raiseHorizon, updateList } from './lists.ts';
import { holdsPlainNumbersOnly } from './plain-numbers.ts';
import type { Steps } from '../../base/steps.ts';

/** Entries stored without a pause. */
const entriesPerStep = 100;

/** Stores the entries, in steps each of which leaves the list's row right. */
export function* restoreEntries(
  connection: Connection,
  key: ListKey,
  { clock, entries, horizon, gone = [] }: Restoration,
): Steps<void> {
  const { list } = findList(connection, key) ?? insertList(connection, key, clock);
  updateList(connection, list, clock);
  if (horizon !== undefined) raiseHorizon(connection, list, horizon);
  for (let start = 0; start < gone.length; start += entriesPerStep) {
    const counts = { live: 0, dead: 0 };
    for (const id of gone.slice(start, start + entriesPerStep)) {
      counts.live -= connection.run('DELETE FROM objects WHERE list = ? AND id = ?', list, id);
      counts.dead -= connection.run('DELETE FROM tombstones WHERE list = ? AND id = ?', list, id);
    }
    updateList(connection, list, clock, counts);
    yield;
  }
  for (let start = 0; start < entries.length; start += entriesPerStep) {
    if (start > 0) yield;
    restoreStep(connection, key, entries.slice(start, start + entriesPerStep));
  }
}

function restoreStep(connection: Connection, key: ListKey, entries: readonly StoredEntry[]): void {
  const row = findList(connection, key)!;
  const objects = entries.filter((entry) => entry instanceof StoredObject);
  const tombstones = entries.filter(isTombstone);
  const counts = { live: 0, dead: 0 };
  // Objects in the way of objects are noticed when those are stored, and tombstones in the way of tombstones.
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
  const latest = entries.reduce((highest, { lastModified }) => Math.max(highest, lastModified), 0);
  updateList(connection, row.list, latest, counts);
}

/** Stores an object, unless another one has its id or its timestamp. */
function insertObject(connection: Connection, list: number, { id, lastModified, text }: StoredObject): boolean {
  const sql = `INSERT INTO objects (list, id, last_modified, plain, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
  return connection.run(sql, list, id, lastModified, holdsPlainNumbersOnly(text) ? 1 : 0, text) > 0;
}

/** Stores a tombstone, unless another one has its id or its timestamp. */
function insertTombstone(connection: Connection, list: number, { id, lastModified }: Tombstone): boolean {
  const sql = 'INSERT INTO tombstones (list, id, last_modified) VALUES (?, ?, ?) ON CONFLICT DO NOTHING';
  return connection.run(sql, list, id, lastModified) > 0;
}

/** Removes what has the ids or timestamps of the entries; returns how many. */
function clear(
  connection: Connection,
  table: 'objects' | 'tombstones',
  list: number,
  entries: readonly StoredEntry[],
): number {
  if (entries.length === 0 || !isInTheWay(connection, table, list, entries)) return 0;
  return entries.reduce((sum, entry) => sum + clearPlace(connection, table, list, entry), 0);
}

/** Removes what has the id or the timestamp of the entry; returns how many. */
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

/** Whether the table may have something of the ids or timestamps. While a list is being filled it has not, mostly. */
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
