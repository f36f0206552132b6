// The keys of declared indexes: columns of the rows of objects, with an index each.
import { StoredObject, type IndexKeys } from '../../core/objects/stored.ts';
import { keySlots, wordSlot } from '../../core/index/definition.ts';
import {
  findCandidates,
  findCount,
  inlineBytesOf,
  type Candidates,
  type KeyRow,
  type KeyRows,
} from '../../core/index/find-entries.ts';
import type { KeyRange } from '../../core/index/page-ranges.ts';
import type { KeyedObject } from '../../contracts/storage.ts';
import type { PageQuery, Selection } from '../../core/query/ast.ts';
import type { Steps } from '../../base/steps.ts';
import type { Connection, SqlValue } from './connection.ts';
import type { ListRow } from './lists.ts';

/** Names of the columns, by slot. */
export const keyColumns = Array.from({ length: keySlots }, (_, slot) => (slot === wordSlot ? 'words' : `key${slot}`));

/** Sets all columns, in their order. */
export const assignments = keyColumns.map((column) => `${column} = ?`).join(', ');

/** Returns the values of all columns. */
export function keyValues(keys: IndexKeys): readonly SqlValue[] {
  return keyColumns.map((_, slot) => (slot === wordSlot ? keys[slot]?.toString() : keys[slot]) ?? null);
}

/** Number of rows read or counted without a pause. */
const rowsPerStep = 1000;
const countedPerStep = 10_000;
const rangesPerStep = 200;
/** Number of objects that get keys without a pause. */
const keyedPerStep = 50;

/** Finds candidates for a page in the indexes of the list; `undefined` when a scan is needed. */
export function* searchKeys(connection: Connection, list: ListRow, query: PageQuery): Steps<Candidates | undefined> {
  const search = findCandidates(query);
  let next = search.next();
  while (next.done !== true) next = search.next(yield* readRanges(connection, list, next.value, query));
  return next.value;
}

/** Counts the selected objects in the indexes of the list, or finds candidates; `undefined` when a scan is needed. */
export function* countKeys(
  connection: Connection,
  list: ListRow,
  selection: Selection,
): Steps<number | Candidates | undefined> {
  const search = findCount(selection);
  let next = search.next();
  while (next.done !== true) next = search.next(yield* readRanges(connection, list, next.value, noTexts));
  const found = next.value;
  if (found === undefined || !('ranges' in found)) return found;
  let total = 0;
  for (const range of found.ranges) total += yield* countRange(connection, list, range);
  return total;
}

const noTexts = { maxBytes: 0 };

function* readRanges(
  connection: Connection,
  list: ListRow,
  ranges: readonly KeyRange[],
  page: Pick<PageQuery, 'maxBytes'>,
): Steps<KeyRows> {
  const rows: (readonly KeyRow[])[] = [];
  for (const [number, range] of ranges.entries()) {
    if (number % rangesPerStep === rangesPerStep - 1) yield;
    rows.push(yield* readRange(connection, list, range, inlineBytesOf(page, range)));
  }
  return { rows, live: list.live };
}

/** @param inlineBytes length of the texts up to which objects are read with their keys */
function* readRange(
  connection: Connection,
  { list }: ListRow,
  range: KeyRange,
  inlineBytes: number,
): Steps<readonly KeyRow[]> {
  const { slot, low, high, timestamps, isReverse, limit } = range;
  const order = isReverse ? `key${slot} DESC, last_modified ASC` : `key${slot}, last_modified DESC`;
  const times = timestamps === undefined ? '' : ' AND last_modified BETWEEN ? AND ?';
  const sql = `SELECT id, key${slot}, last_modified, CASE WHEN octet_length(data) <= ? THEN data END FROM objects
    WHERE list = ? AND key${slot} >= ? AND key${slot} < ?${times} ORDER BY ${order} LIMIT ? OFFSET ?`;
  const bounds: SqlValue[] = [list, low, high, ...(timestamps === undefined ? [] : [timestamps.low, timestamps.high])];
  const found: KeyRow[] = [];
  while (found.length < limit) {
    if (found.length > 0) yield;
    const wanted = Math.min(limit - found.length, rowsPerStep);
    const rows = connection.all<[string, Uint8Array, number, string | null]>(
      sql,
      inlineBytes,
      ...bounds,
      wanted,
      found.length,
    );
    for (const [id, { buffer, byteOffset, byteLength }, modified, data] of rows) {
      const object = data === null ? undefined : new StoredObject(id, modified, data);
      found.push({ id, key: Buffer.from(buffer, byteOffset, byteLength), object });
    }
    if (rows.length < wanted) break;
  }
  return found;
}

/** Returns the number of objects in a range, step by step: those of one key, then those of the keys after it. */
function* countRange(connection: Connection, { list }: ListRow, { slot, low, high }: KeyRange): Steps<number> {
  const key = `key${slot}`;
  const inKey = `FROM objects WHERE list = ? AND ${key} = ? AND last_modified < ? ORDER BY last_modified DESC`;
  const after = `FROM objects WHERE list = ? AND ${key} >= ? AND ${key} < ? ORDER BY ${key}, last_modified DESC`;
  let total = 0;
  let from: SqlValue[] = [list, low, high];
  let source = after;
  for (;;) {
    const edge = connection.get<[Uint8Array, number]>(
      `SELECT ${key}, last_modified ${source} LIMIT 1 OFFSET ?`,
      ...from,
      countedPerStep - 1,
    );
    if (edge !== undefined) {
      total += countedPerStep;
      from = [list, ...edge];
      source = inKey;
      yield;
      continue;
    }
    const sql = `SELECT count(*) FROM (SELECT 1 ${source} LIMIT ?)`;
    total += connection.get<[number]>(sql, ...from, countedPerStep)?.[0] ?? 0;
    if (source === after) return total;
    // The key after this one: the same bytes and one more.
    from = [list, Buffer.concat([from[1] as Uint8Array, Buffer.of(0)]), high];
    source = after;
  }
}

/** Sets the keys of objects that still have their timestamps. */
export function* setKeys(
  connection: Connection,
  list: ListRow | undefined,
  objects: readonly KeyedObject[],
): Steps<void> {
  if (list === undefined) return;
  const sql = `UPDATE objects SET ${assignments} WHERE list = ? AND id = ? AND last_modified = ?`;
  for (const [index, { id, lastModified, keys }] of objects.entries()) {
    if (index > 0 && index % keyedPerStep === 0) yield;
    connection.run(sql, ...keyValues(keys), list.list, id, lastModified);
  }
}
