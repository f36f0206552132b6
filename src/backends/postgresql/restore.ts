// Puts entries into a list exactly as they were elsewhere, all of them with a few statements.
import type { Restoration } from '../../contracts/storage.ts';
import { isTombstone, type StoredObject, type Tombstone } from '../../core/objects/stored.ts';
import type { UnitAccess } from './access.ts';
import { prepared } from './connection.ts';
import { findJsonbText } from './jsonb-text.ts';
import type { LockedList } from './locked-lists.ts';

// Two statements: in one, the rows to be deleted would still be in the way of those to be inserted.
const clear = (table: string): string =>
  `DELETE FROM coffer_${table} WHERE parent = $1 AND list = $2
  AND (id = ANY ($3::text[]) OR last_modified = ANY ($4::bigint[]))`;
const clearObjects = prepared('clear-objects', clear('objects'));
const clearTombstones = prepared('clear-tombstones', clear('tombstones'));
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
  let [clearedObjects, clearedTombstones] = [0, 0];
  if (ids.length > 0) {
    const [ofObjects, ofTombstones] = await Promise.all([
      access.run(clearObjects, [...place, ids, times]),
      access.run(clearTombstones, [...place, ids, times]),
    ]);
    clearedObjects = ofObjects.count;
    clearedTombstones = ofTombstones.count;
  }
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
