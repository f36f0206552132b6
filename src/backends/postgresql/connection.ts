// A connection taken from the pool. Statements are sent without waiting for the results of earlier ones, and rows are
// arrays of texts. Only this file and `connection-pool.ts` use the driver.
import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { isStorableText } from '../../base/json.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { isRefusal, isSilence } from './errors.ts';

/** Value of a parameter; lists become arrays. Whole numbers are exact up to 2^53. */
export type SqlValue = string | number | boolean | null | readonly (string | number | null)[];

/** A row as the server sends it. */
export type Row = readonly (string | null)[];

/** Rows that take long to scan when they are many. */
export interface ScanTarget {
  /** A whole list, a page that may be long, a page that is, or the principals of an object. */
  readonly of: 'list' | 'page' | 'longPage' | 'entries';
  /** Unique name among the targets of its kind. */
  readonly name: string;
  /** The list whose size says whether it can take long; absent: only the time does. */
  readonly list?: ListKey;
  /** Whether a client has asked for it, so that it has little time in a unit of work that holds locks. */
  readonly isOfClient?: boolean;
}

export interface Statement {
  /** Name under which the server keeps it prepared, unique for the text; absent: the server parses it each time. */
  readonly name?: string;
  readonly text: string;
  /** Whether it reads or changes a few rows by key, so that other statements can wait for it. */
  readonly isQuick?: boolean;
  /** The rows that it may have to scan. */
  readonly scans?: ScanTarget;
  /** Whether it fails at once instead of waiting for a lock. */
  readonly failsOnLock?: boolean;
}

export interface Result {
  readonly rows: readonly Row[];
  /** Number of rows that were read or changed. */
  readonly count: number;
  /** Command tag of the server: `COMMIT`, `UPDATE`. */
  readonly command: string;
}

/** Creates a prepared statement; the name says what it does, in the lists of the server. */
export function prepared(name: string, text: string): Statement {
  return { name: `${name}-${hashOf(text)}`, text };
}

/** Creates a prepared statement that reads or changes a few rows by key. */
export function quick(name: string, text: string): Statement {
  return { ...prepared(name, text), isQuick: true };
}

/**
 * Returns the part of a name that differs for each text. A pooler may give the session of another process, or of another
 * version, which has other statements. The server cuts names after 63 bytes.
 */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

/** Replaces a text that cannot be stored: the server refuses it, and with it the transaction. */
export const refusedByServer = '\0';

/**
 * Replaces texts that PostgreSQL cannot store: it has no null characters, and would receive another character for a lone
 * surrogate. The server refuses the replacement, because statements sent in the same transaction depend on the failure.
 */
function faithful(value: SqlValue): SqlValue {
  if (typeof value === 'string') return isStorableText(value) ? value : refusedByServer;
  if (typeof value === 'object' && value !== null) return value.map((item) => faithful(item) as string | number | null);
  return value;
}

const asText = { getTypeParser: () => (value: string) => value };

/** Events of a connection that the pool needs to know. */
export interface ConnectionEvents {
  released(): void;
  /** The server has not responded in time. */
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

  /** @param keepsStatements `false` behind a pooler that gives each transaction to another server process */
  constructor(client: PoolClient, place: string, keepsStatements: boolean, events: ConnectionEvents) {
    this.place = place;
    this.#client = client;
    this.#keepsStatements = keepsStatements;
    this.#events = events;
    // The statements under way receive the error too. Without a listener the process would end.
    client.on('error', this.#markBroken);
  }

  /** Sends a statement; throws errors of the driver. */
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

  /** Sends the statements of this moment together: each write to a socket costs more than its contents. */
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

  /** Returns the connection to the pool. A broken or doubtful connection is closed instead. */
  release(isUsable = true): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const isBroken = this.#isBroken || !isUsable;
    // A server that does not respond would delay a regular goodbye.
    if (isBroken) this.#client.connection.stream.destroy();
    this.#client.release(isBroken);
    this.#client.off('error', this.#markBroken);
    this.#events.released();
  }

  readonly #markBroken = (): void => {
    this.#isBroken = true;
  };
}
