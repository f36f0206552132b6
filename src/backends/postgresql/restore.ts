// Puts entries into a list exactly as they were elsewhere, all of them with a few statements.
import type { Restoration } from '../../contracts/storage.ts';
import { isTombstone, StoredObject, type StoredEntry, type Tombstone } from '../../core/objects/stored.ts';
import type { UnitAccess } from './access.ts';
import { numberArray, textArray } from './array-text.ts';
import { prepared, type SqlValue, type Statement } from './connection.ts';
import { findJsonbText } from './jsonb-text.ts';
import { byTime } from './selection.ts';
import type { ListLock } from './list-locks.ts';

// One look-up for each id and timestamp, written as the first row of a range in an order that only the right index has:
// the server knows nothing yet of a table that is being filled.
const lookUp = (table: string, array: string, column: string, more = ''): string =>
  `SELECT '${table}', e.id FROM unnest(${array}) AS k (value) CROSS JOIN LATERAL (
    SELECT e.id FROM coffer_${table} e
    WHERE e.parent = $1 ${more} AND e.list = $2 AND e.${column} >= k.value AND e.${column} <= k.value
    ORDER BY e.${column} LIMIT 1
  ) e`;
const tables = ['objects', 'tombstones'];
const byTimestamps = (array: string): readonly string[] =>
  tables.map((table) => lookUp(table, array, 'last_modified', `AND ${byTime('e', '$1')}`));
const findInTheWay = prepared(
  'find-in-the-way',
  [...tables.map((table) => lookUp(table, '$3::text[]', 'id')), ...byTimestamps('$4::bigint[]')].join(' UNION '),
);
/** Tables and ids of what has one of the timestamps. */
export const findHolders = prepared('find-holders', byTimestamps('$3::bigint[]').join(' UNION ALL '));
/** Whether anything has a timestamp in a range, a tombstone the id of an object to be stored, or the other way round. */
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
/** Stands between the texts of objects: an array is read character by character. JSON has no such character. */
const separator = '\u001E';
const insertObjects = `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
  SELECT $1, $2, e.id, e.last_modified, e.data, coalesce(e.readable, e.data)::jsonb
  FROM unnest($3::text[], $4::bigint[], string_to_array($5::text, E'\\x1e'), $6::text[])
    AS e (id, last_modified, data, readable)`;
const insertTombstones = `INSERT INTO coffer_tombstones (parent, list, id, last_modified)
  SELECT $1, $2, e.id, e.last_modified FROM unnest($3::text[], $4::bigint[]) AS e (id, last_modified)`;
// What has the id of an entry makes it stay away. Being ready for that costs a quarter of the whole.
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

/** Entries as they are stored, objects and tombstones apart. */
interface Sorted {
  /** Whether none of their ids is there, as far as anybody knows. */
  readonly isFresh: boolean;
  readonly objects: readonly StoredObject[];
  readonly tombstones: readonly Tombstone[];
}

/** Stores the entries in a list that the unit has locked. */
export async function restoreEntries(
  access: UnitAccess,
  list: ListLock,
  { clock, entries, gone = [], isFresh = false }: Restoration,
): Promise<void> {
  const sorted: Sorted = {
    isFresh,
    objects: entries.filter((entry) => entry instanceof StoredObject),
    tombstones: entries.filter(isTombstone),
  };
  const times = entries.map(({ lastModified }) => lastModified);
  if (gone.length > 0 || !(await isFree(access, list, sorted)) || !(await store(access, list, sorted, clock))) {
    await clear(access, list, clock, [...gone, ...entries.map(({ id }) => id)], times);
    await store(access, list, { ...sorted, isFresh: false }, clock);
  }
  list.change(times.reduce((latest, time) => Math.max(latest, time), clock));
  list.entries.clear();
}

/**
 * Whether nothing is in the way of the entries but, perhaps, an object of the id of an object, or a tombstone of the id of a
 * tombstone: while a list is being filled there is nothing, and a few looks find that out.
 */
async function isFree(access: UnitAccess, list: ListLock, { objects, tombstones }: Sorted): Promise<boolean> {
  if (list.live + list.dead === 0) return true;
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
    list.dead > 0 ? objects.map(({ id }) => id) : [],
    list.live > 0 ? tombstones.map(({ id }) => id) : [],
  ]);
  return rows.length === 0;
}

/** Stores the entries; answers whether all of them have found their place. */
async function store(
  access: UnitAccess,
  list: ListLock,
  { objects, tombstones, isFresh }: Sorted,
  clock: number,
): Promise<boolean> {
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
  list.change(clock, { live, dead });
  return live === objects.length && dead === tombstones.length;
}

function idsAndTimes(entries: readonly StoredEntry[]): readonly [string, string] {
  return [textArray(entries.map(({ id }) => id)), numberArray(entries.map(({ lastModified }) => lastModified))];
}

/** What `jsonb` reads instead of texts that it cannot; as long as there is none, none need be sent. */
function readableTexts(objects: readonly StoredObject[]): string {
  const texts = objects.map(({ text }) => findJsonbText(text) ?? null);
  return textArray(texts.every((text) => text === null) ? [] : texts);
}

async function countOf(access: UnitAccess, statement: Statement, values: readonly SqlValue[]): Promise<number> {
  return (await access.run(statement, values)).count;
}

/** Removes what has one of the ids or timestamps. */
async function clear(
  access: UnitAccess,
  list: ListLock,
  clock: number,
  ids: readonly string[],
  times: readonly number[],
): Promise<void> {
  const place = [list.key.parent, list.list];
  const { rows } = await access.run(findInTheWay, [...place, ids, times]);
  for (const [table, id] of rows) access.send(table === 'objects' ? deleteObject : deleteTombstone, [...place, id!]);
  const objects = rows.filter(([table]) => table === 'objects').length;
  list.change(clock, { live: -objects, dead: objects - rows.length });
}
