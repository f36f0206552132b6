// Makes statements of SQLite fail in this process as a broken disk would: the n-th one, or all from the n-th on. It stands
// between `Connection` and its users, because the methods of the driver cannot be replaced.
import { onTestFinished } from 'vitest';
import { Connection } from '../../src/backends/sqlite/connection.ts';

export interface Failure {
  readonly code: number;
  readonly message: string;
  /** Whether SQLite undoes the whole transaction when it happens. */
  readonly rollsBack?: boolean;
}

export const failures = {
  corrupt: { code: 11, message: 'database disk image is malformed' },
  ioerr: { code: 10, message: 'disk I/O error' },
  ioerrWithRollback: { code: 10, message: 'disk I/O error', rollsBack: true },
  full: { code: 13, message: 'database or disk is full', rollsBack: true },
  notadb: { code: 26, message: 'file is not a database' },
  busy: { code: 5, message: 'database is locked' },
  cantopen: { code: 14, message: 'unable to open database file' },
} as const satisfies Record<string, Failure>;

const methods = ['get', 'all', 'run', 'exec'] as const;

export class SqliteFaults {
  #failure: Failure | undefined;
  #left = 0;
  #isLasting = false;
  #only: string | undefined;
  #seen: string[] = [];
  #struck: string | undefined;

  /** Installs itself until the test ends. */
  static install(): SqliteFaults {
    const faults = new SqliteFaults();
    const prototype = Connection.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const method of methods) {
      const original = prototype[method]!;
      prototype[method] = function (this: Connection, ...args: unknown[]): unknown {
        faults.#look(this, String(args[0]), method);
        return original.apply(this, args);
      };
      onTestFinished(() => {
        prototype[method] = original;
      });
    }
    return faults;
  }

  /** Lets the n-th statement from now on fail, or with `only` the n-th with this text; with `isLasting` all that follow. */
  arm(n: number, failure: Failure, { isLasting = false, only }: { isLasting?: boolean; only?: string } = {}): void {
    this.#failure = failure;
    this.#left = n;
    this.#isLasting = isLasting;
    this.#only = only;
    this.#struck = undefined;
    this.#seen = [];
  }

  /** Lets statements succeed again; returns the one that failed first. */
  disarm(): string | undefined {
    this.#failure = undefined;
    return this.#struck;
  }

  /** The statements since `arm`. */
  get seen(): readonly string[] {
    return this.#seen;
  }

  #look(connection: Connection, sql: string, method: string): void {
    this.#seen.push(sql);
    const failure = this.#failure;
    if (failure === undefined || (this.#only !== undefined && sql !== this.#only) || --this.#left > 0) return;
    if (!this.#isLasting) this.#failure = undefined;
    this.#struck ??= sql;
    this.#failure = undefined;
    if (failure.rollsBack === true && connection.inTransaction) connection.exec('ROLLBACK');
    if (this.#isLasting) this.#failure = failure;
    // The driver leaves the code out of what `all` throws.
    const errcode = method === 'all' ? {} : { errcode: failure.code };
    throw Object.assign(new Error(failure.message), { code: 'ERR_SQLITE_ERROR', ...errcode });
  }
}
