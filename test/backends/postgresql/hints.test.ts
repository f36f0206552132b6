// Hints over PostgreSQL: which connections they make, and what a pooler or a missing schema does to them.
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/contracts/logger.ts';
import type { ChangeHint, ChangeHints } from '../../../src/contracts/change-hints.ts';
import type { ConnectionOptions } from '../../../src/backends/postgresql/connection-pool.ts';
import { borrowDatabase, createDatabase, openPostgres } from '../../support/postgresql.ts';
import { migrateDatabase, runSql } from '../../support/postgresql-setup.ts';

function openHints(options: ConnectionOptions): ChangeHints {
  const { database } = openPostgres(systemClock, options);
  const hints = database.openHints!({ logger: silentLogger });
  onTestFinished(async () => {
    await hints.close();
    await database.close();
  });
  return hints;
}

/** Resolves with the first hints. */
function receive(hints: ChangeHints): Promise<readonly ChangeHint[]> {
  return new Promise((resolve) => {
    hints.subscribe(resolve);
  });
}

async function countConnections(url: string): Promise<number> {
  const [row] = await runSql(
    url,
    `SELECT count(*)::integer FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'coffer hints'`,
  );
  return Number(row?.[0]);
}

test('hints use one connection for both directions, made when it is needed and gone when they are closed', async () => {
  const { url, giveBack } = await borrowDatabase();
  onTestFinished(giveBack);
  const hints = openHints({ url });
  expect(await countConnections(url)).toBe(0);
  const listener = openHints({ url });
  await receive(listener);
  expect(await countConnections(url)).toBe(1);
  const arrived = receive(listener);
  hints.publish([{ flushed: true }]);
  listener.publish([{ flushed: true }]);
  expect(await arrived).toEqual([{ flushed: true }]);
  expect(await countConnections(url)).toBe(2);
  await Promise.all([hints.close(), listener.close()]);
  // The server may take a moment to notice.
  while ((await countConnections(url)) > 0);
});

test('behind a pooler in transaction mode a database has no hints', async () => {
  const { url, giveBack } = await borrowDatabase();
  onTestFinished(giveBack);
  const { database } = openPostgres(systemClock, { url, isPooled: true });
  onTestFinished(() => database.close());
  expect(database.openHints).toBeUndefined();
});

test('hints begin to arrive when the schema is there', async () => {
  const url = await createDatabase();
  const hints = openHints({ url });
  const begun = receive(hints);
  hints.publish([{ flushed: true }]);
  await migrateDatabase(url);
  expect(await begun).toEqual([{ any: true }]);
});
