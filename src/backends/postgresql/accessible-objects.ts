// Finds the objects on which principals have permissions. The index by principal finds the folders that a pattern allows;
// the rest of the pattern is compared here.
import { StepBudget } from '../../base/json-steps.ts';
import { runFromNow, type Steps } from '../../base/steps.ts';
import type { BoundPattern } from '../../contracts/permission.ts';
import { storedUri, type ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import { compilePattern } from '../sql/object-pattern.ts';
import { addAccessible, type AccessibleObjects } from '../sql/permission-rows.ts';
import type { Access } from './access.ts';
import { prepared, type Row } from './connection.ts';
import { Parameters } from './parameters.ts';
import { keyOfText } from './text-key.ts';

const readAll = prepared(
  'read-accessible',
  `SELECT DISTINCT e.parent, e.name, e.permission FROM coffer_entries e
  JOIN coffer_folders f ON f.parent = e.parent AND f.folder = e.folder WHERE e.principal_key = ANY ($1::text[])`,
);

/** Returns every entry of the principals. */
export async function findAllAccessible(access: Access, principals: readonly Principal[]): Promise<AccessibleObjects> {
  const { rows } = await access.run(readAll, [principals.map(keyOfText)]);
  return runFromNow(
    collectAccessible(rows, () => true),
    'normal',
  );
}

/** Returns the entries of the principals that match one of the patterns. */
export async function findAccessible(
  access: Access,
  principals: readonly Principal[],
  bound: readonly BoundPattern[],
  { withChildren, limit }: { readonly withChildren: boolean; readonly limit?: number | undefined },
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
  const { text, values } = parameters.bind(arms.join(' UNION '));
  const { rows } = await access.run({ text }, values);
  const isWanted = (objectId: ObjectUri, permission: string): boolean =>
    patterns.some((pattern) => pattern.permission === permission && pattern.matches(objectId));
  return runFromNow(collectAccessible(rows, isWanted), 'normal');
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
