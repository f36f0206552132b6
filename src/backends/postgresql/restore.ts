// Writes entries into a list exactly as they are in another store, with a few statements for all of them.
import type { Restoration } from '../../contracts/storage.ts';
import { restoredClock } from '../../core/lists/list-state.ts';
import { isTombstone, StoredObject, type StoredEntry, type Tombstone } from '../../core/objects/stored.ts';
import type { UnitAccess } from './access.ts';
import { numberArray, textArray } from './array-text.ts';
import { prepared, type SqlValue, type Statement } from './connection.ts';
import { findJsonbText } from './jsonb-text.ts';
import type { ListLock } from './list-lock.ts';
import { rowAt } from './look-ups.ts';
import { byTime } from './selection.ts';

const lookUp = (table: string, array: string, column: 'id' | 'last_modified', ...more: readonly string[]): string =>
  `SELECT '${table}', e.id FROM unnest(${array}) AS k (value)
  CROSS JOIN LATERAL (${rowAt(table, 'e.id', [column, 'k.value'], { parent: '$1', list: '$2', more })}) e`;
const tables = ['objects', 'tombstones'];
const byTimestamps = (array: string): readonly string[] =>
  tables.map((table) => lookUp(table, array, 'last_modified', byTime('e', '$1')));
const findInTheWay = prepared(
  'find-in-the-way',
  [...tables.map((table) => lookUp(table, '$3::text[]', 'id')), ...byTimestamps('$4::bigint[]')].join(' UNION '),
);
/** Selects tables and ids of the entries that have one of the timestamps. */
export const findHolders = prepared('find-holders', byTimestamps('$3::bigint[]').join(' UNION ALL '));
/** Selects whether an entry has a timestamp of a range, a tombstone the id of a new object, or an object that of a tombstone. */
const findAnyInTheWay = prepared(
  'find-any-in-the-way',
  [
    ...tables.map(
      (table) => `(SELECT 1 FROM coffer_${table} e
        WHERE e.parent = $1 AND ${byTime('e', '$1')} AND e.list = $2 AND e.last_modified BETWEEN $3 AND $4 LIMIT 1)`,
    ),
    `(SELECT 1 FROM (${lookUp('tombstones', '$5::text[]', 'id')}) AS found LIMIT 1)`,
    `(SELECT 1 FROM (${lookUp('objects', '$6::text[]', 'id')}) AS found LIMIT 1)`,
  ].join(' UNION ALL '),
);
/** Separates the texts of objects: an array is read character by character. JSON has no such character. */
const separator = '\u001E';
const insertObjects = `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
  SELECT $1, $2, e.id, e.last_modified, e.data, coalesce(e.readable, e.data)::jsonb
  FROM unnest($3::text[], $4::bigint[], string_to_array($5::text, E'\\x1e'), $6::text[])
    AS e (id, last_modified, data, readable)`;
const insertTombstones = `INSERT INTO coffer_tombstones (parent, list, id, last_modified)
  SELECT $1, $2, e.id, e.last_modified FROM unnest($3::text[], $4::bigint[]) AS e (id, last_modified)`;
// An entry whose id is taken is left out. ON CONFLICT takes a quarter of the time of the whole statement.
const restoreObjects = prepared('restore-objects', `${insertObjects} ON CONFLICT DO NOTHING`);
const restoreTombstones = prepared('restore-tombstones', `${insertTombstones} ON CONFLICT DO NOTHING`);
const restoreNewObjects = prepared('restore-new-objects', insertObjects);
const restoreNewTombstones = prepared('restore-new-tombstones', insertTombstones);
export const deleteObject = prepared(
  'delete-object',
  'DELETE FROM coffer_objects WHERE parent = $1 AND list = $2 AND id = $3',
);
export const deleteTombstone = prepared(
  'delete-tombstone',
  'DELETE FROM coffer_tombstones WHERE parent = $1 AND list = $2 AND id = $3',
);

/** Entries by table. */
interface Sorted {
  /** Whether the caller expects none of their ids in the list. */
  readonly isFresh: boolean;
  readonly objects: readonly StoredObject[];
  readonly tombstones: readonly Tombstone[];
}

/** Stores the entries in a list that the unit has locked. */
export async function restoreEntries(
  access: UnitAccess,
  list: ListLock,
  { clock, horizon, entries, gone = [], isFresh = false }: Restoration,
): Promise<void> {
  const sorted: Sorted = {
    isFresh,
    objects: entries.filter((entry) => entry instanceof StoredObject),
    tombstones: entries.filter(isTombstone),
  };
  const times = entries.map(({ lastModified }) => lastModified);
  if (gone.length > 0 || !(await isFree(access, list, sorted)) || !(await store(access, list, sorted))) {
    await clear(access, list, [...gone, ...entries.map(({ id }) => id)], times);
    await store(access, list, { ...sorted, isFresh: false });
  }
  list.change({ clock: restoredClock(clock, entries), horizon });
  list.entries.clear();
}

/**
 * Returns whether no other entries have the ids or timestamps, except objects with the id of an object and tombstones with
 * the id of a tombstone. While a list is being filled, one cheap query confirms it.
 */
async function isFree(access: UnitAccess, list: ListLock, { objects, tombstones }: Sorted): Promise<boolean> {
  const { live, dead } = list.state;
  if (live + dead === 0) return true;
  let [low, high] = [Infinity, 0];
  for (const { lastModified } of [...objects, ...tombstones]) {
    [low, high] = [Math.min(low, lastModified), Math.max(high, lastModified)];
  }
  if (low > high) return true;
  const { rows } = await access.run(findAnyInTheWay, [
    list.key.parent,
    list.list,
    low,
    high,
    dead > 0 ? objects.map(({ id }) => id) : [],
    live > 0 ? tombstones.map(({ id }) => id) : [],
  ]);
  return rows.length === 0;
}

/** Stores the entries. Returns whether all of them were stored. */
async function store(access: UnitAccess, list: ListLock, { objects, tombstones, isFresh }: Sorted): Promise<boolean> {
  const place = [list.key.parent, list.list];
  const [live, dead] = await Promise.all([
    objects.length === 0
      ? 0
      : countOf(access, isFresh ? restoreNewObjects : restoreObjects, [
          ...place,
          ...idsAndTimes(objects),
          objects.map(({ text }) => text).join(separator),
          readableTexts(objects),
        ]),
    tombstones.length === 0
      ? 0
      : countOf(access, isFresh ? restoreNewTombstones : restoreTombstones, [...place, ...idsAndTimes(tombstones)]),
  ]);
  list.change({ live, dead });
  return live === objects.length && dead === tombstones.length;
}

function idsAndTimes(entries: readonly StoredEntry[]): readonly [string, string] {
  return [textArray(entries.map(({ id }) => id)), numberArray(entries.map(({ lastModified }) => lastModified))];
}

/** Returns the texts for `jsonb` in place of those that it cannot read, as an array; empty when it can read all. */
function readableTexts(objects: readonly StoredObject[]): string {
  const texts = objects.map(({ text }) => findJsonbText(text) ?? null);
  return textArray(texts.every((text) => text === null) ? [] : texts);
}

async function countOf(access: UnitAccess, statement: Statement, values: readonly SqlValue[]): Promise<number> {
  return (await access.run(statement, values)).count;
}

/** Removes the entries that have one of the ids or timestamps. */
async function clear(
  access: UnitAccess,
  list: ListLock,
  ids: readonly string[],
  times: readonly number[],
): Promise<void> {
  const place = [list.key.parent, list.list];
  const { rows } = await access.run(findInTheWay, [...place, ids, times]);
  for (const [table, id] of rows) access.send(table === 'objects' ? deleteObject : deleteTombstone, [...place, id!]);
  const objects = rows.filter(([table]) => table === 'objects').length;
  list.change({ live: -objects, dead: objects - rows.length });
}
