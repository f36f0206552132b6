// Locks a table of PostgreSQL, so that statements stay in progress for as long as a test needs.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';
import type { OpenPostgres } from './postgresql.ts';

/** How often the server is asked who waits. */
const maxQuestions = 5000;

export interface TableLock {
  /** Resolves when so many statements wait for the table; fails when it does not come to that. */
  readonly waitedForBy: (statements: number) => Promise<void>;
  /** Lets a turn of the event loop pass in which what was asked before may leave. */
  readonly letLeave: () => Promise<void>;
  readonly release: () => Promise<void>;
}

/** Locks a table that background work does not use; timeouts do not pass by themselves until the test is over. */
export async function lockTable({ database }: OpenPostgres, table: string): Promise<TableLock> {
  // What earlier tests have left to it would wait as well.
  await database.reapAll();
  const transaction = await database.begin();
  await database.within(transaction, 'storage').run({ text: `LOCK TABLE ${table}` }, []);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(async () => {
    vi.useRealTimers();
    await transaction.rollback();
  });
  const ask = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const countWaiting = async (): Promise<number> =>
    Number((await database.committed('storage').run({ text: ask }, [])).rows[0]![0]);
  return {
    waitedForBy: async (statements) => {
      for (let attempt = 0; attempt < maxQuestions; attempt++) if ((await countWaiting()) === statements) return;
      expect(await countWaiting()).toBe(statements);
    },
    letLeave: async () => {
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    },
    release: () => transaction.commit(),
  };
}
