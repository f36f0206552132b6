// How a backend reaches its tables: committed state on any connection, a unit of work on its own.
import type { ConnectionPool } from './connection-pool.ts';
import type { Result, SqlValue, Statement } from './connection.ts';
import type { Dialect } from './dialect.ts';
import type { BackendName } from './errors.ts';
import type { PostgresUnit } from './unit.ts';

export interface Access {
  /** Runs a statement that reads. */
  run(statement: Statement, values: readonly SqlValue[]): Promise<Result>;
  dialect(): Promise<Dialect>;
  /** Sends what the unit has kept back so far, so that the next statement sees it. */
  settle(): void;
}

/** Access inside a unit of work, which may write. */
export interface UnitAccess extends Access {
  readonly unit: PostgresUnit;
  /** @param known what need not be asked for, should the unit go on in the transaction of another one */
  run(statement: Statement, values: readonly SqlValue[], known?: () => Result | undefined): Promise<Result>;
  /** Sends a statement whose answer nobody needs; a failure shows in the next one, or in the commit. */
  send(statement: Statement, values: readonly SqlValue[]): void;
}

/** Access to committed state. */
export function accessCommitted(pool: ConnectionPool, dialect: () => Promise<Dialect>, backend: BackendName): Access {
  return {
    run: (statement, values) => pool.run(backend, statement, values),
    dialect,
    settle: () => {},
  };
}

/** Access inside a unit of work. */
export function accessUnit(
  unit: PostgresUnit,
  dialect: () => Promise<Dialect>,
  backend: BackendName,
  settle: () => void,
): UnitAccess {
  return {
    unit,
    run: (statement, values, known) => unit.run(backend, statement, values, known),
    send: (statement, values) => unit.send(backend, statement, values),
    dialect,
    settle,
  };
}
