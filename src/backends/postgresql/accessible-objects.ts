// Finds the objects on which principals have permissions. The index by principal finds the folders that a pattern allows;
// the rest of the pattern is compared here.
import { StepBudget } from '../../base/json-steps.ts';
import { runFromNow, type Steps } from '../../base/steps.ts';
import type { AccessibleOptions, BoundPattern, RequireRoomForObjects } from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { compilePattern } from '../sql/object-pattern.ts';
import { addAccessible, type AccessibleObjects } from '../sql/permission-rows.ts';
import type { Access } from './access.ts';
import type { Row, ScanTarget, SqlValue } from './connection.ts';
import { Parameters } from './parameters.ts';
import { keyOfText } from './text-key.ts';

const selectAll = `SELECT DISTINCT e.parent, e.name, e.permission FROM coffer_entries e
  JOIN coffer_folders f ON f.parent = e.parent AND f.folder = e.folder WHERE e.principal_key = ANY ($1::text[])`;

/** Maximum number of rows that are read to find out whether memory has to be reserved. */
const fewRows = 2000;
/** Maximum number of rows that need no reservation. */
const manyRows = 10_000;

/** Returns every entry of the principals, or those on objects of some lists. */
export async function findAllAccessible(
  access: Access,
  principals: readonly Principal[],
  { lists, requireRoom }: Pick<AccessibleOptions, 'lists' | 'requireRoom'>,
): Promise<AccessibleObjects> {
  const scans = { of: 'list', name: `all entries ${lists?.join() ?? ''}` } as const;
  const text =
    lists === undefined ? selectAll : `${selectAll} AND split_part(reverse(e.parent), '/', 2) = ANY ($2::text[])`;
  const values = [principals.map(keyOfText)];
  // Reversed, because the list is named at the end of the folder.
  if (lists !== undefined) values.push(lists.map((name) => Array.from(name).toReversed().join('')));
  const rows = await readRows(access, { text, scans }, values, requireRoom);
  return runFromNow(
    collectAccessible(rows, () => true),
    'normal',
  );
}

interface SearchOptions {
  readonly withChildren: boolean;
  readonly limit?: number | undefined;
  readonly requireRoom?: RequireRoomForObjects | undefined;
}

/** Returns the entries of the principals that match one of the patterns. */
export async function findAccessible(
  access: Access,
  principals: readonly Principal[],
  bound: readonly BoundPattern[],
  { withChildren, limit, requireRoom }: SearchOptions,
): Promise<AccessibleObjects> {
  if (principals.length === 0 || bound.length === 0) return new Map();
  const parameters = new Parameters();
  const keys = parameters.add(principals.map(keyOfText), 'text[]');
  const patterns = bound.map(({ pattern, permission }) => ({ ...compilePattern(pattern, withChildren), permission }));
  // Each principal may find the same objects, so the number of rows is limited for each. Rows that the rest of a pattern
  // refuses must not take the place of others, so only patterns that the index compares in full are limited.
  const isExact = patterns.every(({ folder }, index) => bound[index]!.pattern === `${folder}*`);
  const most = limit === undefined || !isExact ? undefined : limit * new Set(principals).size;
  const cut = most === undefined ? '' : ` LIMIT ${parameters.add(most, 'bigint')}`;
  const arms = patterns.map(({ folder, name, folders, permission }) => {
    const conditions = [`e.principal_key = ANY (${keys})`, `e.permission = ${parameters.add(permission, 'text')}`];
    if (folder !== undefined) conditions.push(`e.parent = ${parameters.add(folder, 'text')}`);
    else {
      conditions.push(`e.parent >= ${parameters.add(folders.low, 'text')}`);
      if (folders.high !== undefined) conditions.push(`e.parent < ${parameters.add(folders.high, 'text')}`);
    }
    if (name !== undefined) conditions.push(`e.name = ${parameters.add(name, 'text')}`);
    // OFFSET 0 keeps the folder out of the search. With it, the server would rather read all entries of the folder in the order
    // of the primary key, because it takes folder and parent for independent.
    return `(SELECT e.parent, e.name, e.permission FROM (
      SELECT e.parent, e.folder, e.name, e.permission FROM coffer_entries e WHERE ${conditions.join(' AND ')} OFFSET 0
    ) e JOIN coffer_folders f ON f.parent = e.parent AND f.folder = e.folder${cut})`;
  });
  // UNION, not UNION ALL: an object is returned once, even when several principals and patterns find it.
  const isFew = most !== undefined && most * arms.length <= manyRows;
  const { text, values } = parameters.bind(arms.join(' UNION '));
  const scans = { of: 'list', name: `entries ${bound[0]!.pattern}` } as const;
  const rows = await readRows(access, { text, scans }, values, isFew ? undefined : requireRoom);
  const isWanted = (objectId: ObjectUri, permission: string): boolean =>
    patterns.some((pattern) => pattern.permission === permission && pattern.matches(objectId));
  return runFromNow(collectAccessible(rows, isWanted), 'normal');
}

/** Returns the rows of a query, which may be very many, in turns. Memory for many is reserved before they are requested. */
async function readRows(
  access: Access,
  { text, scans }: { readonly text: string; readonly scans: ScanTarget },
  values: readonly SqlValue[],
  requireRoom: RequireRoomForObjects | undefined,
): Promise<readonly Row[]> {
  const read = async (sql: string): Promise<readonly Row[]> => (await access.run({ text: sql, scans }, values)).rows;
  if (requireRoom !== undefined) {
    const few = await read(`${text} LIMIT ${fewRows + 1}`);
    if (few.length <= fewRows) return few;
    const [counted] = await read(`SELECT count(*) FROM (${text}) AS f`);
    requireRoom(Number(counted![0]));
  }
  return read(text);
}

/** Work on a row, in members (`StepBudget`). */
const membersOfRow = 2;

/** Returns the wanted permissions of rows, which are very many when a user shares very many records. */
export function* collectAccessible(
  rows: readonly Row[],
  isWanted: (objectId: ObjectUri, permission: string) => boolean,
): Steps<AccessibleObjects> {
  const found = new Map<ObjectUri, Set<string>>();
  const budget = new StepBudget();
  for (const [parent, name, permission] of rows) {
    const objectId = storedUri(`${parent}${name}`);
    if (isWanted(objectId, permission!)) addAccessible(found, objectId, permission!);
    if (budget.spend(membersOfRow)) yield;
  }
  return found;
}
