// Finds the objects on which principals have permissions. The index by principal finds the folders that a pattern allows;
// the rest of the pattern is compared here.
import { StepBudget } from '../../base/json-steps.ts';
import { runFromNow, type Steps } from '../../base/steps.ts';
import type { BoundPattern, RequireRoomForObjects } from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { compilePattern } from '../sql/object-pattern.ts';
import { addAccessible, type AccessibleObjects } from '../sql/permission-rows.ts';
import type { Access } from './access.ts';
import type { Row } from './connection.ts';
import { Parameters, type Compiled } from './parameters.ts';
import { keyOfText } from './text-key.ts';

const selectAll = `SELECT DISTINCT e.parent, e.name, e.permission FROM coffer_entries e
  JOIN coffer_folders f ON f.parent = e.parent AND f.folder = e.folder WHERE e.principal_key = ANY ($1::text[])`;

/** Maximum number of rows that are read before memory is reserved. */
const fewRows = 2000;

/** Returns every entry of the principals. */
export async function findAllAccessible(
  access: Access,
  principals: readonly Principal[],
  requireRoom: RequireRoomForObjects | undefined,
): Promise<AccessibleObjects> {
  const rows = await readRows(access, { text: selectAll, values: [principals.map(keyOfText)] }, requireRoom);
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
  const cut =
    limit === undefined || !isExact ? '' : ` LIMIT ${parameters.add(limit * new Set(principals).size, 'bigint')}`;
  const arms = patterns.map(({ folder, name, folders, permission }) => {
    const conditions = [`e.principal_key = ANY (${keys})`, `e.permission = ${parameters.add(permission, 'text')}`];
    if (folder !== undefined) conditions.push(`e.parent = ${parameters.add(folder, 'text')}`);
    else {
      conditions.push(`e.parent >= ${parameters.add(folders.low, 'text')}`);
      if (folders.high !== undefined) conditions.push(`e.parent < ${parameters.add(folders.high, 'text')}`);
    }
    if (name !== undefined) conditions.push(`e.name = ${parameters.add(name, 'text')}`);
    return `(SELECT e.parent, e.name, e.permission FROM coffer_entries e
      JOIN coffer_folders f ON f.parent = e.parent AND f.folder = e.folder WHERE ${conditions.join(' AND ')}${cut})`;
  });
  // UNION, not UNION ALL: an object is returned once, even when several principals and patterns find it.
  const rows = await readRows(access, parameters.bind(arms.join(' UNION ')), requireRoom);
  const isWanted = (objectId: ObjectUri, permission: string): boolean =>
    patterns.some((pattern) => pattern.permission === permission && pattern.matches(objectId));
  return runFromNow(collectAccessible(rows, isWanted), 'normal');
}

/** Returns the rows of a query. Memory for many is reserved before they are requested. */
async function readRows(
  access: Access,
  { text, values }: Compiled,
  requireRoom: RequireRoomForObjects | undefined,
): Promise<readonly Row[]> {
  if (requireRoom !== undefined) {
    const few = await access.run({ text: `${text} LIMIT ${fewRows + 1}` }, values);
    if (few.rows.length <= fewRows) return few.rows;
    const counted = await access.run({ text: `SELECT count(*) FROM (${text}) AS f` }, values);
    requireRoom(Number(counted.rows[0]![0]));
  }
  const { rows } = await access.run({ text }, values);
  return rows;
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
