// Writes to whole lists and subtrees, done by the server. Rows of lists are locked in the order of their keys, so that
// two of these do not wait for each other.
import type { PurgeOptions } from '../../contracts/storage.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import type { Selection, SortKey } from '../../core/query/ast.ts';
import { lastModifiedField } from '../../core/query/fields.ts';
import { rangeBelow } from '../sql/text-range.ts';
import type { UnitAccess } from './access.ts';
import { prepared, type Result, type Row, type SqlValue, type Statement } from './connection.ts';
import type { LockedLists } from './locked-lists.ts';
import { listCondition } from './page.ts';
import { Parameters, type Compiled } from './parameters.ts';
import { byTime, joinedList, selectSources } from './selection.ts';

/** Tombstones that one statement deletes, so that none runs for long. */
const chunkRows = 20_000;

/** Lists that a unit names to itself for its next attempt. */
const maxNamed = 1000;

const below = '(l.parent = $1 OR (l.parent >= $2 AND l.parent < $3))';
const lockBelow = prepared(
  'lock-below',
  `SELECT l.parent, l.kind FROM coffer_lists l WHERE ${below} ORDER BY l.parent, l.kind FOR UPDATE`,
);
const lockEarlierBelow: Statement = {
  ...prepared('lock-earlier-below', `${lockBelow.text} NOWAIT`),
  failsOnLock: true,
};
const findBelow = prepared(
  'find-below',
  `SELECT l.parent, l.kind FROM coffer_lists l WHERE ${below} ORDER BY l.parent, l.kind LIMIT $4`,
);
/** The clock of the list `l` when it has lost all it held, and its horizon, as nothing tells of what that was. */
const clockAfter = `CASE WHEN l.live > 0 THEN least(greatest($4::bigint, l.clock + 1), ${Number.MAX_SAFE_INTEGER}) ELSE l.clock END`;
const detachBelow = prepared(
  'detach-below',
  `WITH emptied AS (
    SELECT l.parent, l.kind, l.list FROM coffer_lists l WHERE ${below} AND (l.live > 0 OR l.dead > 0)
  ), doomed AS (
    INSERT INTO coffer_doomed_lists (parent, list) SELECT parent, list FROM emptied
  )
  UPDATE coffer_lists l SET list = nextval('coffer_numbers'), live = 0, dead = 0,
    clock = ${clockAfter}, horizon = ${clockAfter}
  FROM emptied WHERE l.parent = emptied.parent AND l.kind = emptied.kind`,
);

/**
 * Empties every list whose parent is the URI or lies below it: each gets a new number, and what is stored under the old
 * one is left to the background.
 */
export async function deleteBelow(access: UnitAccess, lists: LockedLists, uri: string, now: number): Promise<void> {
  const { low, high } = rangeBelow(uri);
  const statement = await chooseLock(access, lists, uri);
  // Waiting for the lock of one list, others may have come into being below its objects. Once a round finds no more
  // than the one before, all are locked, and nobody can hold an object in them to create another one.
  let known = -1;
  for (;;) {
    const { rows, count } = await access.run(statement, [uri, low, high]);
    lists.want(rows.slice(-1).map(keyOf));
    if (count === known || (known === -1 && count === 0)) break;
    known = count;
  }
  if (known > 0) access.send(detachBelow, [uri, low, high, now]);
}

/**
 * Waits for lists come in the order of all units. Where a unit deletes more than one subtree, or wrote elsewhere before,
 * those below are against it: refused once, the unit runs again and takes them in their turn, unless they are too many to
 * name. Then the server is left to find out who waits in a circle.
 */
async function chooseLock(access: UnitAccess, lists: LockedLists, uri: string): Promise<Statement> {
  if (lists.isNext({ parent: uri, kind: '' })) return lockBelow;
  const { low, high } = rangeBelow(uri);
  const { rows } = await access.run(findBelow, [uri, low, high, maxNamed + 1]);
  if (rows.length > maxNamed) return lockBelow;
  lists.want(rows.map(keyOf));
  return lockEarlierBelow;
}

function keyOf([parent, kind]: Row): ListKey {
  return { parent: parent!, kind: kind! };
}

/** Forgets tombstones, list by list; returns how many. */
export async function purgeTombstones(access: UnitAccess, options: PurgeOptions): Promise<number> {
  const { kind, parent, before, maxRetained, limit = Infinity } = options;
  if (before !== undefined && maxRetained !== undefined) throw new Error('give either before or maxRetained');
  const parameters = new Parameters();
  const conditions = [`l.dead > ${parameters.add(maxRetained ?? 0, 'bigint')}`];
  if (kind !== undefined) conditions.push(`l.kind = ${parameters.add(kind, 'text')}`);
  if (parent !== undefined) conditions.push(`l.parent = ${parameters.add(parent, 'text')}`);
  const text = `SELECT l.parent, l.kind, l.list, l.dead FROM coffer_lists l WHERE ${conditions.join(' AND ')}
    ORDER BY l.parent, l.kind FOR NO KEY UPDATE`;
  let purged = 0;
  for (const row of (await run(access, parameters.bind(text))).rows) {
    const wanted = Math.min(limit - purged, maxRetained === undefined ? Infinity : Number(row[3]) - maxRetained);
    purged += await purgeList(access, [row[0]!, row[1]!, row[2]!], before, wanted);
  }
  return purged;
}

const purgeOldest = prepared(
  'purge-oldest',
  `WITH gone AS (
    DELETE FROM coffer_tombstones WHERE parent = $1 AND list = $2 AND id = ANY (ARRAY(
      SELECT t.id FROM coffer_tombstones t
      WHERE t.parent = $1 AND ${byTime('t', '$1')} AND t.list = $2 AND t.last_modified < $3
      ORDER BY t.last_modified LIMIT $4
    )) RETURNING last_modified
  ) SELECT count(*), max(last_modified) FROM gone`,
);
const countPurged = prepared(
  'count-purged',
  'UPDATE coffer_lists SET dead = dead - $3, horizon = greatest(horizon, $4) WHERE parent = $1 AND kind = $2',
);
const raiseRow = prepared(
  'raise-horizon',
  'UPDATE coffer_lists SET horizon = greatest(horizon, $3) WHERE parent = $1 AND kind = $2',
);

/** Moves the horizon of a list that the unit has locked forward, never back. */
export function raiseHorizon(access: UnitAccess, { parent, kind }: ListKey, timestamp: number): void {
  access.send(raiseRow, [parent, kind, timestamp]);
}

async function purgeList(
  access: UnitAccess,
  [parent, kind, list]: readonly [parent: string, kind: string, list: string],
  before = Number.MAX_SAFE_INTEGER + 1,
  wanted: number,
): Promise<number> {
  let [purged, latest] = [0, 0];
  while (purged < wanted) {
    const limit = Math.min(wanted - purged, chunkRows);
    const [row] = (await access.run(purgeOldest, [parent, list, before, limit])).rows;
    const count = Number(row![0]);
    latest = Math.max(latest, Number(row![1] ?? 0));
    purged += count;
    if (count < limit) break;
  }
  if (purged > 0) access.send(countPurged, [parent, kind, purged, latest]);
  return purged;
}

const newestFirst: readonly SortKey[] = [{ field: lastModifiedField, direction: 'descending' }];

/** Keeps the newest of the selected live objects; the others go without tombstones. */
export async function trimList(
  access: UnitAccess,
  key: ListKey,
  selection: Selection,
  maxObjects: number,
): Promise<number> {
  const context = { parameters: new Parameters(), dialect: await access.dialect() };
  const isList = listCondition(context, key);
  const [objects] = selectSources(context, joinedList, selection, false, { sort: newestFirst });
  const text = `DELETE FROM coffer_objects o USING (
      SELECT k.parent, k.list, k.id FROM coffer_lists l
      CROSS JOIN LATERAL (
        SELECT e.parent, e.list, e.id ${objects!.fromWhere}
        ORDER BY e.last_modified DESC OFFSET ${context.parameters.add(maxObjects, 'bigint')}
      ) k WHERE ${isList}
    ) excess WHERE o.parent = excess.parent AND o.list = excess.list AND o.id = excess.id`;
  return (await run(access, context.parameters.bind(text))).count;
}

function run(access: UnitAccess, { text, values }: Compiled): Promise<Result> {
  return access.run({ text }, values);
}

const lockAll = prepared('lock-all', 'SELECT 1 FROM coffer_lists ORDER BY parent, kind FOR UPDATE');
const doomAll = prepared(
  'setRollbackOnly-all',
  `WITH gone AS (DELETE FROM coffer_lists RETURNING parent, list)
  INSERT INTO coffer_doomed_lists (parent, list) SELECT parent, list FROM gone`,
);
const nothing: readonly SqlValue[] = [];

/** Forgets all lists and their clocks; what was stored in them is left to the background. */
export async function flushStorage(access: UnitAccess): Promise<void> {
  await access.run(lockAll, nothing);
  access.send(doomAll, nothing);
}
