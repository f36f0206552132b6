// Statements that may read a whole list: they take turns (`long-reads.ts`), and the server stops them after some time.
import type { ListKey } from '../../core/objects/stored.ts';
import type { QueryBudget } from '../../core/query/budget.ts';
import type { Access } from './access.ts';
import type { Result, ScanTarget, SqlValue, Statement } from './connection.ts';
import { asTooMuchWork } from './errors.ts';

/**
 * Returns the target of scans of a list.
 *
 * @param budget maximum work of the query, which those of clients have
 */
export function scanTargetOf(list: ListKey, budget?: QueryBudget): ScanTarget & { readonly list: ListKey } {
  return { of: 'list', name: `${list.kind} ${list.parent}`, list, isOfClient: budget !== undefined };
}

/**
 * Runs a statement that may scan a list.
 *
 * @throws ServiceError invalidParameters when the server stops it after too long
 */
export async function runScan(access: Access, statement: Statement, values: readonly SqlValue[]): Promise<Result> {
  try {
    return await access.run(statement, values);
  } catch (error) {
    throw asTooMuchWork(error, statement.scans) ?? error;
  }
}
