// Writes that are a unit of work of their own, done by a function of the server: one trip for the lock, the checks, the
// write and the commit. Those of one list that come while others are under way are committed together, since they would
// wait for each other, and for the disk, one by one.
import type { LoneWrite } from '../../contracts/database.ts';
import { BackendError, TransactionConflict } from '../../contracts/errors.ts';
import { splitObjectId } from '../sql/object-pattern.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { prepared, type Connection, type Result, type SqlValue, type Statement } from './connection.ts';
import { translateError } from './errors.ts';
import { findJsonbText } from './jsonb-text.ts';
import { nameOf } from './locked-lists.ts';
import { keyOfText } from './text-key.ts';

const writeOne = prepared(
  'write-alone',
  `SELECT coffer_write_alone($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
);
const begin: Statement = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' };
const commit: Statement = { text: 'COMMIT' };

/** Writes that one transaction does, so that none waits for long. */
const maxGroup = 100;

interface Waiting {
  readonly values: readonly SqlValue[];
  readonly resolve: (timestamp: number | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class LoneWrites {
  readonly #pool: ConnectionPool;
  /** Those that wait, by list; a list is here while a transaction is under way. */
  readonly #lists = new Map<string, Waiting[]>();

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** Does what `writeAlone` of the contracts promises. */
  write(write: LoneWrite, now: number): Promise<number | undefined> {
    const name = nameOf(write.list);
    return new Promise((resolve, reject) => {
      const own = { values: valuesOf(write, now), resolve, reject };
      const waiting = this.#lists.get(name);
      if (waiting !== undefined) waiting.push(own);
      else {
        this.#lists.set(name, []);
        void this.#runAll(name, own);
      }
    });
  }

  /** Does the first write, and then all that have come meanwhile, until none has. Never fails. */
  async #runAll(name: string, first: Waiting): Promise<void> {
    let group = [first];
    while (group.length > 0) {
      await this.#run(group);
      group = this.#lists.get(name)!.splice(0, maxGroup);
    }
    this.#lists.delete(name);
  }

  async #run(group: readonly Waiting[]): Promise<void> {
    let connection: Connection;
    try {
      connection = await this.#pool.takeForUnit();
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    try {
      const stamps = await this.#send(connection, group);
      for (const [index, { resolve }] of group.entries()) resolve(stamps[index]);
    } catch (error) {
      const failure = translateError(error, 'storage');
      // Each of them is done again by itself, so that none fails for the fault of another.
      const isRolledBack = group.length > 1 && !(failure instanceof BackendError);
      const told = isRolledBack ? new TransactionConflict(failure.message, { cause: failure }) : failure;
      for (const { reject } of group) reject(told);
    } finally {
      connection.release();
    }
  }

  /** Sends everything at once; a statement alone is a transaction by itself. */
  async #send(connection: Connection, group: readonly Waiting[]): Promise<readonly (number | undefined)[]> {
    const { opening } = this.#pool;
    const [only] = group;
    if (group.length === 1 && opening === undefined) return [stampOf(await connection.run(writeOne, only!.values))];
    const before = opening === undefined ? [begin] : [begin, opening];
    const results = await Promise.allSettled([
      ...before.map((statement) => connection.run(statement)),
      ...group.map(({ values }) => connection.run(writeOne, values)),
      connection.run(commit),
    ]);
    const all = results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
    if (all.at(-1)!.command !== 'COMMIT') throw new TransactionConflict('PostgreSQL rolled the transaction back');
    return all.slice(before.length, -1).map(stampOf);
  }
}

function stampOf({ rows }: Result): number | undefined {
  const stamp = rows[0]?.[0];
  return typeof stamp === 'string' ? Number(stamp) : undefined;
}

function valuesOf(write: LoneWrite, now: number): readonly SqlValue[] {
  const { list, id, holder, expected, isFresh = false, text, lastModified, uri } = write;
  const entries = text === undefined ? {} : write.entries;
  const { folder, name } = uri === undefined ? { folder: null, name: null } : splitObjectId(uri);
  const added = Object.entries(entries).flatMap(([permission, principals]) =>
    principals.map((principal) => ({ permission, principal, key: keyOfText(principal) })),
  );
  return [
    holder?.list.parent ?? null,
    holder?.list.kind ?? null,
    holder?.id ?? null,
    list.parent,
    list.kind,
    id,
    expected ?? null,
    isFresh,
    lastModified ?? null,
    now,
    text ?? null,
    text === undefined ? null : (findJsonbText(text) ?? null),
    folder,
    name,
    // Under an id drawn just now there is nothing to remove.
    isFresh || Object.keys(entries).length === 0 ? null : Object.keys(entries),
    added.length === 0 ? null : added.map(({ permission }) => permission),
    added.length === 0 ? null : added.map(({ key }) => key),
    added.length === 0 ? null : added.map(({ principal, key }) => (key === principal ? null : principal)),
  ];
}
