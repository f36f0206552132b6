// Changes of objects and tombstones that a unit of work holds back, so that those of a batch are sent as a few statements.
// Only the last state of each id is stored. Other statements of the unit are sent after them.
import type { StoredObject, Tombstone } from '../../core/objects/stored.ts';
import { prepared, type SqlValue, type Statement } from './connection.ts';
import { excludedColumns, keyArray, keyColumns, keysFrom } from './key-columns.ts';
import { findJsonbText } from './jsonb-text.ts';
import type { Entry, ListLock } from './list-lock.ts';
import { hasIdOf } from './look-ups.ts';
import { deleteObject, deleteTombstone } from './restore.ts';

const insertMany = `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
  SELECT $1, $2, n.id, n.last_modified, n.data, coalesce(n.attributes, n.data)::jsonb
  FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[]) AS n (id, last_modified, data, attributes)`;
const insertManyKeyed = `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes, ${keyColumns})
  SELECT $1, $2, n.id, n.last_modified, n.data, coalesce(n.attributes, n.data)::jsonb, ${keysFrom('($7::bytea[])', 'n.place')}
  FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[])
    WITH ORDINALITY AS n (id, last_modified, data, attributes, place)`;
const insertObjects = prepared('insert-objects', insertMany);
const insertKeyedObjects = prepared('insert-keyed-objects', insertManyKeyed);
const insertObject = prepared(
  'insert-object',
  `INSERT INTO coffer_objects (parent, list, id, last_modified, data, attributes)
  VALUES ($1, $2, $3, $4, $5::text, coalesce($6::text, $5::text)::jsonb)`,
);
const updateObject = prepared(
  'update-object',
  `UPDATE coffer_objects SET last_modified = $4, data = $5::text, attributes = coalesce($6::text, $5::text)::jsonb
  WHERE parent = $1 AND list = $2 AND id = $3`,
);
// An insert finds each row by the primary key. An UPDATE with a join may read the whole list instead.
const updateObjects = prepared(
  'update-objects',
  `${insertMany} ON CONFLICT (parent, list, id) DO UPDATE
  SET last_modified = excluded.last_modified, data = excluded.data, attributes = excluded.attributes`,
);
const updateKeyedObjects = prepared(
  'update-keyed-objects',
  `${insertManyKeyed} ON CONFLICT (parent, list, id) DO UPDATE
  SET last_modified = excluded.last_modified, data = excluded.data, attributes = excluded.attributes,
    (${keyColumns}) = ROW (${excludedColumns})`,
);
const deleteMany = (table: string): string => `DELETE FROM coffer_${table} WHERE ${hasIdOf(table, '$3::text[]')}`;
const deleteObjects = prepared('delete-objects', deleteMany('objects'));
const deleteTombstones = prepared('delete-tombstones', deleteMany('tombstones'));
const insertTombstone = prepared(
  'insert-tombstone',
  'INSERT INTO coffer_tombstones (parent, list, id, last_modified) VALUES ($1, $2, $3, $4)',
);
const insertTombstones = prepared(
  'insert-tombstones',
  `INSERT INTO coffer_tombstones (parent, list, id, last_modified)
  SELECT $1, $2, b.id, b.last_modified FROM unnest($3::text[], $4::bigint[]) AS b (id, last_modified)`,
);

/** Maximum number of ids that one statement changes. */
const chunkObjects = 500;

/** The states of an id in the tables and after the changes that are held back. */
interface Change {
  readonly before: Entry;
  after: Entry;
}

export class PendingObjects {
  readonly #lists = new Map<ListLock, Map<string, Change>>();
  readonly #send: (statement: Statement, values: readonly SqlValue[]) => void;

  constructor(send: (statement: Statement, values: readonly SqlValue[]) => void) {
    this.#send = send;
  }

  /** Holds back a change of an id in a locked list. `before` is the state that the unit sees before it. */
  change(list: ListLock, id: string, before: Entry, after: Entry): void {
    let changes = this.#lists.get(list);
    if (changes === undefined) this.#lists.set(list, (changes = new Map<string, Change>()));
    const pending = changes.get(id);
    if (pending !== undefined) pending.after = after;
    else if (changes.set(id, { before, after }).size === chunkObjects) this.flush();
  }

  /** Sends all pending changes, list by list. */
  flush(): void {
    if (this.#lists.size === 0) return;
    const lists = [...this.#lists];
    this.#lists.clear();
    for (const [list, changes] of lists) this.#flushList(list, changes);
  }

  #flushList({ key, list }: ListLock, changes: ReadonlyMap<string, Change>): void {
    const place = [key.parent, list];
    const inserted: StoredObject[] = [];
    const updated: StoredObject[] = [];
    const deleted: string[] = [];
    const buried: Tombstone[] = [];
    const revived: string[] = [];
    for (const [id, { before, after }] of changes) {
      if (after.object !== undefined) (before.object === undefined ? inserted : updated).push(after.object);
      else if (before.object !== undefined) deleted.push(id);
      if (after.tombstone === before.tombstone) continue;
      if (before.tombstone !== undefined) revived.push(id);
      if (after.tombstone !== undefined) buried.push(after.tombstone);
    }
    this.#sendIds(deleteObject, deleteObjects, place, deleted);
    this.#sendIds(deleteTombstone, deleteTombstones, place, revived);
    this.#sendObjects([insertObject, insertObjects, insertKeyedObjects], place, inserted);
    this.#sendObjects([updateObject, updateObjects, updateKeyedObjects], place, updated);
    this.#sendTombstones(place, buried);
  }

  #sendIds(one: Statement, many: Statement, place: readonly string[], ids: readonly string[]): void {
    if (ids.length === 1) this.#send(one, [...place, ids[0]!]);
    else if (ids.length > 1) this.#send(many, [...place, ids]);
  }

  #sendObjects(
    [one, many, keyed]: readonly [one: Statement, many: Statement, keyed: Statement],
    place: readonly string[],
    objects: readonly StoredObject[],
  ): void {
    const [first] = objects;
    if (first === undefined) return;
    const hasKeys = objects.some(({ keys }) => keys !== undefined);
    if (objects.length === 1 && !hasKeys) {
      const { id, lastModified, text } = first;
      this.#send(one, [...place, id, lastModified, text, findJsonbText(text) ?? null]);
      return;
    }
    this.#send(hasKeys ? keyed : many, [
      ...place,
      objects.map(({ id }) => id),
      objects.map(({ lastModified }) => lastModified),
      objects.map(({ text }) => text),
      objects.map(({ text }) => findJsonbText(text) ?? null),
      ...(hasKeys ? [keyArray(objects.map(({ keys }) => keys))] : []),
    ]);
  }

  #sendTombstones(place: readonly string[], tombstones: readonly Tombstone[]): void {
    const [first] = tombstones;
    if (first === undefined) return;
    if (tombstones.length === 1) this.#send(insertTombstone, [...place, first.id, first.lastModified]);
    else {
      const times = tombstones.map(({ lastModified }) => lastModified);
      this.#send(insertTombstones, [...place, tombstones.map(({ id }) => id), times]);
    }
  }
}
