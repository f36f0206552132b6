// Access to the tables: committed state on any connection, or the state of a unit of work on its own connection.
import { noRequester, type Requester } from '../../contracts/requester.ts';
import type { SmallLists } from '../../core/lists/small-lists.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { Result, Row, SqlValue, Statement, ScanTarget } from './connection.ts';
import type { Dialect } from './dialect.ts';
import type { BackendName } from './errors.ts';
import type { QueryBatchers } from './query-batcher.ts';
import { charsOf, type LongReads } from './long-reads.ts';
import { answersOf, arraysOf, type BatchableQuery, type BatchValue } from './batchable-query.ts';
import { isSmallList } from './small-lists.ts';
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

/** Parts that all reads of committed state share. */
export interface CommittedSources {
  readonly pool: ConnectionPool;
  readonly batchers: QueryBatchers;
  readonly longReads: Readonly<Record<ScanTarget['of'], LongReads>>;
  readonly dialect: () => Promise<Dialect>;
  readonly smallLists: SmallLists | undefined;
}

/** Access to committed state. */
export class CommittedAccess implements Access {
  readonly #sources: CommittedSources;
  readonly #backend: BackendName;
  readonly #requester: Requester;

  constructor(sources: CommittedSources, backend: BackendName, requester: Requester = noRequester) {
    this.#sources = sources;
    this.#backend = backend;
    this.#requester = requester;
  }

  get smallLists(): SmallLists | undefined {
    return this.#sources.smallLists;
  }

  run(statement: Statement, values: readonly SqlValue[]): Promise<Result> {
    const read = (): Promise<Result> => this.#sources.pool.run(this.#backend, statement, values);
    return statement.scans === undefined ? read() : this.#takeTurn(statement.scans, read, charsOf);
  }

  inTurn<T extends object>(target: ScanTarget, read: () => Promise<T>): Promise<T> {
    return this.#takeTurn(target, read, () => Infinity);
  }

  #takeTurn<T extends object>(
    { of, name, list }: ScanTarget,
    read: () => Promise<T>,
    sizeOf: (result: T) => number,
  ): Promise<T> {
    const isSmall = list && ((): Promise<boolean> => isSmallList(this, list));
    return this.#sources.longReads[of].run({ list: name, requester: this.#requester, isSmall }, read, sizeOf);
  }

  ask(query: BatchableQuery, values: readonly BatchValue[]): Promise<readonly Row[]> {
    return this.#sources.batchers.ask(this.#backend, query, values);
  }

  askAll(query: BatchableQuery, valueLists: readonly (readonly BatchValue[])[]): Promise<readonly (readonly Row[])[]> {
    return valueLists.length > maxBatched
      ? runTogether(this, query, valueLists)
      : Promise.all(valueLists.map((values) => this.ask(query, values)));
  }

  dialect(): Promise<Dialect> {
    return this.#sources.dialect();
  }

  settle(): void {}
}

async function runTogether(
  access: Pick<Access, 'run'>,
  { together }: BatchableQuery,
  valueLists: readonly (readonly BatchValue[])[],
): Promise<readonly (readonly Row[])[]> {
  return answersOf((await access.run(together, arraysOf(valueLists))).rows, valueLists.length);
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
    askAll: (query, valueLists) => runTogether({ run }, query, valueLists),
    send: (statement, values) => unit.send(backend, statement, values),
    dialect,
    settle,
  };
}
