// Access to the tables: committed state on any connection, or the state of a unit of work on its own connection.
import type { ConnectionPool } from './connection-pool.ts';
import type { Result, Row, SqlValue, Statement, ScanTarget } from './connection.ts';
import type { Dialect } from './dialect.ts';
import type { BackendName } from './errors.ts';
import type { QueryBatchers } from './query-batcher.ts';
import { charsOf, type LongReads } from './long-reads.ts';
import { answersOf, arraysOf, type BatchableQuery, type BatchValue } from './batchable-query.ts';
import type { SmallLists } from './small-lists.ts';
import type { PostgresUnit } from './unit.ts';

export interface Access {
  /** Runs a statement that reads. */
  run(statement: Statement, values: readonly SqlValue[]): Promise<Result>;
  /** Reads what is long, and prepares it, when its turn comes: others would hold theirs in memory meanwhile. */
  inTurn<T extends object>(target: ScanTarget, read: () => Promise<T>): Promise<T>;
  /** Returns the rows of a query. */
  ask(query: BatchableQuery, values: readonly BatchValue[]): Promise<readonly Row[]>;
  /** Returns the rows of the query for each list of values, of which at least one is given, in their order. */
  askAll(query: BatchableQuery, valueLists: readonly (readonly BatchValue[])[]): Promise<readonly (readonly Row[])[]>;
  dialect(): Promise<Dialect>;
  /** Sends the writes that the unit has held back, so that the next statement sees them. */
  settle(): void;
  /** Cached objects of committed state; absent in a unit of work. */
  readonly smallLists?: SmallLists | undefined;
}

/** Access inside a unit of work, which may write. */
export interface UnitAccess extends Access {
  readonly unit: PostgresUnit;
  /** @param known returns the result without a query when the unit joins the transaction of another one */
  run(statement: Statement, values: readonly SqlValue[], known?: () => Result | undefined): Promise<Result>;
  /** Sends a statement without awaiting its result. A failure is reported by the next statement, or by the commit. */
  send(statement: Statement, values: readonly SqlValue[]): void;
}

/** Maximum number of value lists that share a batch with other requests; more make a statement of their own. */
const maxBatched = 8;

/** Returns access to committed state. */
export function accessCommitted(
  pool: ConnectionPool,
  batchers: QueryBatchers,
  longReads: Readonly<Record<ScanTarget['of'], LongReads>>,
  dialect: () => Promise<Dialect>,
  backend: BackendName,
  smallLists: SmallLists | undefined,
): Access {
  const run: Access['run'] = (statement, values) => {
    const { scans } = statement;
    if (scans === undefined) return pool.run(backend, statement, values);
    return longReads[scans.of].run(scans.name, () => pool.run(backend, statement, values), charsOf);
  };
  return {
    run,
    inTurn: (target, read) => longReads[target.of].run(target.name, read, () => Infinity),
    ask: (query, values) => batchers.ask(backend, query, values),
    askAll: (query, valueLists) =>
      valueLists.length > maxBatched
        ? runTogether(run, query, valueLists)
        : Promise.all(valueLists.map((values) => batchers.ask(backend, query, values))),
    dialect,
    settle: () => {},
    smallLists,
  };
}

async function runTogether(
  run: Access['run'],
  { together }: BatchableQuery,
  valueLists: readonly (readonly BatchValue[])[],
): Promise<readonly (readonly Row[])[]> {
  return answersOf((await run(together, arraysOf(valueLists))).rows, valueLists.length);
}

/** Returns access inside a unit of work. */
export function accessUnit(
  unit: PostgresUnit,
  dialect: () => Promise<Dialect>,
  backend: BackendName,
  settle: () => void,
): UnitAccess {
  const run: UnitAccess['run'] = (statement, values, known) => unit.run(backend, statement, values, known);
  return {
    unit,
    run,
    inTurn: (_, read) => read(),
    ask: async ({ alone }, values) => (await run(alone, values)).rows,
    askAll: (query, valueLists) => runTogether(run, query, valueLists),
    send: (statement, values) => unit.send(backend, statement, values),
    dialect,
    settle,
  };
}
