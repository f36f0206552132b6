// One checked-out connection: statements are sent at once, without waiting for the answers to earlier ones, and come
// back as rows of texts. The only file, with `connection-pool.ts`, that knows the driver.
import type { PoolClient } from 'pg';
import { isStorableText } from '../../base/json.ts';
import { isRefusal, isSilence } from './errors.ts';

/** What a parameter may be; lists become arrays. Large whole numbers are exact up to 2^53. */
export type SqlValue = string | number | boolean | null | readonly (string | number | null)[];

/** A row as it comes over the wire. */
export type Row = readonly (string | null)[];

/** A lot of rows that take long to go through when there are many of them. */
export interface ScanTarget {
  /** The whole of a list, a page of one that may be long, or the principals of an object. */
  readonly of: 'list' | 'page' | 'entries';
  /** What tells it from all others of its kind. */
  readonly name: string;
}

export interface Statement {
  /** Under which the server keeps it prepared, unique for the text; absent: it is parsed each time. */
  readonly name?: string;
  readonly text: string;
  /** Whether it reads or changes a few rows by key, so that nobody minds to come after it. */
  readonly isQuick?: boolean;
  /** What it may have to go through as a whole. */
  readonly scans?: ScanTarget;
  /** Whether it fails at once instead of waiting for a lock. */
  readonly failsOnLock?: boolean;
}

export interface Result {
  readonly rows: readonly Row[];
  /** How many rows were read or changed. */
  readonly count: number;
  /** What the server says that it did: `COMMIT`, `UPDATE`. */
  readonly command: string;
}

/** A statement with a name of its own, which has to be unique in this folder. */
export function prepared(name: string, text: string): Statement {
  return { name, text };
}

/** The same for a statement that is done at once. */
export function quick(name: string, text: string): Statement {
  return { name, text, isQuick: true };
}

/** What stands for a text that cannot be stored: the server refuses it, and the transaction with it. */
export const refusedByServer = '\0';

/**
 * PostgreSQL has no null characters, and lone surrogates would reach it as another character. It is left to the server to
 * refuse them, as everything that is sent along depends on its answer.
 */
function faithful(value: SqlValue): SqlValue {
  if (typeof value === 'string') return isStorableText(value) ? value : refusedByServer;
  if (typeof value === 'object' && value !== null) return value.map((item) => faithful(item) as string | number | null);
  return value;
}

const asText = { getTypeParser: () => (value: string) => value };

/** What the pool wants to know of a connection that it has given away. */
export interface ConnectionEvents {
  released(): void;
  /** The server does not answer. */
  silent(): void;
}

export class Connection {
  readonly #client: PoolClient;
  readonly #keepsStatements: boolean;
  readonly #events: ConnectionEvents;
  #isBroken = false;
  #isGathering = false;
  #isReleased = false;

  /** Host and port of the server, for messages. */
  readonly place: string;

  /** @param keepsStatements `false` behind a pooler that hands each transaction to another server process */
  constructor(client: PoolClient, place: string, keepsStatements: boolean, events: ConnectionEvents) {
    this.place = place;
    this.#client = client;
    this.#keepsStatements = keepsStatements;
    this.#events = events;
    // The statements under way learn of it by themselves; without a listener the process would end.
    client.on('error', this.#markBroken);
  }

  /** Sends a statement; errors are the driver's. */
  async run({ name, text }: Statement, values: readonly SqlValue[] = []): Promise<Result> {
    this.#gather();
    try {
      const result = await this.#client.query<(string | null)[]>({
        text,
        values: values.map(faithful),
        types: asText,
        rowMode: 'array',
        ...(name === undefined || !this.#keepsStatements ? {} : { name }),
      });
      return { rows: result.rows, count: result.rowCount ?? 0, command: result.command };
    } catch (error) {
      if (!isRefusal(error)) this.#isBroken = true;
      if (isSilence(error)) this.#events.silent();
      throw error;
    }
  }

  /** Lets the statements of this moment leave in one piece: each write to a socket costs more than what is written. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    const { stream } = this.#client.connection;
    stream.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      stream.uncork();
    });
  }

  /** Gives the connection back; one that is broken, or in doubt, is closed instead. */
  release(isUsable = true): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const isBroken = this.#isBroken || !isUsable;
    // A server that does not answer would keep a polite goodbye waiting.
    if (isBroken) this.#client.connection.stream.destroy();
    this.#client.release(isBroken);
    this.#client.off('error', this.#markBroken);
    this.#events.released();
  }

  readonly #markBroken = (): void => {
    this.#isBroken = true;
  };
}
