// Puts entries into a list exactly as they were elsewhere, all of them with a few statements.
import type { Restoration } from '../../contracts/storage.ts';
import { isTombstone, type StoredObject, type Tombstone } from '../../core/objects/stored.ts';
import type { UnitAccess } from './access.ts';
import { prepared } from './connection.ts';
import { findJsonbText } from './jsonb-text.ts';
import { byTime } from './selection.ts';
import type { LockedList } from './locked-lists.ts';

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
const restoreObjects = prepared(
  'restore-objects',
  `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
  SELECT $1, $2, e.id, e.last_modified, e.data, coalesce(e.readable, e.data)::jsonb
  FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[]) AS e (id, last_modified, data, readable)`,
);
const restoreTombstones = prepared(
  'restore-tombstones',
  `INSERT INTO coffer_tombstones (parent, list, id, last_modified)
  SELECT $1, $2, e.id, e.last_modified FROM unnest($3::text[], $4::bigint[]) AS e (id, last_modified)`,
);
export const deleteObject = prepared(
  'delete-object',
  'DELETE FROM coffer_objects WHERE parent = $1 AND list = $2 AND id = $3',
);
export const deleteTombstone = prepared(
  'delete-tombstone',
  'DELETE FROM coffer_tombstones WHERE parent = $1 AND list = $2 AND id = $3',
);

/** Stores the entries in a list that the unit has locked. */
export async function restoreEntries(
  access: UnitAccess,
  list: LockedList,
  { clock, entries, gone = [] }: Restoration,
): Promise<void> {
  const place = [list.key.parent, list.list];
  const ids = [...gone, ...entries.map(({ id }) => id)];
  const times = entries.map(({ lastModified }) => lastModified);
  const [objects, tombstones]: [StoredObject[], Tombstone[]] = [[], []];
  for (const entry of entries) {
    if (isTombstone(entry)) tombstones.push(entry);
    else objects.push(entry);
  }
  const inTheWay = ids.length === 0 ? [] : (await access.run(findInTheWay, [...place, ids, times])).rows;
  for (const [table, id] of inTheWay) {
    access.send(table === 'objects' ? deleteObject : deleteTombstone, [...place, id!]);
  }
  const clearedObjects = inTheWay.filter(([table]) => table === 'objects').length;
  const clearedTombstones = inTheWay.length - clearedObjects;
  if (objects.length > 0) {
    access.send(restoreObjects, [
      ...place,
      objects.map(({ id }) => id),
      objects.map(({ lastModified }) => lastModified),
      objects.map(({ text }) => text),
      objects.map(({ text }) => findJsonbText(text) ?? null),
    ]);
  }
  if (tombstones.length > 0) {
    const lastModified = tombstones.map((tombstone) => tombstone.lastModified);
    access.send(restoreTombstones, [...place, tombstones.map(({ id }) => id), lastModified]);
  }
  let latest = clock;
  for (const time of times) latest = Math.max(latest, time);
  list.change(latest, {
    live: objects.length - clearedObjects,
    dead: tombstones.length - clearedTombstones,
  });
  list.entries.clear();
}
