// Writes to whole lists and subtrees, done by the server. Rows of lists are locked in the order of their keys, so that two of
// these writes never deadlock.
import { Purge, type PurgeOptions } from '../../core/lists/purge.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { storedParent, type ObjectUri } from '../../core/objects/uris.ts';
import type { Selection } from '../../core/query/ast.ts';
import { planPage } from '../../core/query/plan-page.ts';
import { newestFirst } from '../../core/query/sort.ts';
import { rangeBelow } from '../sql/text-range.ts';
import type { UnitAccess } from './access.ts';
import { clockRuleSql } from './clock-rule-sql.ts';
import { prepared, type Result, type Row, type SqlValue, type Statement } from './connection.ts';
import { lockColumns, type ListLock } from './list-lock.ts';
import type { ListLocks } from './list-locks.ts';
import { listCondition } from './page.ts';
import { Parameters, type Compiled } from './parameters.ts';
import { byTime, joinedList, selectSources } from './selection.ts';

/** Number of tombstones that one statement deletes, so that none runs for long. */
const chunkRows = 20_000;

/** Maximum number of lists that a unit remembers for its retry. */
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
/** Clock and horizon of the list `l` after it has lost everything with its parent. */
const clockAfter = `CASE WHEN l.live > 0 THEN ${clockRuleSql.emptied('l.clock', '$4::bigint')} ELSE l.clock END`;
const detachBelow = prepared(
  'detach-below',
  `WITH emptied AS (
    SELECT l.parent, l.kind, l.list FROM coffer_lists l WHERE ${below} AND (l.live > 0 OR l.dead > 0)
  ), pending_deletion AS (
    INSERT INTO coffer_doomed_lists (parent, list) SELECT parent, list FROM emptied
  )
  UPDATE coffer_lists l SET list = nextval('coffer_numbers'), live = 0, dead = 0,
    clock = ${clockAfter}, horizon = ${clockRuleSql.horizon('l.horizon', clockAfter)}
  FROM emptied WHERE l.parent = emptied.parent AND l.kind = emptied.kind`,
);

/**
 * Empties every list whose parent is the URI or lies below it. Each gets a new number, and the reaper deletes what is stored
 * under the old one.
 */
export async function deleteBelow(access: UnitAccess, lists: ListLocks, uri: ObjectUri, now: number): Promise<void> {
  const { low, high } = rangeBelow(uri);
  const statement = await chooseLock(access, lists, uri);
  // While the statement waits for one list, other transactions may create lists below its objects. When a round finds no more
  // lists than the one before, all are locked, and no transaction can lock an object in them to create another one.
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
 * Chooses how to lock the lists of a subtree. A unit that has locked later lists, for another subtree or another write, locks
 * with NOWAIT: when that is refused, the unit is retried and locks all lists in order. When the lists are too many to
 * remember, the statement waits, and the server finds deadlocks.
 */
async function chooseLock(access: UnitAccess, lists: ListLocks, uri: ObjectUri): Promise<Statement> {
  if (lists.isNext({ parent: uri, kind: '' })) return lockBelow;
  const { low, high } = rangeBelow(uri);
  const { rows } = await access.run(findBelow, [uri, low, high, maxNamed + 1]);
  if (rows.length > maxNamed) return lockBelow;
  lists.want(rows.map(keyOf));
  return lockEarlierBelow;
}

function keyOf([parent, kind]: Row): ListKey {
  return { parent: storedParent(parent!), kind: kind! };
}

/** Deletes tombstones, list by list. Returns their number. */
export async function purgeTombstones(access: UnitAccess, lists: ListLocks, options: PurgeOptions): Promise<number> {
  const purge = new Purge(options);
  const { kind, parent, maxRetained } = purge;
  const parameters = new Parameters();
  const conditions = [`dead > ${parameters.add(maxRetained, 'bigint')}`];
  if (kind !== undefined) conditions.push(`kind = ${parameters.add(kind, 'text')}`);
  if (parent !== undefined) conditions.push(`parent = ${parameters.add(parent, 'text')}`);
  const text = `SELECT parent, kind, ${lockColumns} FROM coffer_lists WHERE ${conditions.join(' AND ')}
    ORDER BY parent, kind FOR NO KEY UPDATE`;
  const { rows } = await run(access, parameters.bind(text));
  for (const [ofParent, ofKind, ...row] of rows) {
    await purgeList(access, lists.adopt({ parent: storedParent(ofParent!), kind: ofKind! }, row), purge);
  }
  return purge.count;
}

const purgeOldest = prepared(
  'purge-oldest',
  `WITH gone AS (
    DELETE FROM coffer_tombstones WHERE ctid = ANY (ARRAY(
      SELECT t.ctid FROM coffer_tombstones t
      WHERE t.parent = $1 AND ${byTime('t', '$1')} AND t.list = $2 AND t.last_modified < $3
      ORDER BY t.last_modified LIMIT $4
    )) RETURNING last_modified
  ) SELECT count(*), max(last_modified) FROM gone`,
);

async function purgeList(access: UnitAccess, list: ListLock, purge: Purge): Promise<void> {
  for (;;) {
    const wanted = Math.min(purge.limitTo(list.state.dead), chunkRows);
    const values = [list.key.parent, list.list, purge.before, wanted];
    const [row] = wanted === 0 ? [] : (await access.run(purgeOldest, values)).rows;
    const count = Number(row?.[0] ?? 0);
    if (count > 0) list.change({ dead: -count, horizon: Number(row![1]) });
    purge.count += count;
    if (count < wanted || wanted === 0) return;
  }
}

/** Keeps the newest of the selected live objects, and deletes the others without tombstones. */
export async function trimList(
  access: UnitAccess,
  key: ListKey,
  selection: Selection,
  maxObjects: number,
): Promise<number> {
  const context = { parameters: new Parameters(), dialect: await access.dialect() };
  const isList = listCondition(context, key);
  const plan = planPage({ ...selection, includeDeleted: false, sort: newestFirst, limit: maxObjects });
  const [objects] = selectSources(context, { ...joinedList, clock: undefined }, plan);
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
const detachAll = prepared(
  'detach-all',
  `WITH gone AS (DELETE FROM coffer_lists RETURNING parent, list)
  INSERT INTO coffer_doomed_lists (parent, list) SELECT parent, list FROM gone`,
);
const countFlush = prepared(
  'count-flush',
  `INSERT INTO coffer_counters AS c (name, value) VALUES ('flushes', 1)
  ON CONFLICT (name) DO UPDATE SET value = c.value + 1`,
);
const nothing: readonly SqlValue[] = [];

/** Deletes all lists and their clocks, and counts the flush. The reaper deletes what is stored in the lists. */
export async function flushStorage(access: UnitAccess): Promise<void> {
  await access.run(lockAll, nothing);
  access.send(detachAll, nothing);
  access.send(countFlush, nothing);
}
