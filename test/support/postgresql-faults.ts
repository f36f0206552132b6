// Makes statements of this process fail on the PostgreSQL server: in place of the n-th one goes another, which raises an
// error or ends the session, so that the server knows of the failure as it would of a real one.
import pg from 'pg';
import { onTestFinished } from 'vitest';

/** A SQLSTATE to raise, or the end of the session. */
export type Failure = { readonly code: string } | 'session ends';

interface Query {
  readonly text: string;
}

function isQuery(given: unknown): given is Query {
  return typeof given === 'object' && given !== null && 'text' in given && typeof given.text === 'string';
}

/** What the server could not refuse alone: the statements behind them are on their way already. */
const frame = /^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)/;

export class PostgresqlFaults {
  #failure: Failure | undefined;
  #left = 0;
  #struck: string | undefined;

  /** Installs itself until the test ends. */
  static install(): PostgresqlFaults {
    const faults = new PostgresqlFaults();
    const prototype = pg.Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
    const original = prototype.query;
    prototype.query = function (this: pg.Client, ...args: unknown[]): unknown {
      const [query, ...more] = args;
      return original.apply(this, [isQuery(query) ? faults.#replace(query) : query, ...more]);
    };
    onTestFinished(() => {
      prototype.query = original;
    });
    return faults;
  }

  /** Lets the n-th statement from now on fail. */
  arm(n: number, failure: Failure): void {
    this.#failure = failure;
    this.#left = n;
    this.#struck = undefined;
  }

  /** Lets statements succeed again; returns the one that failed. */
  disarm(): string | undefined {
    this.#failure = undefined;
    return this.#struck;
  }

  #replace(query: Query): Query {
    const failure = this.#failure;
    if (failure === undefined || --this.#left > 0) return query;
    if (failure !== 'session ends' && frame.test(query.text)) return query;
    this.#failure = undefined;
    this.#struck = query.text;
    const text =
      failure === 'session ends'
        ? 'SELECT pg_terminate_backend(pg_backend_pid())'
        : `DO $$ BEGIN RAISE EXCEPTION 'maintenance' USING ERRCODE = '${failure.code}'; END $$`;
    return Object.assign({}, query, { name: undefined, values: [], text });
  }
}
