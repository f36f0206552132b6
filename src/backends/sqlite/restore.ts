// Puts entries into a list exactly as they were elsewhere.
import type { Restoration } from '../../contracts/storage.ts';
import { isTombstone, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import type { Connection } from './connection.ts';
import { findList, insertList, updateList } from './lists.ts';
import { holdsPlainNumbersOnly } from './plain-numbers.ts';
import type { Steps } from '../../base/steps.ts';

/** Entries stored without a pause. */
const entriesPerStep = 500;

/** Stores the entries, in steps each of which leaves the list's row right. */
export function* restoreEntries(
  connection: Connection,
  key: ListKey,
  { clock, entries, gone = [] }: Restoration,
): Steps<void> {
  const { list } = findList(connection, key) ?? insertList(connection, key, clock);
  updateList(connection, list, clock);
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
    restoreStep(connection, list, entries.slice(start, start + entriesPerStep));
  }
}

function restoreStep(connection: Connection, list: number, entries: readonly StoredEntry[]): void {
  const counts = { live: 0, dead: 0 };
  let latest = 0;
  const replacesObjects = isInTheWay(connection, 'objects', list, entries);
  const replacesTombstones = isInTheWay(connection, 'tombstones', list, entries);
  for (const entry of entries) {
    const { id, lastModified } = entry;
    const inPlace = 'WHERE list = ? AND (id = ? OR last_modified = ?)';
    if (replacesObjects) counts.live -= connection.run(`DELETE FROM objects ${inPlace}`, list, id, lastModified);
    if (replacesTombstones) counts.dead -= connection.run(`DELETE FROM tombstones ${inPlace}`, list, id, lastModified);
    if (isTombstone(entry)) {
      const sql = 'INSERT INTO tombstones (list, id, last_modified) VALUES (?, ?, ?)';
      counts.dead += connection.run(sql, list, id, lastModified);
    } else {
      const sql = 'INSERT INTO objects (list, id, last_modified, plain, data) VALUES (?, ?, ?, ?, ?)';
      counts.live += connection.run(sql, list, id, lastModified, holdsPlainNumbersOnly(entry.text) ? 1 : 0, entry.text);
    }
    latest = Math.max(latest, lastModified);
  }
  updateList(connection, list, latest, counts);
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
