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
  for (const entry of entries) {
    const { id, lastModified } = entry;
    const inPlace = 'WHERE list = ? AND (id = ? OR last_modified = ?)';
    counts.live -= connection.run(`DELETE FROM objects ${inPlace}`, list, id, lastModified);
    counts.dead -= connection.run(`DELETE FROM tombstones ${inPlace}`, list, id, lastModified);
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
